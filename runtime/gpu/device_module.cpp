#include "gpu/device_module.h"

#include <stdio.h>
#include <stdlib.h>

#include <new>

#include "gpu/device_choice.h"
#include "gpu/library/current_device.h"
#include "gpu/program_choice.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {
namespace {

constinit ForkLock modules_lock;
constinit DeviceModule* modules = nullptr;

}  // namespace

DeviceModule* DeviceModule::acquire(const ModelDescription& model, int device, onnxc_status& status, ErrorText& error) {
  status = ONNXC_UNSUPPORTED_DEVICE;
  ChosenDevice chosen;
  if (!choose_device(model, device, chosen, error)) return nullptr;
  modules_lock.lock();
  DeviceModule* module = modules;
  const auto is_other = [&](const DeviceModule& each) {
    return &each.model_ != &model || each.device_.index != device || each.gpu_ != chosen.gpu;
  };
  while (module != nullptr && is_other(*module)) module = module->next_;
  if (module == nullptr) {
    if (void* memory = malloc(sizeof(DeviceModule))) {
      module = new (memory) DeviceModule(model);
      module->gpu_ = chosen.gpu;
      module->device_.index = device;
      module->next_ = modules;
      modules = module;
      status = module->load(chosen.description, error);
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

onnxc_status DeviceModule::load(const GpuDescription& description, ErrorText& error) {
  const GpuResult result = gpu_->open_device(device_);
  is_open_ = result.is_ok();
  if (!succeeded(*gpu_, result, "", error)) return status_of(result);
  CurrentDevice current(*gpu_, device_);
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = load_program(description, error);
  const WeightBlock* const block = status == ONNXC_OK ? program_->weights : nullptr;
  if (block != nullptr && block->size > 0) weights_ = DeviceWeights::acquire(*gpu_, device_, *block, status, error);
  return status;
}

// The best program that the driver is new enough for. Before HIP 6 the first is tried, and the error of
// hipModuleLoadData has to do.
onnxc_status DeviceModule::load_program(const GpuDescription& description, ErrorText& error) {
  GpuResult result;
  do {
    const DeviceProgram* const chosen =
        choose_program(model_.device_programs, model_.device_program_count, gpu_->vendor, description, program_);
    if (chosen == nullptr) break;
    code_.unload(*gpu_);
    program_ = chosen;
    result = code_.load(*gpu_, device_, *program_);
  } while (gpu_->is_too_new(result.code));
  if (succeeded(*gpu_, result, code_.failed_part(), error)) return ONNXC_OK;
  if (*code_.log() != '\0') error.append("; the driver says: %s", code_.log());
  if (code_.lacks_shared_memory()) {
    error.append("; a block of GPU %d has less: ", device_.index);
    gpu_->advise_on_code(description, error);
  }
  return status_of(result);
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
  if (weights_ != nullptr) DeviceWeights::release(weights_);
  code_.unload(*gpu_);
}

}  // namespace onnxc::runtime
