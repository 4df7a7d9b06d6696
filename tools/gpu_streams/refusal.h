// A call that a GPU's library refuses: its error code, the same number in HIP and CUDA, and why.
#pragma once

#include <stdexcept>
#include <string>

namespace gpu_streams {

enum Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  launch_failure = 719,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_unmatched = 903,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  capture_wrong_thread = 908,
  unknown_error = 999
};

class Refusal : public std::runtime_error {
 public:
  Refusal(int code, const std::string& message) : std::runtime_error(message), code(code) {}
  int code;
};

inline void require(bool condition, int code, const char* message) {
  if (!condition) throw Refusal(code, message);
}

}  // namespace gpu_streams
