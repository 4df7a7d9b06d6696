// HIP's calls about memory and copies.
#include "gfx942sim/hip/api_call.h"

namespace gfx942sim::hip {
namespace {

// HIP makes a copy from or to memory of the host that is not pinned "synchronously", and may as well read the source at
// once and return. The simulator does the one that a program is less likely to be ready for: late, the source is read
// and nothing else is done; early, the stream has come to its end.
int enqueue_copy(SimulatedDevice& device, void* destination, const void* source, size_t bytes, hipMemcpyKind kind,
                 hipStream_t stream) {
  device.check_copy(destination, source, bytes, kind);
  const bool captures = device.streams.stream(stream, current_device).capture != nullptr;
  const bool from_host = kind == hipMemcpyHostToDevice && !device.is_pinned(source);
  const bool to_host = kind == hipMemcpyDeviceToHost && !device.is_pinned(destination);
  if (from_host && !captures && !device.streams.pending.runs_early()) {
    const auto* begin = static_cast<const std::byte*>(source);
    return device.enqueue(stream, [=, &device, staged = std::vector<std::byte>(begin, begin + bytes)] {
      device.copy(destination, staged.data(), bytes, kind);
      return hipSuccess;
    });
  }
  const int result = device.enqueue(stream, [=, &device] {
    device.copy(destination, source, bytes, kind);
    return hipSuccess;
  });
  const bool blocks = !captures && device.streams.pending.runs_early() && (from_host || to_host);
  return result == hipSuccess && blocks ? device.finish(stream) : result;
}

int enqueue_fill(SimulatedDevice& device, void* destination, int value, size_t bytes, hipStream_t stream) {
  if (bytes > 0) device.check_fill(destination, bytes);
  return device.enqueue(stream, [=, &device] {
    device.fill(destination, value, bytes);
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
    device.streams.refuse_while_capturing();
    *pointer = device.allocate(bytes);
  });
}

hipError_t hipFree(void* pointer) {
  return call("hipFree", [&](SimulatedDevice& device) {
    device.streams.refuse_while_capturing();
    const int result = device.finish_device();
    device.release(pointer);
    return result;
  });
}

hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t) { return hipMalloc(pointer, bytes); }

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return call("hipFreeAsync", [&](SimulatedDevice& device) {
    return device.enqueue(stream, [=, &device] {
      device.release(pointer);
      return hipSuccess;
    });
  });
}

hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned int) {
  return call("hipHostMalloc", [&](SimulatedDevice& device) {
    device.streams.refuse_while_capturing();
    *pointer = device.allocate_host(bytes);
  });
}

hipError_t hipHostFree(void* pointer) {
  return call("hipHostFree", [&](SimulatedDevice& device) {
    device.streams.refuse_while_capturing();
    const int result = device.finish_device();
    device.release_host(pointer);
    return result;
  });
}

hipError_t hipMemcpyAsync(void* destination, const void* source, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return call("hipMemcpyAsync",
              [&](SimulatedDevice& device) { return enqueue_copy(device, destination, source, bytes, kind, stream); });
}

hipError_t hipMemcpy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind) {
  return call("hipMemcpy", [&](SimulatedDevice& device) {
    device.streams.refuse_while_anything_captures(hipErrorStreamCaptureImplicit);
    const int result = enqueue_copy(device, destination, source, bytes, kind, nullptr);
    return result == hipSuccess ? device.finish(nullptr) : result;
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
  return call("hipMemsetAsync",
              [&](SimulatedDevice& device) { return enqueue_fill(device, destination, value, bytes, stream); });
}

// Does not block, but for memory of the host.
hipError_t hipMemset(void* destination, int value, size_t bytes) {
  return call("hipMemset", [&](SimulatedDevice& device) {
    device.streams.refuse_while_anything_captures(hipErrorStreamCaptureImplicit);
    const int result = enqueue_fill(device, destination, value, bytes, nullptr);
    return result == hipSuccess && device.is_pinned(destination) ? device.finish(nullptr) : result;
  });
}

}  // extern "C"
