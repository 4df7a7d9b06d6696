// The seed of each run of an instance.
#pragma once

#include <stdint.h>

#include "base/environment.h"

namespace onnxc::runtime {

// ONNXC_SEED, any integer. An instance is not made if it is something else.
inline EnvironmentNumber asked_seed() { return environment_number("ONNXC_SEED", INT64_MIN, INT64_MAX); }

class RandomSeed {
 public:
  // From the operating system's random numbers, or the seed that is asked for.
  void set_up();
  // Not negative; each of a sequence that begins with the seed.
  int64_t next();

 private:
  uint64_t seed_ = 0, runs_ = 0;
};

}  // namespace onnxc::runtime
