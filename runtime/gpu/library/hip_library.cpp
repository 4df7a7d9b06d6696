// Fills the table of GPU functions from AMD's HIP runtime.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/model.h"
#include "gpu/library/amd_family.h"
#include "gpu/library/vendor_libraries.h"

namespace onnxc::runtime {
namespace {

static_assert(hipErrorInvalidValue == gpu_invalid_value && hipErrorOutOfMemory == gpu_out_of_memory);
static_assert(hipStreamNonBlocking == gpu_stream_non_blocking && hipEventDisableTiming == gpu_event_without_time);
static_assert(hipStreamCaptureModeThreadLocal == gpu_capture_of_this_thread);
static_assert(hipStreamCaptureModeRelaxed == gpu_spoils_no_capture);
static_assert(hipStreamCaptureStatusNone == gpu_captures_nothing);
static_assert(hipMemcpyHostToDevice == static_cast<int>(GpuCopy::to_device) &&
              hipMemcpyDeviceToHost == static_cast<int>(GpuCopy::to_host) &&
              hipMemcpyDeviceToDevice == static_cast<int>(GpuCopy::on_device));

// HIP's functions that the table has in another form.
struct HipFunctions {
  decltype(&hipGetDevice) get_device;
  decltype(&hipSetDevice) set_device;
  decltype(&hipDeviceGetAttribute) get_device_attribute;
  decltype(&hipModuleLoadData) module_load_data;
  decltype(&hipModuleLaunchKernel) module_launch_kernel;
  decltype(&hipMemcpyAsync) memcpy_async;
  decltype(&hipMemsetAsync) memset_async;
  decltype(&hipGraphLaunch) graph_launch;
  decltype(&hipGetLastError) get_last_error;
  decltype(&hipGetErrorString) get_error_string;
  // Writes the properties structure of HIP 6 and later, which our headers do not have; null before HIP 6.
  hipError_t (*get_device_properties)(void* properties, int device);
  decltype(&hipThreadExchangeStreamCaptureMode) exchange_capture_mode;  // null in an older HIP
};
constinit HipFunctions hip = {};

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
  void* named = nullptr;
  if (is_named_by("ONNXC_HIP_LIBRARY", named, error)) return named;
  if (void* library = loaded_library()) return library;
  for (const char* name : library_names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  error.append(
      "AMD's HIP runtime is not here (%s, .so.6 and .so were tried): install ROCm's, set ONNXC_HIP_LIBRARY to "
      "its libamdhip64.so",
      library_names[0]);
  return nullptr;
}

// See gpu_spoils_no_capture. A call that fails has changed nothing.
void exchange_capture_mode(int32_t& mode) {
  if (hip.exchange_capture_mode == nullptr) return;
  auto exchanged = static_cast<hipStreamCaptureMode>(mode);
  if (hip.exchange_capture_mode(&exchanged) == hipSuccess) mode = exchanged;
}

GpuResult enter(const GpuDevice& device, CallersDevice& callers, bool& has_changed) {
  has_changed = false;
  hipError_t result = hip.get_device(&callers.index);
  if (result != hipSuccess) return {result, "hipGetDevice"};
  if (callers.index != device.index) result = hip.set_device(device.index);
  if (result != hipSuccess) return {result, "hipSetDevice"};
  callers.has_another_device = callers.index != device.index;
  callers.capture_mode = gpu_spoils_no_capture;
  exchange_capture_mode(callers.capture_mode);
  has_changed = true;
  return {};
}

GpuResult leave(const CallersDevice& callers) {
  int32_t mode = callers.capture_mode;
  exchange_capture_mode(mode);
  return {callers.has_another_device ? hip.set_device(callers.index) : hipSuccess, "hipSetDevice"};
}

// The architecture's name ("gfx942:sramecc+:xnack-") in the properties that HIP wrote. Its place differs between
// versions of HIP, and nothing else in there is text that begins so: the device's own name comes first and is skipped.
const char* architecture_name(const char* properties, size_t size) {
  for (size_t i = 256; i + 8 < size; i += 4)
    if (memcmp(properties + i, "gfx", 3) == 0) return properties + i;
  return nullptr;
}

GpuResult describe(const GpuDevice& device, GpuDescription& description) {
  description = {};
  int units = 0;
  if (hip.get_device_attribute(&units, hipDeviceAttributeMultiprocessorCount, device.index) == hipSuccess)
    description.compute_units = units;
  alignas(16) char properties[4096] = {};
  if (hip.get_device_properties == nullptr || hip.get_device_properties(properties, device.index) != hipSuccess)
    return {};
  const char* architecture = architecture_name(properties, sizeof properties);
  if (architecture == nullptr) return {};
  snprintf(description.architecture, sizeof description.architecture, "%.63s", architecture);
  snprintf(description.name, sizeof description.name, "%s", description.architecture);
  return {};
}

GpuResult load_module(GpuModule* module, const void* code, char* log, size_t) {
  *log = '\0';
  return {hip.module_load_data(reinterpret_cast<hipModule_t*>(module), code), "hipModuleLoadData"};
}

GpuResult launch(const GpuLaunch& launch, GpuStream stream) {
  size_t size = launch.arguments_size;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, const_cast<void*>(launch.arguments), HIP_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, HIP_LAUNCH_PARAM_END};
  hipError_t result =
      hip.module_launch_kernel(reinterpret_cast<hipFunction_t>(launch.kernel), launch.blocks, 1, 1, launch.threads, 1,
                               1, launch.shared_bytes, reinterpret_cast<hipStream_t>(stream), nullptr, extra);
  if (result == hipSuccess) result = hip.get_last_error();
  return {result, "hipModuleLaunchKernel"};
}

GpuResult copy(void* to, const void* from, size_t bytes, GpuCopy kind, GpuStream stream) {
  return {hip.memcpy_async(to, from, bytes, static_cast<hipMemcpyKind>(kind), reinterpret_cast<hipStream_t>(stream)),
          "hipMemcpyAsync"};
}

GpuResult fill(void* to, uint8_t value, size_t bytes, GpuStream stream) {
  return {hip.memset_async(to, value, bytes, reinterpret_cast<hipStream_t>(stream)), "hipMemsetAsync"};
}

GpuResult launch_graph(GpuGraphExecutable graph, GpuStream stream) {
  hipError_t result = hip.graph_launch(reinterpret_cast<hipGraphExec_t>(graph), reinterpret_cast<hipStream_t>(stream));
  if (result == hipSuccess) result = hip.get_last_error();
  return {result, "hipGraphLaunch"};
}

void find_calls(FunctionFinder& finder, GpuLibrary& gpu) {
  finder.find("hipInit", gpu.init);
  finder.find("hipGetDeviceCount", gpu.device_count);
  finder.find("hipModuleUnload", gpu.unload_module);
  finder.find("hipModuleGetFunction", gpu.find_kernel);
  finder.find("hipMalloc", gpu.allocate);
  finder.find("hipFree", gpu.free);
  finder.find("hipHostMalloc", gpu.allocate_host);
  finder.find("hipHostFree", gpu.free_host);
  finder.find("hipStreamCreateWithFlags", gpu.create_stream);
  finder.find("hipStreamSynchronize", gpu.wait_for_stream);
  finder.find("hipStreamDestroy", gpu.destroy_stream);
  finder.find("hipStreamWaitEvent", gpu.stream_waits_for);
  finder.find("hipStreamIsCapturing", gpu.stream_is_capturing);
  finder.find("hipEventCreateWithFlags", gpu.create_event);
  finder.find("hipEventRecord", gpu.record);
  finder.find("hipEventSynchronize", gpu.wait_for_event);
  finder.find("hipEventDestroy", gpu.destroy_event);
  finder.find("hipStreamBeginCapture", gpu.begin_capture);
  finder.find("hipStreamEndCapture", gpu.end_capture);
  finder.find("hipGraphInstantiateWithFlags", gpu.instantiate);
  finder.find("hipGraphDestroy", gpu.destroy_graph);
  finder.find("hipGraphExecDestroy", gpu.destroy_executable);
}

void find_own(FunctionFinder& finder) {
  finder.find("hipGetDevice", hip.get_device);
  finder.find("hipSetDevice", hip.set_device);
  finder.find("hipDeviceGetAttribute", hip.get_device_attribute);
  finder.find("hipModuleLoadData", hip.module_load_data);
  finder.find("hipModuleLaunchKernel", hip.module_launch_kernel);
  finder.find("hipMemcpyAsync", hip.memcpy_async);
  finder.find("hipMemsetAsync", hip.memset_async);
  finder.find("hipGraphLaunch", hip.graph_launch);
  finder.find("hipGetLastError", hip.get_last_error);
  finder.find("hipGetErrorString", hip.get_error_string);
  finder.find_if_there("hipThreadExchangeStreamCaptureMode", hip.exchange_capture_mode);
  finder.find_if_there("hipGetDevicePropertiesR0600", hip.get_device_properties);
}

}  // namespace

bool open_hip_library(GpuLibrary& gpu, ErrorText& error) {
  void* library = open_library(error);
  if (library == nullptr) return false;
  gpu.vendor = GpuVendor::amd;
  gpu.name = "HIP";
  gpu.if_no_device = "HIP finds no AMD GPU, or this user may not open /dev/kfd";
  gpu.advise_on_code = [](const GpuDescription& device, ErrorText& error) {
    const auto length = static_cast<int>(strcspn(device.architecture, ":"));
    if (const char* family = family_of(device.architecture))
      error.append("compile it with --gpu-arch %s, or %.*s if onnxc has it", family, length, device.architecture);
    else
      error.append("compile it with --gpu-arch %.*s", length, device.architecture);
  };
  gpu.error_text = [](int32_t code) { return hip.get_error_string(static_cast<hipError_t>(code)); };
  gpu.advice = [](int32_t) { return ""; };
  gpu.is_too_new = [](int32_t) { return false; };
  gpu.forget_error = [] { static_cast<void>(hip.get_last_error()); };
  gpu.open_device = [](GpuDevice&) { return GpuResult{}; };
  gpu.close_device = [](const GpuDevice&) {};
  gpu.describe = describe;
  gpu.enter = enter;
  gpu.leave = leave;
  gpu.load_module = load_module;
  gpu.launch = launch;
  gpu.copy = copy;
  gpu.fill = fill;
  gpu.launch_graph = launch_graph;
  FunctionFinder finder(library, "the HIP runtime", error);
  find_calls(finder, gpu);
  find_own(finder);
  return finder.has_all();
}

}  // namespace onnxc::runtime
