// A run over the windows of a volume as the GPU runtime sees it. A volume has three spatial axes here; positions count
// from the start of the padding.
#pragma once

#include "base/array.h"
#include "onnxc.h"

namespace onnxc::runtime {

inline constexpr int32_t device_axes = 3;

// The fate of a value in runs over the windows of a volume.
enum class WindowUse : int32_t {
  windows,  // an input: windows of the volume
  fixed,    // an input that is the same for every run
  blended,  // an output: added to sums
  ignored   // an output
};

struct WindowBuffer {
  WindowUse use;
  onnxc_value value;  // of a whole batch, as a run on the CPU has it; data counts only for fixed ones
  // The rest is known of windows and of blended outputs.
  int64_t channels;
  int64_t padded[device_axes], window[device_axes];
  const float* importance[device_axes];  // of what is blended: of each place in a window
};

struct VolumeOnDevice {
  const Array<WindowBuffer>& buffers;  // the model's inputs and then its outputs
  int32_t slab_axis;
  int64_t slices;  // of the volume that are there at once
  float least_importance;
  // Bytes of results: of a place along the slab axis and the row axis, the first of the others; of all that become
  // final at once.
  int64_t largest_line, largest_result;
};

// Windows of a run, which begin at starts[window * device_axes + axis].
struct DeviceWindows {
  int64_t count;
  const int64_t* starts;
  uint32_t mirrored;  // bit a: axis a runs backwards
};

enum class Finished : int32_t { values, softmax, sigmoid, labels };

// Sums of an output that are final.
struct FinishedBox {
  int32_t output;  // its place among the buffers
  Finished what;
  int32_t element_bytes;
  int64_t times;  // that the values of each window were added
  int64_t first[device_axes], end[device_axes];
  // Strides of the results in elements; the box's first place is the first of them.
  int64_t channel_stride, strides[device_axes];
  int64_t bytes;  // of the results, at most DeviceVolume::piece_bytes
};

// The values of a run, and the stream that runs belong in.
struct DeviceVolume {
  static constexpr int32_t most_pieces = 16;    // of results on their way, one after the other
  static constexpr int32_t runs_under_way = 4;  // that are remembered

  Array<onnxc_value> values;
  void* stream = nullptr;
  int32_t pieces = 0;
  int64_t piece_bytes = 0;
  int64_t working_bytes = 0;  // of the GPU and of the host
};

}  // namespace onnxc::runtime
