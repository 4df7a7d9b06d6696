#include "gpu/device_states.h"

#include <stdlib.h>

#include <new>

namespace onnxc::runtime {

DeviceStates* DeviceStates::create(const DeviceInstance& instance, onnxc_status& status, ErrorText& error) {
  const DeviceModule& used = instance.module();
  DeviceModule* const module = DeviceModule::acquire(used.model(), used.device().index, status, error);
  if (module == nullptr) return nullptr;
  void* memory = malloc(sizeof(DeviceStates));
  if (memory == nullptr) {
    DeviceModule::release(module);
    error.append("no memory for an instance");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* states = new (memory) DeviceStates(module);
  status = states->set_up(error);
  if (status == ONNXC_OK) return states;
  destroy(states);
  return nullptr;
}

void DeviceStates::destroy(DeviceStates* states) {
  DeviceModule* const module = states->module_;
  {
    ErrorText unheard;
    CurrentDevice current(module->gpu(), module->device());
    states->enter(current, unheard);  // also of a device that is lost all is given back
    if (states->run_end_ != nullptr) ignore(module->gpu().destroy_event(states->run_end_));
    if (states->stream_ != nullptr) ignore(module->gpu().destroy_stream(states->stream_));
  }
  states->~DeviceStates();
  ::free(states);
  DeviceModule::release(module);
}

onnxc_status DeviceStates::set_up(ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  CurrentDevice current(gpu, module_->device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  GpuResult result = gpu.create_stream(&stream_, gpu_stream_non_blocking);
  if (!succeeded(gpu, result, "", error)) return status_of(result);
  result = gpu.create_event(&run_end_, gpu_event_without_time);
  return succeeded(gpu, result, "", error) ? ONNXC_OK : status_of(result);
}

bool DeviceStates::is_on_device_of(const DeviceInstance& instance) const {
  const DeviceModule& other = instance.module();
  return &other.gpu() == &module_->gpu() && other.device().index == module_->device().index;
}

onnxc_status DeviceStates::begin_run(GpuStream stream, bool is_captured, ErrorText& error) {
  if (!may_be_running_) return ONNXC_OK;
  const GpuLibrary& gpu = module_->gpu();
  // A capture cannot wait for what is not in it.
  const GpuResult result = is_captured ? gpu.wait_for_event(run_end_) : gpu.stream_waits_for(stream, run_end_, 0);
  may_be_running_ = !result.is_ok();
  return succeeded(gpu, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceStates::end_run(GpuStream stream, ErrorText& error) {
  const GpuResult result = module_->gpu().record(run_end_, stream);
  may_be_running_ = result.is_ok();
  return succeeded(module_->gpu(), result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceStates::enter(CurrentDevice& current, ErrorText& error) {
  const onnxc_status status = current.enter(error);
  if (status != ONNXC_OK || !may_be_running_) return status;
  const GpuResult result = module_->gpu().wait_for_event(run_end_);
  may_be_running_ = false;
  return succeeded(module_->gpu(), result, "", error) ? ONNXC_OK : status_of(result);
}

// Waits for what was enqueued in the stream of the states.
onnxc_status DeviceStates::finish(GpuResult result, const char* of, ErrorText& error) {
  const GpuLibrary& gpu = module_->gpu();
  if (!succeeded(gpu, result, of, error)) return status_of(result);
  result = gpu.wait_for_stream(stream_);
  return succeeded(gpu, result, of, error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceStates::allocate(int64_t bytes, void*& data, ErrorText& error) {
  CurrentDevice current(module_->gpu(), module_->device());
  if (const onnxc_status status = enter(current, error); status != ONNXC_OK) return status;
  if (data != nullptr) ignore(module_->gpu().free(data));
  data = nullptr;
  if (bytes == 0) return ONNXC_OK;
  const GpuResult result = module_->gpu().allocate(&data, static_cast<size_t>(bytes));
  return succeeded(module_->gpu(), result, "of a state", error) ? ONNXC_OK : status_of(result);
}

void DeviceStates::free(void* data) {
  ErrorText unheard;
  CurrentDevice current(module_->gpu(), module_->device());
  enter(current, unheard);
  ignore(module_->gpu().free(data));
}

onnxc_status DeviceStates::clear(void* data, int64_t bytes, ErrorText& error) {
  CurrentDevice current(module_->gpu(), module_->device());
  if (const onnxc_status status = enter(current, error); status != ONNXC_OK) return status;
  return finish(module_->gpu().fill(data, 0, static_cast<size_t>(bytes), stream_), "of a state", error);
}

onnxc_status DeviceStates::copy(void* to, const void* from, int64_t bytes, GpuCopy kind, ErrorText& error) {
  CurrentDevice current(module_->gpu(), module_->device());
  if (const onnxc_status status = enter(current, error); status != ONNXC_OK) return status;
  return finish(module_->gpu().copy(to, from, static_cast<size_t>(bytes), kind, stream_), "of a state", error);
}

}  // namespace onnxc::runtime
