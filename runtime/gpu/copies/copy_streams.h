// The two streams in which tensors go to the GPU and back while kernels run in another: ordered only by events.
#pragma once

#include "gpu/library/gpu_library.h"

namespace onnxc::runtime {

class CopyStreams {
 public:
  explicit CopyStreams(const GpuLibrary& gpu) : gpu_(gpu) {}

  // Both in the current device.
  onnxc_status make(ErrorText& error);
  bool are_made() const { return order_ != nullptr; }
  // Waits for what is on its way.
  void destroy();

  // Work that is put into `later` from now on waits for the work in `earlier` so far.
  onnxc_status order(GpuStream earlier, GpuStream later, ErrorText& error);

  GpuStream up = nullptr, down = nullptr;

 private:
  const GpuLibrary& gpu_;
  GpuEvent order_ = nullptr;
};

}  // namespace onnxc::runtime
