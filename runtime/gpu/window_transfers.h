// Windows of a volume on their way to the GPU, and what the model made of them on its way back.
//
// Method: three streams, ordered only by events, so that copies go both ways while the model runs:
//
//     up      send 0  send 1           send 2
//     model           run 0            run 1            run 2
//     down                             fetch 0          fetch 1
//
// Copies are of pinned memory: others would block. Nothing here orders a run after the earlier one in its slot: whoever
// sends into a slot has waited for the runs that read it, and whoever fetches into one for the fetch before.
#pragma once

#include "gpu/backend.h"
#include "gpu/copy_streams.h"
#include "gpu/device_module.h"

namespace onnxc::runtime {

class WindowTransfers : public DeviceWindows {
 public:
  static WindowTransfers* create(const DeviceModule& module, const Array<WindowBuffer>& buffers, int64_t batch,
                                 onnxc_status& status, ErrorText& error);
  // Waits for what is on its way.
  static void destroy(WindowTransfers* transfers);

  onnxc_status send(int32_t slot, int64_t count, ErrorText& error);
  onnxc_status fetch(int32_t slot, int64_t count, ErrorText& error);
  onnxc_status wait(int32_t slot, ErrorText& error);

 private:
  WindowTransfers(const DeviceModule& module, int64_t batch)
      : gpu_(module.gpu()), device_(module.device()), batch_(batch), copies_(module.gpu()) {}
  ~WindowTransfers();

  onnxc_status set_up(const Array<WindowBuffer>& buffers, ErrorText& error);
  onnxc_status make_streams(ErrorText& error);
  onnxc_status make_memory(const Array<WindowBuffer>& buffers, ErrorText& error);
  onnxc_status allocate(const WindowBuffer& buffer, int32_t slot, int64_t index, ErrorText& error);
  onnxc_status copy(WindowUse use, int32_t slot, int64_t count, ErrorText& error);

  const GpuLibrary& gpu_;
  const GpuDevice& device_;
  int64_t batch_;
  Array<WindowUse> uses_;
  Array<void*> memory_[slots];  // on the GPU, of this object's own
  CopyStreams copies_;
  GpuStream model_ = nullptr;
  GpuEvent fetched_[slots] = {};  // after the last fetch of each
};

}  // namespace onnxc::runtime
