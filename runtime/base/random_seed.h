// The seed of each run of an instance.
#pragma once

#include <stdint.h>

namespace onnxc::runtime {

class RandomSeed {
 public:
  // From the operating system's random numbers, or the environment variable ONNXC_SEED: an integer.
  void set_up();
  // Not negative; each of a sequence that begins with the seed.
  int64_t next();

 private:
  uint64_t seed_ = 0, runs_ = 0;
};

}  // namespace onnxc::runtime
