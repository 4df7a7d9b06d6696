#include "gpu/device_module.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "gpu/current_device.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {
namespace {

constinit ForkLock modules_lock;
constinit DeviceModule* modules = nullptr;

// The architecture's name ("gfx942:sramecc+:xnack-") in the properties that HIP wrote. Its place differs between
// versions of HIP, and nothing else in there is text that begins so: the device's own name comes first and is skipped.
const char* architecture_name(const char* properties, size_t size) {
  for (size_t i = 256; i + 8 < size; i += 4)
    if (memcmp(properties + i, "gfx", 3) == 0) return properties + i;
  return nullptr;
}

// Whether the device's name says so; features may follow.
bool is_architecture(const char* name, const char* architecture) {
  const size_t length = strlen(architecture);
  return strncmp(name, architecture, length) == 0 && (name[length] == '\0' || name[length] == ':');
}

}  // namespace

DeviceModule* DeviceModule::acquire(int device, onnxc_status& status, ErrorText& error) {
  status = ONNXC_UNSUPPORTED_DEVICE;
  const HipLibrary* hip = hip_library(error);
  if (hip == nullptr) return nullptr;
  modules_lock.lock();
  DeviceModule* module = modules;
  while (module != nullptr && module->device_ != device) module = module->next_;
  if (module == nullptr) {
    if (void* memory = malloc(sizeof(DeviceModule))) {
      module = new (memory) DeviceModule;
      module->hip_ = hip;
      module->device_ = device;
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
  if (!succeeded(*hip_, hip_->init(0), "hipInit", error) ||
      !succeeded(*hip_, hip_->get_device_count(&count), "hipGetDeviceCount", error)) {
    error.append("; HIP finds no AMD GPU, or this user may not open /dev/kfd; %s", on_the_cpu());
    return false;
  }
  if (device_ < 0 || device_ >= count) {
    error.append("there is no GPU %d: HIP sees %d; choose another number; %s", device_, count, on_the_cpu());
    return false;
  }
  return true;
}

// Takes a program for the device's architecture: the one whose card is nearest in compute units, since a card in
// partitions has fewer. Before HIP 6 the first is tried, and the error of hipModuleLoadData has to do.
bool DeviceModule::choose_program(ErrorText& error) {
  program_ = model.device_programs[0];
  alignas(16) char properties[4096] = {};
  if (hip_->get_device_properties == nullptr || hip_->get_device_properties(properties, device_) != hipSuccess)
    return true;
  const char* name = architecture_name(properties, sizeof properties);
  if (name == nullptr) return true;
  int units = 0;
  if (hip_->get_device_attribute(&units, hipDeviceAttributeMultiprocessorCount, device_) != hipSuccess) units = 0;
  int least = INT_MAX;
  for (int32_t i = 0; i < model.device_program_count; ++i) {
    const DeviceProgram& program = *model.device_programs[i];
    const int difference = abs(program.compute_units - units);
    if (!is_architecture(name, program.architecture) || difference >= least) continue;
    program_ = &program;
    least = difference;
  }
  if (least < INT_MAX) return true;
  error.append("this model was compiled for '%s', and GPU %d is %.64s; compile it with --gpu-arch%s", model.target,
               device_, name, model.cpu_program_count > 0 ? ", or run it on the CPU" : "");
  return false;
}

onnxc_status DeviceModule::load(ErrorText& error) {
  if (!check_device(error) || !choose_program(error)) return ONNXC_UNSUPPORTED_DEVICE;
  CurrentDevice current(*hip_, device_);
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  hipError_t result = hip_->module_load_data(&module_, program_->code_object);
  if (!succeeded(*hip_, result, "hipModuleLoadData", error)) return status_of(result);
  if (!kernels_.allocate(program_->kernel_count)) return ONNXC_OUT_OF_MEMORY;
  for (int32_t i = 0; i < program_->kernel_count; ++i) {
    result = hip_->module_get_function(&kernels_[i], module_, program_->kernels[i]);
    if (!succeeded(*hip_, result, "hipModuleGetFunction", error)) return status_of(result);
  }
  return program_->weights_size == 0 ? ONNXC_OK : upload_weights(error);
}

// In a stream of its own, and nobody waits but the first kernels: the null stream would wait for the caller's work, and
// spoil a capture.
onnxc_status DeviceModule::upload_weights(ErrorText& error) {
  const auto bytes = static_cast<size_t>(program_->weights_size);
  hipError_t result = hip_->malloc(&weights_, bytes);
  if (!succeeded(*hip_, result, "hipMalloc for the weights", error)) return status_of(result);
  result = hip_->stream_create(&upload_, hipStreamNonBlocking);
  if (!succeeded(*hip_, result, "hipStreamCreateWithFlags", error)) return status_of(result);
  result = hip_->event_create(&arrival_, hipEventDisableTiming);
  if (!succeeded(*hip_, result, "hipEventCreateWithFlags", error)) return status_of(result);
  result = hip_->memcpy_async(weights_, program_->weights, bytes, hipMemcpyHostToDevice, upload_);
  if (!succeeded(*hip_, result, "hipMemcpyAsync of the weights", error)) return status_of(result);
  result = hip_->event_record(arrival_, upload_);
  return succeeded(*hip_, result, "hipEventRecord", error) ? ONNXC_OK : status_of(result);
}

void DeviceModule::unload() {
  ErrorText unheard;
  CurrentDevice current(*hip_, device_);
  current.enter(unheard);  // also of a device that is lost all is given back
  if (upload_ != nullptr) {
    ignore(hip_->stream_synchronize(upload_));
    ignore(hip_->stream_destroy(upload_));
  }
  if (arrival_ != nullptr) ignore(hip_->event_destroy(arrival_));
  if (weights_ != nullptr) ignore(hip_->free(weights_));
  if (module_ != nullptr) ignore(hip_->module_unload(module_));
}

}  // namespace onnxc::runtime
