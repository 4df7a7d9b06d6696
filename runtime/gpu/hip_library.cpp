#include "gpu/hip_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/model.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {
namespace {

constexpr const char* library_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"};

struct LoadedFile {
  char path[4096];
};

// Notes the path of a HIP runtime, under whatever name a package put it: libamdhip64.so, libamdhip64-1a2b3c.so.6.
int note_hip_runtime(dl_phdr_info* library, size_t, void* context) {
  constexpr char stem[] = "libamdhip64";
  const char* slash = strrchr(library->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : library->dlpi_name;
  auto& found = *static_cast<LoadedFile*>(context);
  const size_t size = strlen(library->dlpi_name) + 1;
  if (strncmp(name, stem, sizeof stem - 1) != 0 || size > sizeof found.path) return 0;
  memcpy(found.path, library->dlpi_name, size);
  return 1;
}

void* loaded_library() {
  LoadedFile found;
  return dl_iterate_phdr(note_hip_runtime, &found) != 0 ? dlopen(found.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)
                                                        : nullptr;
}

void* open_library(ErrorText& error) {
  const char* chosen = getenv("ONNXC_HIP_LIBRARY");
  if (chosen != nullptr && *chosen != '\0') {
    if (void* library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL)) return library;
    error.append("ONNXC_HIP_LIBRARY: %s", dlerror());
    return nullptr;
  }
  if (void* library = loaded_library()) return library;
  for (const char* name : library_names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  error.append(
      "AMD's HIP runtime is not here (%s, .so.6 and .so were tried): install ROCm's, set ONNXC_HIP_LIBRARY to "
      "its libamdhip64.so; %s",
      library_names[0], on_the_cpu());
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function, ErrorText& error) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) error.append("the HIP runtime lacks %s: it is too old, or not HIP's", name);
  return function != nullptr;
}

bool find_all(void* library, HipLibrary& hip, ErrorText& error) {
  ErrorText ignored;
  find(library, "hipGetDevicePropertiesR0600", hip.get_device_properties, ignored);
  return find(library, "hipInit", hip.init, error) && find(library, "hipGetDeviceCount", hip.get_device_count, error) &&
         find(library, "hipGetDevice", hip.get_device, error) && find(library, "hipSetDevice", hip.set_device, error) &&
         find(library, "hipDeviceGetAttribute", hip.get_device_attribute, error) &&
         find(library, "hipModuleLoadData", hip.module_load_data, error) &&
         find(library, "hipModuleUnload", hip.module_unload, error) &&
         find(library, "hipModuleGetFunction", hip.module_get_function, error) &&
         find(library, "hipModuleLaunchKernel", hip.module_launch_kernel, error) &&
         find(library, "hipMalloc", hip.malloc, error) && find(library, "hipFree", hip.free, error) &&
         find(library, "hipHostMalloc", hip.host_malloc, error) && find(library, "hipHostFree", hip.host_free, error) &&
         find(library, "hipMemcpyAsync", hip.memcpy_async, error) &&
         find(library, "hipMemsetAsync", hip.memset_async, error) &&
         find(library, "hipStreamCreateWithFlags", hip.stream_create, error) &&
         find(library, "hipStreamSynchronize", hip.stream_synchronize, error) &&
         find(library, "hipStreamDestroy", hip.stream_destroy, error) &&
         find(library, "hipStreamWaitEvent", hip.stream_wait_event, error) &&
         find(library, "hipStreamIsCapturing", hip.stream_is_capturing, error) &&
         find(library, "hipEventCreateWithFlags", hip.event_create, error) &&
         find(library, "hipEventRecord", hip.event_record, error) &&
         find(library, "hipEventSynchronize", hip.event_synchronize, error) &&
         find(library, "hipEventDestroy", hip.event_destroy, error) &&
         find(library, "hipStreamBeginCapture", hip.stream_begin_capture, error) &&
         find(library, "hipStreamEndCapture", hip.stream_end_capture, error) &&
         find(library, "hipGraphInstantiateWithFlags", hip.graph_instantiate, error) &&
         find(library, "hipGraphLaunch", hip.graph_launch, error) &&
         find(library, "hipGraphDestroy", hip.graph_destroy, error) &&
         find(library, "hipGraphExecDestroy", hip.graph_exec_destroy, error) &&
         find(library, "hipGetLastError", hip.get_last_error, error) &&
         find(library, "hipGetErrorString", hip.get_error_string, error);
}

}  // namespace

const HipLibrary* hip_library(ErrorText& error) {
  static constinit ForkLock lock;
  static constinit HipLibrary library = {};
  static constinit bool is_open = false;
  lock.lock();
  if (!is_open) {
    // Never closed: HIP does not survive it.
    void* handle = open_library(error);
    is_open = handle != nullptr && find_all(handle, library, error);
  }
  lock.unlock();
  return is_open ? &library : nullptr;
}

bool succeeded(const HipLibrary& hip, hipError_t result, const char* call, ErrorText& error) {
  if (result == hipSuccess) return true;
  error.append("%s: %s (HIP error %d)", call, hip.get_error_string(result), static_cast<int>(result));
  // The error sticks to the thread until it is asked for: the next call must not see it.
  ignore(hip.get_last_error());
  return false;
}

onnxc_status status_of(hipError_t result) {
  return result == hipErrorOutOfMemory ? ONNXC_OUT_OF_MEMORY : ONNXC_UNSUPPORTED_DEVICE;
}

}  // namespace onnxc::runtime
