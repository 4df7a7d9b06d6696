#include "gpu/current_device.h"

namespace onnxc::runtime {

onnxc_status CurrentDevice::enter(ErrorText& error) {
  hipError_t result = hip_.get_device(&callers_);
  if (!succeeded(hip_, result, "hipGetDevice", error)) return status_of(result);
  if (callers_ == device_) return ONNXC_OK;
  result = hip_.set_device(device_);
  if (!succeeded(hip_, result, "hipSetDevice", error)) return status_of(result);
  has_changed_ = true;
  return ONNXC_OK;
}

void CurrentDevice::leave() {
  if (has_changed_) ignore(hip_.set_device(callers_));
  has_changed_ = false;
}

}  // namespace onnxc::runtime
