#include "gpu/device_module.h"

#include <stdio.h>
#include <stdlib.h>

#include <new>

#include "gpu/library/current_device.h"
#include "gpu/program_choice.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {
namespace {

constinit ForkLock modules_lock;
constinit DeviceModule* modules = nullptr;

// Whether the library finds a GPU at all.
bool has_device(const GpuLibrary& gpu, ErrorText& error) {
  int count = 0;
  if (!succeeded(gpu, gpu.init(0), "", error) || !succeeded(gpu, gpu.device_count(&count), "", error)) {
    error.append("; %s", gpu.if_no_device);
    return false;
  }
  if (count == 0) error.append("%s sees no GPU; %s", gpu.name, gpu.if_no_device);
  return count > 0;
}

// The library of the first vendor, in the order of the model's programs, that has a GPU here; null with the reasons of
// all.
const GpuLibrary* library_with_device(ErrorText& error) {
  bool is_tried[gpu_vendor_count] = {};
  for (int32_t i = 0; i < model.device_program_count; ++i) {
    const GpuVendor vendor = vendor_of(*model.device_programs[i]);
    bool& is_known = is_tried[static_cast<int32_t>(vendor)];
    if (is_known) continue;
    is_known = true;
    if (*error.text() != '\0') error.append("; ");
    const GpuLibrary* gpu = gpu_library(vendor, error);
    if (gpu != nullptr && has_device(*gpu, error)) {
      error.clear();
      return gpu;
    }
  }
  error.append("; %s", on_the_cpu());
  return nullptr;
}

}  // namespace

DeviceModule* DeviceModule::acquire(int device, onnxc_status& status, ErrorText& error) {
  status = ONNXC_UNSUPPORTED_DEVICE;
  const GpuLibrary* gpu = library_with_device(error);
  if (gpu == nullptr) return nullptr;
  modules_lock.lock();
  DeviceModule* module = modules;
  while (module != nullptr && module->device_.index != device) module = module->next_;
  if (module == nullptr) {
    if (void* memory = malloc(sizeof(DeviceModule))) {
      module = new (memory) DeviceModule;
      module->gpu_ = gpu;
      module->device_.index = device;
      module->next_ = modules;
      modules = module;
      status = module->load(error);
    } else {
      status = ONNXC_OUT_OF_MEMORY;
    }
  } else {
    status = ONNXC_OK;
  }
  if (module != nullptr) ++module->users_;
  modules_lock.unlock();
  if (status == ONNXC_OK) return module;
  if (module != nullptr) release(module);
  return nullptr;
}

void DeviceModule::release(DeviceModule* module) {
  modules_lock.lock();
  if (--module->users_ == 0) {
    DeviceModule** link = &modules;
    while (*link != module) link = &(*link)->next_;
    *link = module->next_;
    module->unload();
    module->~DeviceModule();
    free(module);
  }
  modules_lock.unlock();
}

bool DeviceModule::check_device(ErrorText& error) const {
  int count = 0;
  if (!succeeded(*gpu_, gpu_->device_count(&count), "", error)) return false;
  if (device_.index >= 0 && device_.index < count) return true;
  error.append("there is no GPU %d: %s sees %d; choose another number; %s", device_.index, gpu_->name, count,
               on_the_cpu());
  return false;
}

onnxc_status DeviceModule::load(ErrorText& error) {
  if (!check_device(error)) return ONNXC_UNSUPPORTED_DEVICE;
  const GpuResult result = gpu_->open_device(device_);
  is_open_ = result.is_ok();
  if (!succeeded(*gpu_, result, "", error)) return status_of(result);
  CurrentDevice current(*gpu_, device_);
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = load_program(error);
  return status == ONNXC_OK && program_->weights_size > 0 ? upload_weights(error) : status;
}

// The best program that the driver is new enough for. Before HIP 6 the first is tried, and the error of
// hipModuleLoadData has to do.
onnxc_status DeviceModule::load_program(ErrorText& error) {
  GpuDescription description;
  GpuResult result = gpu_->describe(device_, description);
  if (!succeeded(*gpu_, result, "", error)) return status_of(result);
  char log[512] = "";
  do {
    const DeviceProgram* const chosen =
        choose_program(model.device_programs, model.device_program_count, gpu_->vendor, description, program_);
    if (chosen == nullptr) break;
    program_ = chosen;
    result = gpu_->load_module(&module_, program_->code_object, log, sizeof log);
  } while (gpu_->is_too_new(result.code));
  if (program_ == nullptr) {
    error.append("this model was compiled for '%s', and GPU %d is %s; %s%s", model.target, device_.index,
                 description.name, gpu_->if_no_code, model.cpu_program_count > 0 ? ", or run it on the CPU" : "");
    return ONNXC_UNSUPPORTED_DEVICE;
  }
  if (succeeded(*gpu_, result, "", error)) return find_kernels(error);
  if (*log != '\0') error.append("; the driver says: %s", log);
  return status_of(result);
}

onnxc_status DeviceModule::find_kernels(ErrorText& error) {
  if (!kernels_.allocate(program_->kernel_count)) {
    error.append("no memory for the kernels");
    return ONNXC_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < program_->kernel_count; ++i) {
    const GpuResult result = gpu_->find_kernel(&kernels_[i], module_, program_->kernels[i]);
    if (!succeeded(*gpu_, result, "", error)) return status_of(result);
    const onnxc_status status = allow_shared_bytes(i, error);
    if (status != ONNXC_OK) return status;
  }
  return ONNXC_OK;
}

onnxc_status DeviceModule::allow_shared_bytes(int32_t kernel, ErrorText& error) {
  const uint32_t bytes = shared_bytes(kernel);
  if (bytes == 0 || gpu_->allow_shared_bytes == nullptr) return ONNXC_OK;
  const GpuResult result = gpu_->allow_shared_bytes(kernels_[kernel], bytes);
  char of[128];
  snprintf(of, sizeof of, "of %u bytes of shared memory for '%.60s'", bytes, program_->kernels[kernel]);
  if (succeeded(*gpu_, result, of, error)) return ONNXC_OK;
  error.append("; a block of GPU %d has less: %s", device_.index, gpu_->if_no_code);
  return status_of(result);
}

// In a stream of its own, and nobody waits but the first kernels: the null stream would wait for the caller's work, and
// spoil a capture.
onnxc_status DeviceModule::upload_weights(ErrorText& error) {
  const auto bytes = static_cast<size_t>(program_->weights_size);
  GpuResult result = gpu_->allocate(&weights_, bytes);
  if (!succeeded(*gpu_, result, "for the weights", error)) return status_of(result);
  result = gpu_->create_stream(&upload_, gpu_stream_non_blocking);
  if (!succeeded(*gpu_, result, "", error)) return status_of(result);
  result = gpu_->create_event(&arrival_, gpu_event_without_time);
  if (!succeeded(*gpu_, result, "", error)) return status_of(result);
  result = gpu_->copy(weights_, program_->weights, bytes, GpuCopy::to_device, upload_);
  if (!succeeded(*gpu_, result, "of the weights", error)) return status_of(result);
  result = gpu_->record(arrival_, upload_);
  return succeeded(*gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

void DeviceModule::unload() {
  if (!is_open_) return;
  {
    ErrorText unheard;
    CurrentDevice current(*gpu_, device_);
    current.enter(unheard);  // also of a device that is lost all is given back
    give_back();
  }
  gpu_->close_device(device_);
}

void DeviceModule::give_back() {
  if (upload_ != nullptr) {
    ignore(gpu_->wait_for_stream(upload_));
    ignore(gpu_->destroy_stream(upload_));
  }
  if (arrival_ != nullptr) ignore(gpu_->destroy_event(arrival_));
  if (weights_ != nullptr) ignore(gpu_->free(weights_));
  if (module_ != nullptr) ignore(gpu_->unload_module(module_));
}

}  // namespace onnxc::runtime
