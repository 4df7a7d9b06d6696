// The common parts of the calls of libamdhip64's C interface. A refused call says why on stderr, which the real library
// does not.
#pragma once

#include <fmt/format.h>

#include "gfx942sim/hip/simulated_device.h"
#include "support/diagnostics.h"

namespace gfx942sim::hip {

inline thread_local hipError_t last_error = hipSuccess;

inline hipError_t remember(hipError_t result) {
  if (result != hipSuccess && result != hipErrorNotReady) last_error = result;
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

inline void require(bool condition, hipError_t code, const char* message) {
  if (!condition) throw Refusal(code, message);
}

// Makes an object of the device's, whose address is the handle.
template <class Handle>
void create(std::map<Handle*, std::unique_ptr<Handle>>& handles, auto* result) {
  auto object = std::make_unique<Handle>();
  Handle* handle = object.get();
  handles[handle] = std::move(object);
  *result = reinterpret_cast<std::remove_pointer_t<decltype(result)>>(handle);
}

// The object of a handle.
template <class Handle>
Handle& known(std::map<Handle*, std::unique_ptr<Handle>>& handles, const void* handle, const char* what) {
  auto found = handles.find(static_cast<Handle*>(const_cast<void*>(handle)));
  if (found == handles.end()) throw Refusal(hipErrorInvalidResourceHandle, fmt::format("the {} does not exist", what));
  return *found->second;
}

}  // namespace gfx942sim::hip
