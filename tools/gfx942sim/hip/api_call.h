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
      return remember(static_cast<hipError_t>(body(device)));
    }
  } catch (const Refusal& refusal) {
    fmt::print(stderr, "gfx942sim: {}: {}\n", name, refusal.what());
    return remember(static_cast<hipError_t>(refusal.code));
  } catch (const std::bad_alloc&) {
    return remember(hipErrorOutOfMemory);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gfx942sim: {}: {}\n", name, error.what());
    return remember(hipErrorUnknown);
  }
}

using gpu_streams::require;

}  // namespace gfx942sim::hip
