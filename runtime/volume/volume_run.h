// A run of a model over a volume, window by window: the loop of onnxc_volume.h's run_volume.
//
// The loop lives here, in the runtime, and not in each language's binding: so C, Python and onnxc-run share one, the
// sums stay in one pass over memory, and nothing but a model.so is needed. It runs the network through the same call as
// any caller. On the CPU (volume_on_cpu.cpp) it reads windows (window_reader.h) and adds weighted sums (blend.h), both
// on the instance's threads. On a GPU (volume_on_gpu.cpp) the host reads slices and writes results, and all between
// lies on the GPU (gpu/device_volume.h).
//
// Order: places of the slab axis, then of the other axes in their order; for each batch of windows, each mirroring, and
// in it each model. Only the order decides the bits.
#pragma once

#include "base/arena.h"
#include "base/array.h"
#include "base/error_text.h"
#include "base/model.h"
#include "gpu/backend.h"
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
  static constexpr int64_t largest_batch = 4096;

  explicit VolumeRun(Instance& instance);
  ~VolumeRun();

  onnxc_status output_dims(const onnxc_volume* volume, int64_t* const* dims);
  onnxc_status run(const onnxc_volume* volume, onnxc_volume_result* result);
  bool may_run_fewer_windows() const;
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
  onnxc_status describe_value(int32_t index, WindowBuffer& buffer);
  int64_t working_bytes() const;

  // One run of a model, from its start until its windows are blended.
  struct ModelRun {
    int64_t windows;
    uint32_t mirrored;
    int64_t member;      // -1: the model itself
    bool ends_batch;     // it is the last one of these windows
    int64_t slab;        // their place on the slab axis
    int64_t whole_rows;  // of this slab's rows of windows, those that are whole with these
    int64_t pieces = 0;  // of results on a GPU that were started before it
  };
  onnxc_status walk();
  onnxc_status begin_slab(int64_t slab);
  onnxc_status add_to_batch(const int64_t (&places)[volume_axes], int64_t whole_rows, bool ends_slab);
  onnxc_status run_batch(int64_t slab, int64_t whole_rows);
  onnxc_status start(const ModelRun& run);
  onnxc_status call_model(const ModelRun& run);
  onnxc_status tell_oldest();
  onnxc_status finish_rows(int64_t slab, int64_t whole_rows);
  onnxc_status run_tasks(int64_t tasks, ParallelBody body, const void* context);
  int64_t times() const { return (volume_.member_count + 1) << __builtin_popcount(volume_.mirrored_axes); }
  int64_t place(int64_t window, int32_t axis) const { return batch_places_[window * volume_axes + axis]; }

  onnxc_status read_windows(uint32_t mirrored);
  onnxc_status add_windows(const ModelRun& run);
  // Writes a part that became final, and hands its slices over if all their rows are.
  onnxc_status finish_on_cpu(Blend& blend, const Box& part, bool ends_slices);

  bool is_on_gpu() const { return on_gpu_ != nullptr; }
  const DeviceBackend& backend() const { return *model.device_backend; }
  onnxc_status make_room_on_gpu(const Array<WindowBuffer>& buffers);
  onnxc_status begin_slab_on_gpu(int64_t slab);
  int64_t end_of_slab(int64_t slab) const;
  onnxc_status send_slices(int64_t end, int64_t most_pieces);
  onnxc_status send_piece(int32_t input, int64_t end);
  onnxc_status cut_on_gpu(uint32_t mirrored);
  onnxc_status add_on_gpu(const ModelRun& run);
  onnxc_status finish_on_gpu(int32_t output, const Box& part, bool ends_slices);
  onnxc_status start_piece(int32_t output, const Blend::Piece& results, const Box* ended);
  onnxc_status take_piece();

  bool is_windowed(int32_t input) const { return volume_.inputs[input].fixed == nullptr; }
  bool is_written(int32_t output) const { return volume_.outputs[output].what != ONNXC_VOLUME_NOTHING; }

  Instance& instance_;
  const ModelDescription& model;
  ErrorText& error_;
  onnxc_volume volume_ = {};
  VolumeGeometry geometry_;
  int32_t slab_axis_ = 0;
  int64_t batch_ = 1, most_windows_ = largest_batch;
  Array<int64_t> dims_;  // of the model's inputs and then of its outputs, for a batch of windows
  Array<int64_t*> input_dims_, output_dims_;
  Objects<WindowReader> readers_;  // one an input, of use if that is not fixed
  Objects<Blend> blends_;          // one an output, of use if something is written of it
  WindowValues values_;            // of the inputs and then of the outputs, on the CPU

  Array<int64_t> batch_places_;  // volume_axes for each window that waits for its run
  int64_t batched_ = 0;
  ModelRun runs_[DeviceVolume::runs_under_way] = {};
  int64_t started_ = 0, told_ = 0;
  int64_t finished_rows_ = 0;  // of the slab whose windows are being blended
  int64_t windows_done_ = 0, windows_run_ = 0;
  double network_seconds_ = 0;

  DeviceVolume* on_gpu_ = nullptr;
  Array<int64_t> starts_;  // of a batch's windows
  Array<int64_t> sent_;    // slices of each input, counted from the start of the padding
  // Results on their way from the GPU, the oldest first.
  struct Piece {
    int32_t output;
    Blend::Piece results;
    bool ends_slices;
    Box slices;  // that are handed over then
  };
  Piece pieces_[DeviceVolume::most_pieces] = {};
  int64_t started_pieces_ = 0, taken_pieces_ = 0;
};

}  // namespace onnxc::runtime
