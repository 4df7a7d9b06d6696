// The common parts of the driver's calls. A refused call says why on stderr, which the real driver does not.
#pragma once

#include <fmt/format.h>

#include <new>
#include <type_traits>

#include "cuda_stand_in/stand_in.h"

namespace cuda_stand_in {

// Runs the body of a call under the lock, and turns what it throws into the driver's error codes. A call that gives
// something back does so even if it tells of a failure, so none is injected.
template <class Body>
int call(const char* name, Body body, bool gives_back = false) {
  StandIn& stand_in = StandIn::instance();
  std::lock_guard lock(stand_in.mutex);
  int code = 0;
  try {
    if (!gives_back) stand_in.enter(name);
    if (!stand_in.is_initialized) throw gpu_streams::Refusal(not_initialized, "cuInit was not called");
    if constexpr (std::is_void_v<decltype(body(stand_in))>)
      body(stand_in);
    else
      code = body(stand_in);
  } catch (const gpu_streams::Refusal& refusal) {
    fmt::print(stderr, "cuda_stand_in: {}: {}\n", name, refusal.what());
    code = refusal.code;
  } catch (const std::bad_alloc&) {
    code = gpu_streams::out_of_memory;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cuda_stand_in: {}: {}\n", name, error.what());
    code = gpu_streams::unknown_error;
  }
  if (ends_context(code) && !context_stack.empty()) context_stack.back()->lost_with = code;
  return code;
}

template <class Body>
int call_to_give_back(const char* name, Body body) {
  return call(name, body, true);
}

}  // namespace cuda_stand_in
