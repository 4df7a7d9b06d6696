// HIP's calls about memory and copies.
#include "gfx942sim/hip/api_call.h"

namespace gfx942sim::hip {
namespace {

hipError_t enqueue_copy(SimulatedDevice& device, void* destination, const void* source, size_t bytes,
                        hipMemcpyKind kind, hipStream_t stream) {
  return device.enqueue(stream, [=, &device] {
    device.copy(destination, source, bytes, kind);
    return hipSuccess;
  });
}

}  // namespace
}  // namespace gfx942sim::hip

using namespace gfx942sim;
using namespace gfx942sim::hip;

extern "C" {

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

}  // extern "C"
