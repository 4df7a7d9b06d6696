// HIP's calls about the device: its properties, and the facts that only the simulator tells.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gfx942sim/hip/api_call.h"
#include "gfx942sim/hip/device_properties.h"
#include "gfx942sim/partition.h"

namespace gfx942sim::hip {
namespace {

int clock_kilohertz(const onnxc::machine::GpuMachine& gpu) { return static_cast<int>(gpu.clock_megahertz * 1000); }

int attribute(hipDeviceAttribute_t name) {
  const onnxc::machine::GpuMachine gpu = partition_from_environment().gpu;
  switch (name) {
    case hipDeviceAttributeWarpSize:
      return wave_size;
    case hipDeviceAttributeMultiprocessorCount:
      return gpu.compute_units;
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
      return static_cast<int>(gpu.lds_bytes);
    case hipDeviceAttributeClockRate:
      return clock_kilohertz(gpu);
    case hipDeviceAttributeComputeCapabilityMajor:
      return 9;
    case hipDeviceAttributeComputeCapabilityMinor:
      return 4;
    case hipDeviceAttributeL2CacheSize:
      return static_cast<int>(gpu.l2_bytes);
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
  const Partition partition = partition_from_environment();
  const onnxc::machine::GpuMachine& gpu = partition.gpu;
  DeviceProperties properties{};
  std::strcpy(properties.name, device_name);
  // Another GPU's name, for a test that puts its code in the place of every module's.
  const char* const other = std::getenv("GFX942SIM_ARCHITECTURE");
  std::snprintf(properties.architecture, sizeof properties.architecture, "%s",
                other != nullptr ? other : architecture_name);
  properties.total_global_memory = partition.memory_bytes();
  properties.shared_memory_per_block = properties.shared_memory_per_multiprocessor =
      properties.max_shared_memory_per_multiprocessor = gpu.lds_bytes;
  properties.registers_per_block = 65536;
  properties.warp_size = wave_size;
  properties.max_threads_per_block = 1024;
  for (int axis = 0; axis < 3; ++axis) {
    properties.max_threads_dim[axis] = 1024;
    properties.max_grid_size[axis] = 0x7fffffff;
  }
  properties.clock_rate = clock_kilohertz(gpu);
  properties.major = 9;
  properties.minor = 4;
  properties.multiprocessor_count = gpu.compute_units;
  properties.l2_cache_size = 4 << 20;
  properties.max_threads_per_multiprocessor = 2048;
  properties.can_map_host_memory = properties.concurrent_kernels = 1;
  return properties;
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

hipError_t hipInit(unsigned int flags) {
  return call("hipInit", [&](SimulatedDevice&) { require(flags == 0, hipErrorInvalidValue, "the flags must be 0"); });
}

hipError_t hipDriverGetVersion(int* version) {
  *version = 60000000;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }

hipError_t hipGetDeviceCount(int* count) {
  return call("hipGetDeviceCount", [&](SimulatedDevice&) { *count = device_count(); });
}

hipError_t hipSetDevice(int device) {
  return call("hipSetDevice", [&](SimulatedDevice&) {
    require_device(device);
    current_device = device;
  });
}

hipError_t hipGetDevice(int* device) {
  *device = current_device;
  return hipSuccess;
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  *device = ordinal;
  return call("hipDeviceGet", [&](SimulatedDevice&) { require_device(ordinal); });
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
    require_device(device);
    *value = attribute(name);
  });
}

// Not in the headers of HIP 5.
hipError_t hipGetDevicePropertiesR0600(void* properties, int device) {
  return call("hipGetDeviceProperties", [&](SimulatedDevice&) {
    require_device(device);
    const DeviceProperties values = device_properties();
    std::memcpy(properties, &values, sizeof values);
  });
}

hipError_t hipDeviceSynchronize() {
  return call("hipDeviceSynchronize", [&](SimulatedDevice& device) {
    device.streams.refuse_while_anything_captures(hipErrorStreamCaptureUnsupported);
    return device.finish_device();
  });
}

hipError_t hipDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return call("hipDeviceCanAccessPeer", [&](SimulatedDevice&) {
    require_device(device);
    require_device(peer);
    *can_access = device != peer;
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int) {
  return call("hipDeviceEnablePeerAccess", [&](SimulatedDevice& device) {
    require_device(peer);
    require(peer != current_device, hipErrorInvalidDevice, "a device is not a peer of itself");
    device.allow_peer_access(current_device, peer);
  });
}

hipError_t hipMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return call("hipMemGetInfo", [&](SimulatedDevice& device) {
    *free_bytes = device.free_bytes(current_device);
    *total_bytes = partition_from_environment().memory_bytes();
  });
}

// For onnxc-run --profile: see SimulatedDevice::take_launches.
const char* gfx942sim_take_launches() {
  SimulatedDevice& device = SimulatedDevice::instance();
  std::lock_guard lock(device.mutex);
  return device.take_launches();
}

}  // extern "C"
