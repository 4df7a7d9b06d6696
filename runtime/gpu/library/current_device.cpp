#include "gpu/library/current_device.h"

namespace onnxc::runtime {

onnxc_status CurrentDevice::enter(ErrorText& error) {
  const GpuResult result = gpu_.enter(device_, callers_, has_changed_);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

void CurrentDevice::leave() {
  if (has_changed_) ignore(gpu_.leave(callers_));
  has_changed_ = false;
}

}  // namespace onnxc::runtime
