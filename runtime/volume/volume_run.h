// A run of a model over a volume, window by window: the loop of onnxc_volume.h's run_volume.
//
// The loop lives here, in the runtime, and not in each language's binding: so C, Python and onnxc-run share one, the
// sums stay in one pass over memory, and nothing but a model.so is needed. It runs the network through the same call as
// any caller; what it adds is reading windows (window_reader.h) and the weighted sums (blend.h), both on the
// instance's threads.
//
// Order: places of the slab axis, then of the other axes in their order; for each batch of windows, each mirroring, and
// in it each model. Only the order decides the bits.
//
// On a GPU one run computes while the host blends the windows of the run before and reads those of the next one.
#pragma once

#include "base/arena.h"
#include "base/array.h"
#include "base/error_text.h"
#include "base/model.h"
#include "volume/blend.h"
#include "volume/geometry.h"
#include "volume/objects.h"
#include "volume/window_reader.h"
#include "volume/window_values.h"

namespace onnxc::runtime {

class Instance;

class VolumeRun {
 public:
  // The calls of the C ABI: ONNXC_BUSY if the instance is in another.
  static onnxc_status output_dims(Instance& instance, const onnxc_volume* volume, int64_t* const* dims);
  static onnxc_status run(Instance& instance, const onnxc_volume* volume, onnxc_volume_result* result);

 private:
  explicit VolumeRun(Instance& instance);

  onnxc_status output_dims(const onnxc_volume* volume, int64_t* const* dims);
  onnxc_status run(const onnxc_volume* volume, onnxc_volume_result* result);
  // All that follows from the volume's fields and the model, before memory is made.
  onnxc_status plan(const onnxc_volume* volume);
  onnxc_status check_fields();
  onnxc_status check_values();
  onnxc_status choose_batch();
  int64_t usual_batch() const;
  void choose_slab_axis();
  onnxc_status bind_window();
  bool gives_each_window() const;
  onnxc_status window_output_dims(int64_t batch, const int64_t* window);
  void name_legal_windows();
  onnxc_status make_blends();

  onnxc_status check_members();
  onnxc_status make_room();
  int64_t working_bytes() const;

  // One run of a model, from its start until its windows are blended.
  struct ModelRun {
    const int64_t* window_places;  // volume_axes for each window
    int64_t windows;
    uint32_t mirrored;
    int64_t member;      // -1: the model itself
    bool ends_batch;     // it is the last one of these windows
    int64_t slab;        // their place on the slab axis
    int64_t whole_rows;  // of this slab's rows of windows, those that are whole with these
  };
  onnxc_status walk();
  onnxc_status add_to_batch(const int64_t (&places)[volume_axes], int64_t whole_rows, bool ends_slab);
  onnxc_status run_batch(int64_t slab, int64_t whole_rows);
  onnxc_status read_batch(uint32_t mirrored);
  onnxc_status start(const ModelRun& run);
  onnxc_status call_model(const ModelRun& run, const onnxc_value* inputs, const onnxc_value* outputs);
  onnxc_status finish_oldest();
  onnxc_status blend(const ModelRun& run, int32_t slot);
  onnxc_status finish_rows(int64_t slab, int64_t whole_rows);
  onnxc_status finish(Blend& blend, const Box& box);
  onnxc_status run_tasks(int64_t tasks, ParallelBody body, const void* context);

  bool is_windowed(int32_t input) const { return volume_.inputs[input].fixed == nullptr; }
  bool is_written(int32_t output) const { return volume_.outputs[output].what != ONNXC_VOLUME_NOTHING; }

  Instance& instance_;
  ErrorText& error_;
  onnxc_volume volume_ = {};
  VolumeGeometry geometry_;
  int32_t slab_axis_ = 0;
  int64_t batch_ = 1;
  Array<int64_t> dims_;  // of the model's inputs and then of its outputs, for a batch of windows
  Array<int64_t*> input_dims_, output_dims_;
  Objects<WindowReader> readers_;  // one an input, of use if that is not fixed
  Objects<Blend> blends_;          // one an output, of use if something is written of it
  WindowValues values_;            // of the inputs and then of the outputs

  // Places of the windows that wait for their run, and of those that are running meanwhile; which the former are.
  Array<int64_t> batch_places_[DeviceWindows::slots];
  int32_t batch_slot_ = 0;
  int64_t batched_ = 0;
  int32_t input_slot_ = 0;  // of the windows that were read last
  ModelRun runs_[DeviceWindows::slots] = {};
  int64_t started_ = 0, finished_ = 0;
  int64_t finished_rows_ = 0;  // of the slab whose windows are being blended
  int64_t windows_done_ = 0, windows_run_ = 0;
  double network_seconds_ = 0;
};

}  // namespace onnxc::runtime
