// A run over a volume whose windows are cut, run and blended on one GPU.
//
// The bus would not carry the windows: of 96^3 and 14 classes each is 50 MB, while the scan is sent once and labels are
// a byte a voxel. So slices of the volume and the sums of each output lie on the GPU, in rings along the slab axis
// (kernels/hip/volume/), and kernels cut the windows, add what the model made of them, and finish sums.
//
// Method: three streams, ordered only by events:
//
//     up      slices of slab 1                slices of slab 2
//     model   cut, run, add; ...; finish      cut, run, add; ...; finish
//     down                         results of slab 0
//
// Slices and results pass through pinned pieces, which the host fills and empties while the GPU computes. Everything in
// the model's stream is in order, so that the values of a run and the rings need no second place.
#pragma once

#include "gpu/backend.h"
#include "gpu/copies/copy_streams.h"
#include "gpu/device_module.h"
#include "kernels/hip/volume/volume_geometry.h"

namespace onnxc::runtime {

class DeviceVolumeRun : public DeviceVolume {
 public:
  static DeviceVolumeRun* create(const DeviceModule& module, const VolumeOnDevice& description, onnxc_status& status,
                                 ErrorText& error);
  // Waits for what is on its way.
  static void destroy(DeviceVolumeRun* run);

  onnxc_status take_slices(int32_t input, int64_t first, int64_t& count, float*& memory, ErrorText& error);
  onnxc_status send_slices(int32_t input, int64_t first, int64_t count, ErrorText& error);
  onnxc_status begin_slab(ErrorText& error);
  onnxc_status cut_windows(const DeviceWindows& windows, ErrorText& error);
  onnxc_status add_windows(int32_t output, const DeviceWindows& windows, bool adds_weights, ErrorText& error);
  onnxc_status finish_box(const FinishedBox& box, int32_t piece, ErrorText& error);
  onnxc_status wait_for_piece(int32_t piece, const void*& results, ErrorText& error);
  onnxc_status end_run(int32_t number, ErrorText& error);
  onnxc_status wait_for_run(int32_t number, ErrorText& error);

 private:
  // The part of a volume that one of the model's values is.
  struct Part {
    WindowUse use;
    int32_t type;  // of VolumeKernels::types
    int64_t channels;
    int32_t window[device_axes];
    float* ring;  // slices of an input, sums of an output
    kernels::SliceRing layout;
    int64_t slice_floats;
    const float* importance[device_axes];
  };
  // Pinned memory that slices and results pass through; results have a place on the GPU as well.
  struct Piece {
    void *host, *device;
    GpuEvent passed;
    bool is_under_way;
  };
  static constexpr int32_t sent_pieces = 3;

  explicit DeviceVolumeRun(const DeviceModule& module) : module_(module), gpu_(module.gpu()), copies_(module.gpu()) {}
  ~DeviceVolumeRun();

  onnxc_status set_up(const VolumeOnDevice& description, ErrorText& error);
  onnxc_status make_streams(ErrorText& error);
  onnxc_status make_event(GpuEvent& event, ErrorText& error);
  onnxc_status make_value(const WindowBuffer& buffer, int64_t index, ErrorText& error);
  onnxc_status make_part(const VolumeOnDevice& description, int64_t index, ErrorText& error);
  onnxc_status make_importance(const WindowBuffer& buffer, Part& part, ErrorText& error);
  onnxc_status make_pieces(const VolumeOnDevice& description, ErrorText& error);
  onnxc_status allocate(void** memory, int64_t bytes, const char* what, ErrorText& error);
  onnxc_status allocate_host(void** memory, int64_t bytes, const char* what, ErrorText& error);

  onnxc_status cut(const Part& part, const onnxc_value& value, const DeviceWindows& windows, ErrorText& error);
  onnxc_status wait_for(Piece& piece, ErrorText& error);
  template <class Arguments>
  onnxc_status launch(int32_t kernel, const Arguments& arguments, const char* what, ErrorText& error);

  const DeviceModule& module_;
  const GpuLibrary& gpu_;
  CopyStreams copies_;
  GpuStream model_ = nullptr;
  float least_importance_ = 0;
  Array<Part> parts_;                         // one a value
  Array<void*> device_memory_, host_memory_;  // all that is to be freed
  int64_t device_count_ = 0, host_count_ = 0;
  Piece sent_[sent_pieces] = {}, results_[most_pieces] = {};
  int64_t sent_bytes_ = 0;
  int32_t next_sent_ = 0;
  GpuEvent run_ends_[runs_under_way] = {};
};

}  // namespace onnxc::runtime
