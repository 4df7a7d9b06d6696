// The GPU runtime as an instance (host/instance.h) sees it: a table of functions, so that only a model that was
// compiled for a GPU links that runtime.
#pragma once

#include "base/array.h"
#include "base/error_text.h"
#include "gpu/program.h"

namespace onnxc::runtime {

class DeviceInstance;
class DeviceStates;

// One run: its checked values, in the model's order.
struct DeviceRun {
  const onnxc_value* inputs;
  const onnxc_value* outputs;
  void* const* output_data;  // the destination of each output
  DeviceStates* states;      // null in a model without
  void* const* state_data;
  void* stream;  // null: the default stream, or the instance's own
  bool has_own_stream;
  bool waits;  // until all is done
  // Called around each step; another result than 0 ends the run. May be null.
  int32_t (*hook)(void* context, int32_t step, int32_t when);
  // Sets the symbol that counts the rounds, if a level begins with a loop.
  void (*begin_round)(void* context, int32_t level, int32_t round, bool is_first);
  // Binds the symbols of a step from the buffers that it reads, which `frame` has on the host; plans the level and sets
  // the addresses of the outputs whose size is now known.
  onnxc_status (*enter_level)(void* context, const StepDescription& step, int32_t level, const Frame& frame);
  void* context;
};

struct DeviceOptions {
  const ModelDescription& model;
  int32_t device_index;
  bool poison;
  bool captures_graphs;
};

// A run over the windows of a volume. A volume has three spatial axes here; positions count from the start of the
// padding.
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

struct DeviceBackend {
  // Takes the program of the card that is nearest to the device.
  DeviceInstance* (*create)(const DeviceOptions& options, onnxc_status& status, ErrorText& error);
  const DeviceProgram& (*program)(const DeviceInstance* instance);
  void (*destroy)(DeviceInstance* instance);
  // Plans the memory of a level for runs with these symbols.
  onnxc_status (*plan)(DeviceInstance* instance, int32_t level, const int64_t* symbols, ErrorText& error);
  int64_t (*working_bytes)(const DeviceInstance* instance);
  int64_t (*captured_graphs)(const DeviceInstance* instance);
  onnxc_status (*run)(DeviceInstance* instance, const DeviceRun& run, ErrorText& error);
  // Copies a buffer, as the steps launched so far leave it, to the host. Only from a hook.
  onnxc_status (*read_buffer)(DeviceInstance* instance, int32_t buffer, Array<char>& bytes, ErrorText& error);

  // Memory for states on an instance's GPU (device_states.h); it may outlive the instance. Null and a status if it
  // cannot be made.
  DeviceStates* (*make_states)(const DeviceInstance* instance, onnxc_status& status, ErrorText& error);
  void (*destroy_states)(DeviceStates* states);
  bool (*is_on_device_of)(const DeviceStates* states, const DeviceInstance* instance);
  onnxc_status (*allocate_state)(DeviceStates* states, int64_t bytes, void*& data, ErrorText& error);
  void (*free_state)(DeviceStates* states, void* data);
  onnxc_status (*clear_state)(DeviceStates* states, void* data, int64_t bytes, ErrorText& error);
  onnxc_status (*write_state)(DeviceStates* states, void* data, const void* from, int64_t bytes, ErrorText& error);
  onnxc_status (*read_state)(DeviceStates* states, void* to, const void* data, int64_t bytes, ErrorText& error);

  // For a run over a volume (device_volume.h); null and a status if memory runs out. The others wait for the GPU only
  // if their own memory is full.
  DeviceVolume* (*make_volume)(DeviceInstance* instance, const VolumeOnDevice& description, onnxc_status& status,
                               ErrorText& error);
  void (*destroy_volume)(DeviceVolume* volume);
  // Memory of the host for slices of an input from `first` on, [slice, channel, the other axes], and their way to the
  // GPU. `count` is reduced to those that it has room for.
  onnxc_status (*take_slices)(DeviceVolume* volume, int32_t input, int64_t first, int64_t& count, float*& memory,
                              ErrorText& error);
  onnxc_status (*send_slices)(DeviceVolume* volume, int32_t input, int64_t first, int64_t count, ErrorText& error);
  // Windows that are cut from now on may read the slices that were sent. Slices that are sent from now on may replace
  // those which no window from now on reads.
  onnxc_status (*begin_slab)(DeviceVolume* volume, ErrorText& error);
  // The windows of the inputs, before the model runs; then those of an output to its sums. `adds_weights` once a
  // window.
  onnxc_status (*cut_windows)(DeviceVolume* volume, const DeviceWindows& windows, ErrorText& error);
  onnxc_status (*add_windows)(DeviceVolume* volume, int32_t output, const DeviceWindows& windows, bool adds_weights,
                              ErrorText& error);
  // Makes results of sums, which are zero then, and brings them to a piece of the host's memory, whose last results
  // nobody reads any more; until they are there.
  onnxc_status (*finish_box)(DeviceVolume* volume, const FinishedBox& box, int32_t piece, ErrorText& error);
  onnxc_status (*wait_for_piece)(DeviceVolume* volume, int32_t piece, const void*& results, ErrorText& error);
  // Remembers the end of a run under a number below DeviceVolume::runs_under_way, and waits for it.
  onnxc_status (*end_run)(DeviceVolume* volume, int32_t number, ErrorText& error);
  onnxc_status (*wait_for_run)(DeviceVolume* volume, int32_t number, ErrorText& error);
};

extern const DeviceBackend gpu_backend;

}  // namespace onnxc::runtime
