// libamdhip64's C interface in front of the simulator: the calls that onnxc's runtime makes and those that a small HIP
// host program needs. A refused call says why on stderr, which the real library does not.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "gfx942sim/hip/device_properties.h"
#include "gfx942sim/hip/simulated_device.h"
#include "support/diagnostics.h"

namespace gfx942sim::hip {
namespace {

thread_local hipError_t last_error = hipSuccess;

hipError_t remember(hipError_t result) {
  if (result != hipSuccess) last_error = result;
  return result;
}

// Runs the body of a call under the device's lock, and turns what it throws into HIP's error codes.
template <class Body>
hipError_t call(const char* name, Body body) {
  try {
    SimulatedDevice& device = SimulatedDevice::instance();
    std::lock_guard lock(device.mutex);
    if constexpr (std::is_void_v<decltype(body(device))>) {
      body(device);
      return hipSuccess;
    } else {
      return remember(body(device));
    }
  } catch (const Refusal& refusal) {
    fmt::print(stderr, "gfx942sim: {}: {}\n", name, refusal.what());
    return remember(refusal.code);
  } catch (const std::bad_alloc&) {
    return remember(hipErrorOutOfMemory);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gfx942sim: {}: {}\n", name, error.what());
    return remember(hipErrorUnknown);
  }
}

void require(bool condition, hipError_t code, const char* message) {
  if (!condition) throw Refusal(code, message);
}

double now_in_milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// The kernel-argument segment as the host gives it: packed, or argument by argument.
std::vector<std::byte> gather_arguments(const Kernel& kernel, void** parameters, void** extra) {
  std::vector<std::byte> segment;
  if (extra != nullptr) {
    const void* buffer = nullptr;
    size_t size = 0;
    for (void** entry = extra; *entry != HIP_LAUNCH_PARAM_END; entry += 2) {
      if (entry[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = entry[1];
      else if (entry[0] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<size_t*>(entry[1]);
      else
        throw Refusal(hipErrorInvalidValue, "the launch's extra parameters are not a packed buffer");
    }
    require(buffer != nullptr || size == 0, hipErrorInvalidValue, "the launch's extra parameters lack the buffer");
    const auto* bytes = static_cast<const std::byte*>(buffer);
    segment.assign(bytes, bytes + size);
    return segment;
  }
  size_t next = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    require(parameters != nullptr && parameters[next] != nullptr, hipErrorInvalidValue, "the launch lacks an argument");
    segment.resize(std::max<size_t>(segment.size(), argument.offset + argument.size));
    std::memcpy(segment.data() + argument.offset, parameters[next++], argument.size);
  }
  return segment;
}

int attribute(hipDeviceAttribute_t name) {
  switch (name) {
    case hipDeviceAttributeWarpSize:
      return wave_size;
    case hipDeviceAttributeMultiprocessorCount:
      return compute_units;
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      return 1024;
    case hipDeviceAttributeMaxGridDimX:
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      return 0x7fffffff;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      return 65536;
    case hipDeviceAttributeClockRate:
      return clock_kilohertz;
    case hipDeviceAttributeComputeCapabilityMajor:
      return 9;
    case hipDeviceAttributeComputeCapabilityMinor:
      return 4;
    case hipDeviceAttributeL2CacheSize:
      return 4 << 20;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      return 2048;
    case hipDeviceAttributeMaxRegistersPerBlock:
      return 65536;
    default:
      throw Refusal(hipErrorInvalidValue,
                    fmt::format("attribute {} is not known to the simulator", static_cast<int>(name)));
  }
}

DeviceProperties device_properties() {
  DeviceProperties properties{};
  std::strcpy(properties.name, device_name);
  std::strcpy(properties.architecture, architecture_name);
  properties.total_global_memory = DeviceMemory::total_bytes;
  properties.shared_memory_per_block = properties.shared_memory_per_multiprocessor =
      properties.max_shared_memory_per_multiprocessor = 65536;
  properties.registers_per_block = 65536;
  properties.warp_size = wave_size;
  properties.max_threads_per_block = 1024;
  for (int axis = 0; axis < 3; ++axis) {
    properties.max_threads_dim[axis] = 1024;
    properties.max_grid_size[axis] = 0x7fffffff;
  }
  properties.clock_rate = clock_kilohertz;
  properties.major = 9;
  properties.minor = 4;
  properties.multiprocessor_count = compute_units;
  properties.l2_cache_size = 4 << 20;
  properties.max_threads_per_multiprocessor = 2048;
  properties.can_map_host_memory = properties.concurrent_kernels = 1;
  return properties;
}

template <class Handle>
void create(std::map<Handle*, std::unique_ptr<Handle>>& handles, auto* result) {
  auto object = std::make_unique<Handle>();
  Handle* handle = object.get();
  handles[handle] = std::move(object);
  *result = reinterpret_cast<std::remove_pointer_t<decltype(result)>>(handle);
}

template <class Handle>
Handle& known(std::map<Handle*, std::unique_ptr<Handle>>& handles, const void* handle, const char* what) {
  auto found = handles.find(static_cast<Handle*>(const_cast<void*>(handle)));
  if (found == handles.end()) throw Refusal(hipErrorInvalidResourceHandle, fmt::format("the {} does not exist", what));
  return *found->second;
}

hipError_t enqueue_copy(SimulatedDevice& device, void* destination, const void* source, size_t bytes,
                        hipMemcpyKind kind, hipStream_t stream) {
  return device.enqueue(stream, [=, &device] {
    device.copy(destination, source, bytes, kind);
    return hipSuccess;
  });
}

struct ErrorText {
  hipError_t code;
  const char* name;
  const char* text;
};
constexpr ErrorText error_texts[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidConfiguration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorNoBinaryForGpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorInvalidResourceHandle, "hipErrorInvalidResourceHandle", "invalid resource handle"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported", "operation not permitted while capturing"},
    {hipErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated", "the capture was invalidated"},
    {hipErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched", "the stream does not capture"},
    {hipErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit", "the null stream would depend on a capture"},
    {hipErrorCapturedEvent, "hipErrorCapturedEvent", "operation not permitted on an event of a capture"},
    {hipErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread", "the capture was begun by another thread"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
};

const ErrorText& error_text(hipError_t code) {
  static constexpr ErrorText unknown{hipErrorUnknown, "hipErrorUnknown", "unknown error"};
  for (const ErrorText& row : error_texts)
    if (row.code == code) return row;
  return unknown;
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

// --- the device
// ---------------------------------------------------------------------------------------------------------

hipError_t hipInit(unsigned int flags) {
  return call("hipInit", [&](SimulatedDevice&) { require(flags == 0, hipErrorInvalidValue, "the flags must be 0"); });
}

hipError_t hipDriverGetVersion(int* version) {
  *version = 60000000;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipGetDeviceCount(int* count) {
  *count = 1;
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  return call("hipSetDevice",
              [&](SimulatedDevice&) { require(device == 0, hipErrorInvalidDevice, "there is one device, 0"); });
}

hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  *device = 0;
  return hipSetDevice(ordinal);
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t) {
  return call("hipDeviceGetName", [&](SimulatedDevice&) {
    require(length > 0, hipErrorInvalidValue, "there is no room for the name");
    std::strncpy(name, device_name, static_cast<size_t>(length));
    name[length - 1] = '\0';
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t name, int device) {
  return call("hipDeviceGetAttribute", [&](SimulatedDevice&) {
    require(device == 0, hipErrorInvalidDevice, "there is one device, 0");
    *value = attribute(name);
  });
}

// Not in the headers of HIP 5.
hipError_t hipGetDevicePropertiesR0600(void* properties, int device) {
  return call("hipGetDeviceProperties", [&](SimulatedDevice&) {
    require(device == 0, hipErrorInvalidDevice, "there is one device, 0");
    const DeviceProperties values = device_properties();
    std::memcpy(properties, &values, sizeof values);
  });
}

hipError_t hipDeviceSynchronize() {
  return call("hipDeviceSynchronize", [&](SimulatedDevice& device) { device.refuse_while_capturing(); });
}

hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call("hipMemGetInfo", [&](SimulatedDevice& device) {
    *free_bytes = device.free_bytes();
    *total_bytes = DeviceMemory::total_bytes;
  });
}

// --- memory
// -------------------------------------------------------------------------------------------------------------

hipError_t hipMalloc(void** pointer, size_t bytes) {
  return call("hipMalloc", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    *pointer = device.allocate(bytes);
  });
}

hipError_t hipFree(void* pointer) {
  return call("hipFree", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    device.release(pointer);
  });
}

hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t) { return hipMalloc(pointer, bytes); }

hipError_t hipFreeAsync(void* pointer, hipStream_t) { return hipFree(pointer); }

hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned int) {
  return call("hipHostMalloc", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    *pointer = device.allocate_host(bytes);
  });
}

hipError_t hipHostFree(void* pointer) {
  return call("hipHostFree", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    device.release_host(pointer);
  });
}

hipError_t hipMemcpyAsync(void* destination, const void* source, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return call("hipMemcpyAsync",
              [&](SimulatedDevice& device) { return enqueue_copy(device, destination, source, bytes, kind, stream); });
}

hipError_t hipMemcpy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind) {
  return call("hipMemcpy", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    return enqueue_copy(device, destination, source, bytes, kind, nullptr);
  });
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t destination, void* source, size_t bytes) {
  return hipMemcpy(destination, source, bytes, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyDtoH(void* destination, hipDeviceptr_t source, size_t bytes) {
  return hipMemcpy(destination, source, bytes, hipMemcpyDeviceToHost);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t destination, hipDeviceptr_t source, size_t bytes) {
  return hipMemcpy(destination, source, bytes, hipMemcpyDeviceToDevice);
}

hipError_t hipMemsetAsync(void* destination, int value, size_t bytes, hipStream_t stream) {
  return call("hipMemsetAsync", [&](SimulatedDevice& device) {
    return device.enqueue(stream, [=, &device] {
      device.fill(destination, value, bytes);
      return hipSuccess;
    });
  });
}

hipError_t hipMemset(void* destination, int value, size_t bytes) {
  return call("hipMemset", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    device.fill(destination, value, bytes);
  });
}

// --- modules and kernels
// ------------------------------------------------------------------------------------------------

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return call("hipModuleLoadData", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    *module = reinterpret_cast<hipModule_t>(device.load(image));
  });
}

hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int, hipJitOption*, void**) {
  return hipModuleLoadData(module, image);
}

hipError_t hipModuleLoad(hipModule_t* module, const char* file) {
  return call("hipModuleLoad", [&](SimulatedDevice& device) {
    const std::string bytes = file_content(file);
    *module = reinterpret_cast<hipModule_t>(device.load(bytes.data()));
  });
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call("hipModuleUnload", [&](SimulatedDevice& device) {
    device.refuse_while_capturing();
    device.unload(reinterpret_cast<Module*>(module));
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return call("hipModuleGetFunction", [&](SimulatedDevice& device) {
    *function = reinterpret_cast<hipFunction_t>(device.function(reinterpret_cast<Module*>(module), name));
  });
}

hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }

hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                 unsigned int dynamic_lds, hipStream_t stream, void** parameters, void** extra) {
  return call("hipModuleLaunchKernel", [&](SimulatedDevice& device) {
    require(handle != nullptr, hipErrorInvalidResourceHandle, "the function is null");
    const Function function = *reinterpret_cast<Function*>(handle);
    const Launch launch{function.kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds};
    // Arguments are read when the launch is enqueued, as HIP does.
    return device.enqueue(stream, [=, &device, arguments = gather_arguments(*function.kernel, parameters, extra)] {
      return device.launch(function, launch, arguments);
    });
  });
}

// --- streams and events
// -------------------------------------------------------------------------------------------------

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return call("hipStreamCreate", [&](SimulatedDevice& device) {
    create(device.streams, stream);
    device.stream_of(*stream)->waits_for_null_stream = (flags & hipStreamNonBlocking) == 0;
  });
}

hipError_t hipStreamCreate(hipStream_t* stream) { return hipStreamCreateWithFlags(stream, hipStreamDefault); }

hipError_t hipStreamDestroy(hipStream_t stream) {
  return call("hipStreamDestroy", [&](SimulatedDevice& device) {
    Stream& found = known(device.streams, stream, "stream");
    device.refuse_while_capturing(&found);
    device.streams.erase(&found);
  });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return call("hipStreamSynchronize",
              [&](SimulatedDevice& device) { device.refuse_while_capturing(device.stream_of(stream)); });
}

hipError_t hipStreamQuery(hipStream_t stream) { return hipStreamSynchronize(stream); }

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int) {
  return call("hipStreamWaitEvent", [&](SimulatedDevice& device) {
    const Stream* captured_in = known(device.events, event, "event").captured_in;
    require(captured_in == nullptr || captured_in == device.stream_of(stream), hipErrorNotSupported,
            "the simulator captures one stream alone, and this would join another to it");
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  return call("hipEventCreate", [&](SimulatedDevice& device) { create(device.events, event); });
}

hipError_t hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, hipEventDefault); }

hipError_t hipEventDestroy(hipEvent_t event) {
  return call("hipEventDestroy",
              [&](SimulatedDevice& device) { device.events.erase(&known(device.events, event, "event")); });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call("hipEventRecord", [&](SimulatedDevice& device) {
    const Stream* recorded_in = device.stream_of(stream);
    known(device.events, event, "event").captured_in =
        recorded_in != nullptr && recorded_in->capture ? recorded_in : nullptr;
    return device.enqueue(stream, [=, &device] {
      Event& found = known(device.events, event, "event");
      found.recorded = true;
      found.milliseconds = now_in_milliseconds();
      return hipSuccess;
    });
  });
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  return call("hipEventSynchronize", [&](SimulatedDevice& device) {
    require(known(device.events, event, "event").captured_in == nullptr, hipErrorCapturedEvent,
            "the event was recorded by a capture");
  });
}

hipError_t hipEventQuery(hipEvent_t event) { return hipEventSynchronize(event); }

// The time that the simulator took, not the modelled one.
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call("hipEventElapsedTime", [&](SimulatedDevice& device) {
    const Event &first = known(device.events, start, "event"), &second = known(device.events, stop, "event");
    require(first.recorded && second.recorded, hipErrorInvalidResourceHandle, "an event was never recorded");
    *milliseconds = static_cast<float>(second.milliseconds - first.milliseconds);
  });
}

// --- graphs
// -------------------------------------------------------------------------------------------------------------

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call("hipStreamBeginCapture", [&](SimulatedDevice& device) {
    Stream* found = device.stream_of(stream);
    require(found != nullptr, hipErrorStreamCaptureUnsupported, "the null stream cannot capture");
    require(!found->capture, hipErrorIllegalState, "the stream captures already");
    found->capture = std::make_unique<Capture>();
    found->capture->mode = mode;
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  *graph = nullptr;
  return call("hipStreamEndCapture",
              [&](SimulatedDevice& device) { *graph = reinterpret_cast<hipGraph_t>(device.end_capture(stream)); });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return call("hipStreamIsCapturing", [&](SimulatedDevice& device) {
    const Stream* found = device.stream_of(stream);
    *status = found == nullptr || !found->capture ? hipStreamCaptureStatusNone
              : found->capture->is_invalid        ? hipStreamCaptureStatusInvalidated
                                                  : hipStreamCaptureStatusActive;
  });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long) {
  return call("hipGraphInstantiate", [&](SimulatedDevice& device) {
    const Graph& source = known(device.graphs, graph, "graph");
    create(device.executable_graphs, executable);
    known(device.executable_graphs, *executable, "executable graph").work = source.work;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return call("hipGraphLaunch", [&](SimulatedDevice& device) {
    // A stream that captures takes them into its own graph.
    for (const Work& work : known(device.executable_graphs, executable, "executable graph").work)
      if (const hipError_t result = device.enqueue(stream, work); result != hipSuccess) return result;
    return hipSuccess;
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call("hipGraphDestroy",
              [&](SimulatedDevice& device) { device.graphs.erase(&known(device.graphs, graph, "graph")); });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return call("hipGraphExecDestroy", [&](SimulatedDevice& device) {
    device.executable_graphs.erase(&known(device.executable_graphs, executable, "executable graph"));
  });
}

// --- errors
// -------------------------------------------------------------------------------------------------------------

hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }

hipError_t hipPeekAtLastError() { return last_error; }

const char* hipGetErrorString(hipError_t code) { return error_text(code).text; }

const char* hipGetErrorName(hipError_t code) { return error_text(code).name; }

// --- of the simulator alone

// What onnxc-run --profile asks for: see SimulatedDevice::take_launches.
const char* gfx942sim_take_launches() {
  SimulatedDevice& device = SimulatedDevice::instance();
  std::lock_guard lock(device.mutex);
  return device.take_launches();
}

}  // extern "C"
