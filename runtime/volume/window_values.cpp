#include "volume/window_values.h"

#include "base/model.h"

namespace onnxc::runtime {
namespace {

const DeviceBackend& backend() { return *model.device_backend; }

bool has_host_memory(const WindowBuffer& buffer, bool is_on_device) {
  return buffer.use == WindowUse::sent || buffer.use == WindowUse::fetched ||
         (buffer.use == WindowUse::ignored && !is_on_device);
}

}  // namespace

WindowValues::~WindowValues() {
  if (on_device_ != nullptr) backend().destroy_windows(on_device_);
}

onnxc_status WindowValues::make(DeviceInstance* device, const Array<WindowBuffer>& buffers, int64_t batch,
                                ErrorText& error) {
  for (int64_t i = 0; i < buffers.size(); ++i)
    if (has_host_memory(buffers[i], device != nullptr))
      working_bytes_ += buffers[i].value.bytes * (device != nullptr ? DeviceWindows::slots : 1);
  if (device != nullptr) {
    onnxc_status status = ONNXC_OK;
    on_device_ = backend().make_windows(device, buffers, batch, status, error);
    return status;
  }
  bool has_room = memory_.make(buffers.size()) && values_.allocate(buffers.size());
  for (int64_t i = 0; has_room && i < buffers.size(); ++i) {
    values_[i] = buffers[i].value;
    if (!has_host_memory(buffers[i], false)) continue;
    has_room = memory_[i].reserve(values_[i].bytes);
    values_[i].data = memory_[i].data();
  }
  if (has_room) return ONNXC_OK;
  error.append("no memory for the windows of a run");
  return ONNXC_OUT_OF_MEMORY;
}

float* WindowValues::host_data(int32_t slot, int64_t value) const {
  return static_cast<float*>(on_device_ != nullptr ? on_device_->host[slot][value] : values_[value].data);
}

const onnxc_value* WindowValues::values(int32_t slot) const {
  return on_device_ != nullptr ? on_device_->values[slot].data() : values_.data();
}

onnxc_status WindowValues::send(int32_t slot, int64_t windows, ErrorText& error) {
  return on_device_ != nullptr ? backend().send_windows(on_device_, slot, windows, error) : ONNXC_OK;
}

onnxc_status WindowValues::fetch(int32_t slot, int64_t windows, ErrorText& error) {
  return on_device_ != nullptr ? backend().fetch_windows(on_device_, slot, windows, error) : ONNXC_OK;
}

onnxc_status WindowValues::wait(int32_t slot, ErrorText& error) {
  return on_device_ != nullptr ? backend().wait_for_windows(on_device_, slot, error) : ONNXC_OK;
}

}  // namespace onnxc::runtime
