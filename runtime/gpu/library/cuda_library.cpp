// Fills the table of GPU functions from NVIDIA's driver. Its functions and numbers are declared here: neither a header
// nor a library of the CUDA toolkit is needed, to build or to run.
#include <stdio.h>
#include <string.h>

#include "gpu/library/vendor_libraries.h"

namespace onnxc::runtime {
namespace {

using Address = uint64_t;  // of the device
using Context = void*;

// The driver's functions that the table has in another form.
struct CudaFunctions {
  int32_t (*device_get)(int32_t* device, int32_t index);
  int32_t (*device_get_name)(char* name, int32_t size, int32_t device);
  int32_t (*device_get_attribute)(int32_t* value, int32_t attribute, int32_t device);
  int32_t (*primary_context_retain)(Context* context, int32_t device);
  int32_t (*primary_context_release)(int32_t device);
  int32_t (*get_current_context)(Context* context);
  int32_t (*set_current_context)(Context context);
  int32_t (*exchange_capture_mode)(int32_t* mode);
  int32_t (*stream_get_context)(GpuStream stream, Context* context);
  int32_t (*pointer_get_attribute)(void* value, int32_t attribute, Address pointer);
  int32_t (*module_load_data)(GpuModule* module, const void* image, uint32_t count, const int32_t* options,
                              void** values);
  int32_t (*launch_kernel)(GpuKernel kernel, uint32_t blocks_x, uint32_t blocks_y, uint32_t blocks_z,
                           uint32_t threads_x, uint32_t threads_y, uint32_t threads_z, uint32_t shared_bytes,
                           GpuStream stream, void** parameters, void** extra);
  int32_t (*function_set_attribute)(GpuKernel kernel, int32_t attribute, int32_t value);
  int32_t (*copy_to_device)(Address to, const void* from, size_t bytes, GpuStream stream);
  int32_t (*copy_to_host)(void* to, Address from, size_t bytes, GpuStream stream);
  int32_t (*copy_anywhere)(Address to, Address from, size_t bytes, GpuStream stream);
  int32_t (*fill)(Address to, uint8_t value, size_t bytes, GpuStream stream);
  int32_t (*graph_launch)(GpuGraphExecutable graph, GpuStream stream);
  int32_t (*get_error_string)(int32_t code, const char** text);
};
constinit CudaFunctions cuda = {};

constexpr int32_t multiprocessors = 16, capability_major = 75, capability_minor = 76;  // CUdevice_attribute
constexpr int32_t pointer_memory_type = 2, pointer_device = 9;                         // CUpointer_attribute
constexpr uint32_t memory_of_host = 1;                                                 // CUmemorytype
constexpr int32_t most_dynamic_shared_bytes = 8;                                       // CUfunction_attribute
constexpr uint32_t shared_bytes_without_asking = 48 * 1024;
constexpr int32_t jit_error_log = 5, jit_error_log_size = 6;   // CUjit_option
constexpr intptr_t launch_buffer = 1, launch_buffer_size = 2;  // CU_LAUNCH_PARAM_*; 0 ends the list

enum Errors : int32_t {
  invalid_image = 200,
  no_code_for_device = 209,
  invalid_code = 218,
  no_jit_compiler = 221,
  newer_code = 222,
  illegal_address = 700,
  stack_error = 714,  // and others of a kernel that failed, up to:
  launch_failed = 719,
  system_not_ready = 802,
  driver_mismatch = 803
};

const char* error_text(int32_t code) {
  const char* text = nullptr;
  return cuda.get_error_string(code, &text) == 0 && text != nullptr ? text : "unknown error";
}

// After these every call of the process fails.
bool ends_context(int32_t code) { return code == illegal_address || (code >= stack_error && code <= launch_failed); }

const char* advice(int32_t code) {
  if (ends_context(code)) return "; this process cannot use the GPU any more: start it again";
  switch (code) {
    case newer_code:
      return "; the model's code is newer than the driver: update NVIDIA's driver";
    case invalid_code:
      return "; the driver's compiler refuses the model's code: update NVIDIA's driver";
    case system_not_ready:
      return "; a machine with NVSwitch needs NVIDIA's Fabric Manager to run";
    case invalid_image:
      return "; the model's cubin is newer than the driver: update NVIDIA's driver, or compile with --gpu-code ptx";
    case no_code_for_device:
      return "; compile the model with --gpu-arch for this card";
    case no_jit_compiler:
      return "; the driver's compiler is not here: install libnvidia-ptxjitcompiler.so.1, of the driver's own version";
    case driver_mismatch:
      return "; the driver's library and its kernel module are of two versions: restart the machine";
    default:
      return "";
  }
}

void* open_library(ErrorText& error) {
  void* named = nullptr;
  if (is_named_by("ONNXC_CUDA_LIBRARY", named, error)) return named;
  // The process's own, if it has it already.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    error.append("NVIDIA's driver is not here (%s): install it, or set ONNXC_CUDA_LIBRARY to its libcuda.so.1",
                 dlerror());
  return library;
}

GpuResult open_device(GpuDevice& device) {
  int32_t handle = 0;
  int32_t result = cuda.device_get(&handle, device.index);
  if (result != 0) return {result, "cuDeviceGet"};
  result = cuda.primary_context_retain(&device.context, handle);
  return {result, "cuDevicePrimaryCtxRetain"};
}

void close_device(const GpuDevice& device) {
  int32_t handle = 0;
  if (cuda.device_get(&handle, device.index) == 0) cuda.primary_context_release(handle);
}

GpuResult describe(const GpuDevice& device, GpuDescription& description) {
  description = {};
  int32_t handle = 0, major = 0, minor = 0;
  if (const int32_t result = cuda.device_get(&handle, device.index)) return {result, "cuDeviceGet"};
  const struct {
    int32_t& value;
    int32_t attribute;
  } attributes[] = {{description.compute_units, multiprocessors}, {major, capability_major}, {minor, capability_minor}};
  for (const auto& [value, attribute] : attributes)
    if (const int32_t result = cuda.device_get_attribute(&value, attribute, handle))
      return {result, "cuDeviceGetAttribute"};
  char name[64] = "";
  if (const int32_t result = cuda.device_get_name(name, sizeof name, handle)) return {result, "cuDeviceGetName"};
  description.capability = 10 * major + minor;
  snprintf(description.architecture, sizeof description.architecture, "sm_%d", description.capability);
  snprintf(description.name, sizeof description.name, "%.63s (%s)", name, description.architecture);
  return {};
}

GpuResult enter(const GpuDevice& device, CallersDevice& callers, bool& has_changed) {
  has_changed = false;
  int32_t result = cuda.get_current_context(&callers.context);
  if (result != 0) return {result, "cuCtxGetCurrent"};
  callers.capture_mode = gpu_spoils_no_capture;
  result = cuda.exchange_capture_mode(&callers.capture_mode);
  if (result != 0) return {result, "cuThreadExchangeStreamCaptureMode"};
  if (callers.context != device.context) result = cuda.set_current_context(device.context);
  has_changed = result == 0;
  if (result != 0) cuda.exchange_capture_mode(&callers.capture_mode);
  return {result, "cuCtxSetCurrent"};
}

GpuResult leave(const CallersDevice& callers) {
  int32_t mode = callers.capture_mode;
  const int32_t result = cuda.exchange_capture_mode(&mode);
  if (result != 0) return {result, "cuThreadExchangeStreamCaptureMode"};
  return {cuda.set_current_context(callers.context), "cuCtxSetCurrent"};
}

// If the driver does not tell, the next call says more.
bool is_foreign(const GpuDevice& device, GpuStream stream) {
  Context context = nullptr;
  return cuda.stream_get_context(stream, &context) == 0 && context != device.context;
}

// The driver calls a pointer that it does not know an invalid value. After another error nothing is known.
GpuPlace locate(const void* pointer) {
  const auto address = reinterpret_cast<Address>(pointer);
  uint32_t memory_type = 0;
  int32_t device = 0;
  int32_t result = cuda.pointer_get_attribute(&memory_type, pointer_memory_type, address);
  if (result == gpu_invalid_value) return {GpuPlace::Kind::pageable, 0};
  if (result == 0) result = cuda.pointer_get_attribute(&device, pointer_device, address);
  if (result != 0 || memory_type == memory_of_host) return {};
  return {GpuPlace::Kind::device, device};
}

// Without the ends of its lines: the error that it becomes part of is one line.
void make_one_line(char* log) {
  size_t length = strlen(log);
  while (length > 0 && (log[length - 1] == '\n' || log[length - 1] == ' ')) log[--length] = '\0';
  for (; *log != '\0'; ++log)
    if (*log == '\n') *log = ' ';
}

// The driver compiles PTX here, for up to seconds the first time; then it finds it in its cache (~/.nv/ComputeCache).
// It compiles all kernels of a module at once, also with CUDA_MODULE_LOADING=LAZY: loading fewer at a time would take
// several modules for a program.
GpuResult load_module(GpuModule* module, const void* code, char* log, size_t log_size) {
  *log = '\0';
  const int32_t options[] = {jit_error_log, jit_error_log_size};
  void* values[] = {log, reinterpret_cast<void*>(log_size)};
  const int32_t result = cuda.module_load_data(module, code, 2, options, values);
  log[log_size - 1] = '\0';
  make_one_line(log);
  return {result, "cuModuleLoadDataEx"};
}

GpuResult allow_shared_bytes(GpuKernel kernel, uint32_t bytes) {
  if (bytes <= shared_bytes_without_asking) return {};
  return {cuda.function_set_attribute(kernel, most_dynamic_shared_bytes, static_cast<int32_t>(bytes)),
          "cuFuncSetAttribute"};
}

GpuResult launch(const GpuLaunch& launch, GpuStream stream) {
  size_t size = launch.arguments_size;
  void* extra[] = {reinterpret_cast<void*>(launch_buffer), const_cast<void*>(launch.arguments),
                   reinterpret_cast<void*>(launch_buffer_size), &size, nullptr};
  return {cuda.launch_kernel(launch.kernel, launch.blocks, 1, 1, launch.threads, 1, 1, launch.shared_bytes, stream,
                             nullptr, extra),
          "cuLaunchKernel"};
}

GpuResult copy(void* to, const void* from, size_t bytes, GpuCopy kind, GpuStream stream) {
  const auto target = reinterpret_cast<Address>(to), source = reinterpret_cast<Address>(from);
  switch (kind) {
    case GpuCopy::to_device:
      return {cuda.copy_to_device(target, from, bytes, stream), "cuMemcpyHtoDAsync"};
    case GpuCopy::to_host:
      return {cuda.copy_to_host(to, source, bytes, stream), "cuMemcpyDtoHAsync"};
    default:
      return {cuda.copy_anywhere(target, source, bytes, stream), "cuMemcpyAsync"};
  }
}

GpuResult fill(void* to, uint8_t value, size_t bytes, GpuStream stream) {
  return {cuda.fill(reinterpret_cast<Address>(to), value, bytes, stream), "cuMemsetD8Async"};
}

GpuResult launch_graph(GpuGraphExecutable graph, GpuStream stream) {
  return {cuda.graph_launch(graph, stream), "cuGraphLaunch"};
}

// Cubins of the model may be for another generation; PTX is for all.
void advise_on_code(const GpuDescription& device, ErrorText& error) {
  if (device.capability < 80)
    error.append("it is too old: code of onnxc runs on GPUs of compute capability 8.0 and newer");
  else
    error.append(
        "compile it with --gpu-arch sm_80 --gpu-code ptx, which runs on every GPU of compute capability 8.0 and "
        "newer");
}

void find_calls(FunctionFinder& finder, GpuLibrary& gpu) {
  finder.find("cuInit", gpu.init);
  finder.find("cuDeviceGetCount", gpu.device_count);
  finder.find("cuModuleUnload", gpu.unload_module);
  finder.find("cuModuleGetFunction", gpu.find_kernel);
  finder.find("cuMemAlloc_v2", gpu.allocate);
  finder.find("cuMemFree_v2", gpu.free);
  finder.find("cuMemHostAlloc", gpu.allocate_host);
  finder.find("cuMemFreeHost", gpu.free_host);
  finder.find("cuStreamCreate", gpu.create_stream);
  finder.find("cuStreamSynchronize", gpu.wait_for_stream);
  finder.find("cuStreamDestroy_v2", gpu.destroy_stream);
  finder.find("cuStreamWaitEvent", gpu.stream_waits_for);
  finder.find("cuStreamIsCapturing", gpu.stream_is_capturing);
  finder.find("cuEventCreate", gpu.create_event);
  finder.find("cuEventRecord", gpu.record);
  finder.find("cuEventSynchronize", gpu.wait_for_event);
  finder.find("cuEventDestroy_v2", gpu.destroy_event);
  finder.find("cuStreamBeginCapture_v2", gpu.begin_capture);
  finder.find("cuStreamEndCapture", gpu.end_capture);
  finder.find("cuGraphInstantiateWithFlags", gpu.instantiate);
  finder.find("cuGraphDestroy", gpu.destroy_graph);
  finder.find("cuGraphExecDestroy", gpu.destroy_executable);
}

void find_own(FunctionFinder& finder) {
  finder.find("cuDeviceGet", cuda.device_get);
  finder.find("cuDeviceGetName", cuda.device_get_name);
  finder.find("cuDeviceGetAttribute", cuda.device_get_attribute);
  finder.find("cuDevicePrimaryCtxRetain", cuda.primary_context_retain);
  finder.find("cuDevicePrimaryCtxRelease_v2", cuda.primary_context_release);
  finder.find("cuCtxGetCurrent", cuda.get_current_context);
  finder.find("cuCtxSetCurrent", cuda.set_current_context);
  finder.find("cuThreadExchangeStreamCaptureMode", cuda.exchange_capture_mode);
  finder.find("cuStreamGetCtx", cuda.stream_get_context);
  finder.find("cuPointerGetAttribute", cuda.pointer_get_attribute);
  finder.find("cuModuleLoadDataEx", cuda.module_load_data);
  finder.find("cuLaunchKernel", cuda.launch_kernel);
  finder.find("cuFuncSetAttribute", cuda.function_set_attribute);
  finder.find("cuMemcpyHtoDAsync_v2", cuda.copy_to_device);
  finder.find("cuMemcpyDtoHAsync_v2", cuda.copy_to_host);
  finder.find("cuMemcpyAsync", cuda.copy_anywhere);
  finder.find("cuMemsetD8Async", cuda.fill);
  finder.find("cuGraphLaunch", cuda.graph_launch);
  finder.find("cuGetErrorString", cuda.get_error_string);
}

}  // namespace

bool open_cuda_library(GpuLibrary& gpu, ErrorText& error) {
  void* library = open_library(error);
  if (library == nullptr) return false;
  gpu.vendor = GpuVendor::nvidia;
  gpu.name = "CUDA";
  gpu.if_no_device =
      "the driver finds no NVIDIA GPU, CUDA_VISIBLE_DEVICES hides it, or this container was started without GPUs";
  gpu.advise_on_code = advise_on_code;
  gpu.error_text = error_text;
  gpu.advice = advice;
  gpu.is_too_new = [](int32_t code) { return code == newer_code; };
  gpu.forget_error = [] {};
  gpu.open_device = open_device;
  gpu.close_device = close_device;
  gpu.describe = describe;
  gpu.enter = enter;
  gpu.leave = leave;
  gpu.is_foreign = is_foreign;
  gpu.locate = locate;
  gpu.load_module = load_module;
  gpu.allow_shared_bytes = allow_shared_bytes;
  gpu.launch = launch;
  gpu.copy = copy;
  gpu.fill = fill;
  gpu.launch_graph = launch_graph;
  FunctionFinder finder(library, "NVIDIA's driver", error);
  find_calls(finder, gpu);
  find_own(finder);
  return finder.has_all();
}

}  // namespace onnxc::runtime
