#include "base/random_seed.h"

#include <linux/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace onnxc::runtime {

void RandomSeed::set_up() {
  if (const EnvironmentNumber asked = asked_seed(); asked.is_legal) {
    seed_ = static_cast<uint64_t>(asked.value);
    return;
  }
  if (syscall(SYS_getrandom, &seed_, sizeof seed_, GRND_NONBLOCK) == sizeof seed_) return;
  timespec now = {};  // early in a boot, or if a sandbox refuses
  clock_gettime(CLOCK_MONOTONIC, &now);
  seed_ = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
int64_t RandomSeed::next() {
  uint64_t bits = seed_ + ++runs_ * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return static_cast<int64_t>((bits ^ (bits >> 31)) >> 1);
}

}  // namespace onnxc::runtime
