// The two streams in which tensors go to the GPU and back while kernels run in another: ordered only by events.
#pragma once

#include "gpu/hip_library.h"

namespace onnxc::runtime {

class CopyStreams {
 public:
  explicit CopyStreams(const HipLibrary& hip) : hip_(hip) {}

  // Both in the current device.
  onnxc_status make(ErrorText& error);
  bool are_made() const { return order_ != nullptr; }
  // Waits for what is on its way.
  void destroy();

  // Work that is put into `later` from now on waits for the work in `earlier` so far.
  onnxc_status order(hipStream_t earlier, hipStream_t later, ErrorText& error);

  hipStream_t up = nullptr, down = nullptr;

 private:
  const HipLibrary& hip_;
  hipEvent_t order_ = nullptr;
};

}  // namespace onnxc::runtime
