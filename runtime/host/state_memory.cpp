#include "host/state_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory_plan.h"

namespace onnxc::runtime {

StateMemory::~StateMemory() {
  if (on_gpu_ != nullptr) backend_->destroy_states(on_gpu_);
}

onnxc_status StateMemory::set_up(const DeviceBackend* backend, const DeviceInstance* device, ErrorText& error) {
  if (device == nullptr) return ONNXC_OK;
  backend_ = backend;
  onnxc_status status = ONNXC_OK;
  on_gpu_ = backend->make_states(device, status, error);
  return status;
}

bool StateMemory::is_on(const DeviceInstance* device) const {
  if (device == nullptr || on_gpu_ == nullptr) return device == nullptr && on_gpu_ == nullptr;
  return backend_->is_on_device_of(on_gpu_, device);
}

onnxc_status StateMemory::allocate(int64_t bytes, void*& data, ErrorText& error) {
  if (on_gpu_ != nullptr) return backend_->allocate_state(on_gpu_, bytes, data, error);
  ::free(data);
  data = nullptr;
  if (bytes == 0) return ONNXC_OK;
  const int64_t aligned = (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
  data = aligned_alloc(static_cast<size_t>(memory_alignment), static_cast<size_t>(aligned));
  if (data != nullptr) return ONNXC_OK;
  error.append("no %lld bytes for a state", static_cast<long long>(bytes));
  return ONNXC_OUT_OF_MEMORY;
}

void StateMemory::free(void* data) {
  if (on_gpu_ == nullptr)
    ::free(data);
  else if (data != nullptr)
    backend_->free_state(on_gpu_, data);
}

onnxc_status StateMemory::clear(void* data, int64_t bytes, ErrorText& error) {
  if (bytes == 0) return ONNXC_OK;
  if (on_gpu_ != nullptr) return backend_->clear_state(on_gpu_, data, bytes, error);
  memset(data, 0, static_cast<size_t>(bytes));
  return ONNXC_OK;
}

onnxc_status StateMemory::write(void* data, const void* from, int64_t bytes, ErrorText& error) {
  if (bytes == 0) return ONNXC_OK;
  if (on_gpu_ != nullptr) return backend_->write_state(on_gpu_, data, from, bytes, error);
  memcpy(data, from, static_cast<size_t>(bytes));
  return ONNXC_OK;
}

onnxc_status StateMemory::read(void* to, const void* data, int64_t bytes, ErrorText& error) {
  if (bytes == 0) return ONNXC_OK;
  if (on_gpu_ != nullptr) return backend_->read_state(on_gpu_, to, data, bytes, error);
  memcpy(to, data, static_cast<size_t>(bytes));
  return ONNXC_OK;
}

}  // namespace onnxc::runtime
