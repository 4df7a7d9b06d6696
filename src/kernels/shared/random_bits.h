// Random numbers as a function of their place: a counter and a key give bits, and nothing is remembered between them.
// So the numbers of a tensor do not depend on threads, tiles or the target.
//
// Philox 4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. It
// passes TestU01's BigCrush; PyTorch and TensorFlow have it on GPUs. Ten rounds of two products of 32 by 32 bits.
#pragma once

#include <stdint.h>

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

struct PhiloxBlock {
  uint32_t words[4];
};

[[gnu::always_inline]] inline PhiloxBlock philox(PhiloxBlock counter, uint32_t first_key, uint32_t second_key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xd2511f53} * counter.words[0], second = uint64_t{0xcd9e8d57} * counter.words[2];
    counter = {{static_cast<uint32_t>(second >> 32) ^ counter.words[1] ^ first_key, static_cast<uint32_t>(second),
                static_cast<uint32_t>(first >> 32) ^ counter.words[3] ^ second_key, static_cast<uint32_t>(first)}};
    first_key += 0x9e3779b9;
    second_key += 0xbb67ae85;
  }
  return counter;
}

// The first half of the block at that counter.
[[gnu::always_inline]] inline uint64_t random_bits(uint64_t counter, uint64_t key) {
  const PhiloxBlock block = philox({{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0}},
                                   static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
  return uint64_t{block.words[1]} << 32 | block.words[0];
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
