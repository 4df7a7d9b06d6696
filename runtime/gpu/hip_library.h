// AMD's HIP runtime, opened when the first instance asks for a GPU: a model.so runs without it, and reports what is
// missing when a GPU is asked for.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include "base/error_text.h"

namespace onnxc::runtime {

// The functions that we call, by HIP's names without their prefix.
struct HipLibrary {
  decltype(&hipInit) init;
  decltype(&hipGetDeviceCount) get_device_count;
  decltype(&hipGetDevice) get_device;
  decltype(&hipSetDevice) set_device;
  decltype(&hipDeviceGetAttribute) get_device_attribute;
  decltype(&hipModuleLoadData) module_load_data;
  decltype(&hipModuleUnload) module_unload;
  decltype(&hipModuleGetFunction) module_get_function;
  decltype(&hipModuleLaunchKernel) module_launch_kernel;
  hipError_t (*malloc)(void** pointer, size_t bytes);
  decltype(&hipFree) free;
  // Memory of the host that a copy beside kernels needs: its pages stay in place.
  hipError_t (*host_malloc)(void** pointer, size_t bytes, unsigned int flags);
  decltype(&hipHostFree) host_free;
  decltype(&hipMemcpyAsync) memcpy_async;
  decltype(&hipMemsetAsync) memset_async;
  decltype(&hipStreamCreateWithFlags) stream_create;
  decltype(&hipStreamSynchronize) stream_synchronize;
  decltype(&hipStreamDestroy) stream_destroy;
  decltype(&hipStreamWaitEvent) stream_wait_event;
  decltype(&hipStreamIsCapturing) stream_is_capturing;
  decltype(&hipEventCreateWithFlags) event_create;
  decltype(&hipEventRecord) event_record;
  decltype(&hipEventSynchronize) event_synchronize;
  decltype(&hipEventDestroy) event_destroy;
  decltype(&hipStreamBeginCapture) stream_begin_capture;
  decltype(&hipStreamEndCapture) stream_end_capture;
  decltype(&hipGraphInstantiateWithFlags) graph_instantiate;
  decltype(&hipGraphLaunch) graph_launch;
  decltype(&hipGraphDestroy) graph_destroy;
  decltype(&hipGraphExecDestroy) graph_exec_destroy;
  decltype(&hipGetLastError) get_last_error;
  decltype(&hipGetErrorString) get_error_string;
  // Writes the properties structure of HIP 6 and later, which our headers do not have; null before HIP 6.
  hipError_t (*get_device_properties)(void* properties, int device);
};

// The library, the same for the whole process; null with the reason if there is none. It is the one that the process
// has already, as with PyTorch, whose streams and pointers belong to it; ONNXC_HIP_LIBRARY in the environment names
// another file.
const HipLibrary* hip_library(ErrorText& error);

// Whether a call succeeded; if not, its name and HIP's error text are appended.
bool succeeded(const HipLibrary& hip, hipError_t result, const char* call, ErrorText& error);

// For calls that free something, or follow a failure: nobody is left to be told.
inline void ignore(hipError_t) {}

// ONNXC_OUT_OF_MEMORY if that is the failure, else ONNXC_UNSUPPORTED_DEVICE.
onnxc_status status_of(hipError_t result);

}  // namespace onnxc::runtime
