#include "gpu/window_transfers.h"

#include <stdlib.h>

#include <new>

#include "gpu/library/current_device.h"

namespace onnxc::runtime {

WindowTransfers* WindowTransfers::create(const DeviceModule& module, const Array<WindowBuffer>& buffers, int64_t batch,
                                         onnxc_status& status, ErrorText& error) {
  void* memory = malloc(sizeof(WindowTransfers));
  if (memory == nullptr) {
    error.append("no memory for the windows");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* transfers = new (memory) WindowTransfers(module, batch);
  status = transfers->set_up(buffers, error);
  if (status == ONNXC_OK) return transfers;
  destroy(transfers);
  return nullptr;
}

void WindowTransfers::destroy(WindowTransfers* transfers) {
  transfers->~WindowTransfers();
  free(transfers);
}

WindowTransfers::~WindowTransfers() {
  ErrorText unheard;
  CurrentDevice current(gpu_, device_);
  current.enter(unheard);  // also of a device that is lost all is given back
  copies_.destroy();
  if (model_ != nullptr) {
    ignore(gpu_.wait_for_stream(model_));
    ignore(gpu_.destroy_stream(model_));
  }
  for (const GpuEvent event : fetched_)
    if (event != nullptr) ignore(gpu_.destroy_event(event));
  for (int32_t slot = 0; slot < slots; ++slot) {
    for (void* memory : memory_[slot])
      if (memory != nullptr) ignore(gpu_.free(memory));
    for (void* memory : host[slot])
      if (memory != nullptr) ignore(gpu_.free_host(memory));
  }
}

onnxc_status WindowTransfers::set_up(const Array<WindowBuffer>& buffers, ErrorText& error) {
  CurrentDevice current(gpu_, device_);
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = make_streams(error);
  return status == ONNXC_OK ? make_memory(buffers, error) : status;
}

onnxc_status WindowTransfers::make_streams(ErrorText& error) {
  if (const onnxc_status status = copies_.make(error); status != ONNXC_OK) return status;
  GpuResult result = gpu_.create_stream(&model_, gpu_stream_non_blocking);
  if (!succeeded(gpu_, result, "", error)) return status_of(result);
  stream = model_;
  for (GpuEvent& event : fetched_) {
    result = gpu_.create_event(&event, gpu_event_without_time);
    if (!succeeded(gpu_, result, "", error)) return status_of(result);
  }
  return ONNXC_OK;
}

onnxc_status WindowTransfers::make_memory(const Array<WindowBuffer>& buffers, ErrorText& error) {
  bool has_room = uses_.allocate(buffers.size());
  for (int32_t slot = 0; slot < slots; ++slot)
    has_room = has_room && memory_[slot].allocate(buffers.size()) && host[slot].allocate(buffers.size()) &&
               values[slot].allocate(buffers.size());
  if (!has_room) {
    error.append("no memory for the windows");
    return ONNXC_OUT_OF_MEMORY;
  }
  for (int64_t i = 0; i < buffers.size(); ++i) {
    uses_[i] = buffers[i].use;
    for (int32_t slot = 0; slot < slots; ++slot) {
      const onnxc_status status = allocate(buffers[i], slot, i, error);
      if (status != ONNXC_OK) return status;
    }
  }
  return ONNXC_OK;
}

onnxc_status WindowTransfers::allocate(const WindowBuffer& buffer, int32_t slot, int64_t index, ErrorText& error) {
  onnxc_value& value = values[slot][index];
  value = buffer.value;
  const bool is_fixed = buffer.use == WindowUse::fixed;
  if (is_fixed && value.device == ONNXC_GPU) return ONNXC_OK;
  value.device = ONNXC_GPU;
  if (is_fixed && slot > 0) value.data = values[0][index].data;
  if (value.bytes == 0 || (is_fixed && slot > 0)) return ONNXC_OK;
  const auto bytes = static_cast<size_t>(value.bytes);
  GpuResult result = gpu_.allocate(&memory_[slot][index], bytes);
  if (!succeeded(gpu_, result, "for windows", error)) return status_of(result);
  value.data = memory_[slot][index];
  if (is_fixed) {
    result = gpu_.copy(value.data, buffer.value.data, bytes, GpuCopy::to_device, copies_.up);
    if (!succeeded(gpu_, result, "of a fixed input", error)) return status_of(result);
  }
  if (buffer.use != WindowUse::sent && buffer.use != WindowUse::fetched) return ONNXC_OK;
  result = gpu_.allocate_host(&host[slot][index], bytes, 0);
  return succeeded(gpu_, result, "for windows", error) ? ONNXC_OK : status_of(result);
}

// Copies all values of that use, up or down.
onnxc_status WindowTransfers::copy(WindowUse use, int32_t slot, int64_t count, ErrorText& error) {
  const bool goes_up = use == WindowUse::sent;
  for (int64_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i] != use) continue;
    const onnxc_value& value = values[slot][i];
    const auto bytes = static_cast<size_t>(value.bytes / batch_ * count);
    const GpuResult result = goes_up ? gpu_.copy(value.data, host[slot][i], bytes, GpuCopy::to_device, copies_.up)
                                     : gpu_.copy(host[slot][i], value.data, bytes, GpuCopy::to_host, copies_.down);
    if (!succeeded(gpu_, result, goes_up ? "of windows" : "of results", error)) return status_of(result);
  }
  return ONNXC_OK;
}

onnxc_status WindowTransfers::send(int32_t slot, int64_t count, ErrorText& error) {
  CurrentDevice current(gpu_, device_);
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = copy(WindowUse::sent, slot, count, error);
  if (status != ONNXC_OK) return status;
  return copies_.order(copies_.up, model_, error);
}

onnxc_status WindowTransfers::fetch(int32_t slot, int64_t count, ErrorText& error) {
  CurrentDevice current(gpu_, device_);
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = copies_.order(model_, copies_.down, error);
  if (status == ONNXC_OK) status = copy(WindowUse::fetched, slot, count, error);
  if (status != ONNXC_OK) return status;
  const GpuResult result = gpu_.record(fetched_[slot], copies_.down);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status WindowTransfers::wait(int32_t slot, ErrorText& error) {
  CurrentDevice current(gpu_, device_);
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  const GpuResult result = gpu_.wait_for_event(fetched_[slot]);
  return succeeded(gpu_, result, "of a run of windows", error) ? ONNXC_OK : status_of(result);
}

}  // namespace onnxc::runtime
