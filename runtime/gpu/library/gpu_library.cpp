#include "gpu/library/gpu_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "gpu/library/vendor_libraries.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {

const GpuLibrary* gpu_library(GpuVendor vendor, ErrorText& error) {
  static constinit ForkLock lock;
  static constinit GpuLibrary libraries[gpu_vendor_count] = {};
  static constinit bool are_open[gpu_vendor_count] = {};
  const auto index = static_cast<int32_t>(vendor);
  lock.lock();
  // Never closed: HIP does not survive it.
  if (!are_open[index])
    are_open[index] = vendor == GpuVendor::amd ? open_hip_library(libraries[index], error)
                                               : open_cuda_library(libraries[index], error);
  lock.unlock();
  return are_open[index] ? &libraries[index] : nullptr;
}

bool is_named_by(const char* variable, void*& library, ErrorText& error) {
  const char* chosen = getenv(variable);
  if (chosen == nullptr || *chosen == '\0') return false;
  library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) error.append("%s: %s", variable, dlerror());
  return true;
}

bool succeeded(const GpuLibrary& gpu, GpuResult result, const char* of, ErrorText& error) {
  if (result.is_ok()) return true;
  error.append("%s%s%s: %s (%s error %d)%s", result.call, *of == '\0' ? "" : " ", of, gpu.error_text(result.code),
               gpu.name, static_cast<int>(result.code), gpu.advice(result.code));
  // The error sticks to the thread until it is asked for: the next call must not see it.
  gpu.forget_error();
  return false;
}

onnxc_status status_of(GpuResult result) {
  return result.is_out_of_memory() ? ONNXC_OUT_OF_MEMORY : ONNXC_UNSUPPORTED_DEVICE;
}

}  // namespace onnxc::runtime
