// The shared parts of the kernels that are printed from loop nests.
#pragma once

#include "kernels/hip/wave/elementary.h"
#include "kernels/hip/wave/launch.h"

// The headers of both targets have no word of HIP in them; here they are compiled for the device too. They follow the
// elementary functions, which their templates call.
#pragma clang force_cuda_host_device begin
#include "kernels/shared/scalar.h"
#pragma clang force_cuda_host_device end

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// a / b of numbers that are not negative. The hardware has no division: in 64 bits it takes several times the
// instructions of 32 bits, which nearly always suffice.
__device__ inline int64_t quotient(int64_t a, int64_t b) {
  if (static_cast<uint64_t>(a | b) >> 32 == 0)
    return static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b));
  return a / b;
}

// The index, or the last below `end`.
__device__ inline int within(int index, int end) { return index < end ? index : end - 1; }

// Reduces the values of `count` threads, `stride` apart, to one, in an order that does not depend on the machine; each
// of them gets the result. All threads of the block must call it.
template <int count = nest_threads, int stride = 1, class T, class Fold>
__device__ inline T fold_block(T value, Fold fold) {
  __shared__ T partial[nest_threads];
  const int thread = thread_index(), member = thread / stride % count;
  barrier();  // the block may still be reading what an earlier call left
  partial[thread] = value;
  for (int width = count / 2; width > 0; width /= 2) {
    barrier();
    if (member < width) partial[thread] = fold(partial[thread], partial[thread + width * stride]);
  }
  barrier();
  return partial[thread - member * stride];
}

// Folds the value of each thread of the block with those of all threads before it; `total` is the fold of all. All
// threads of the block must call it.
template <class T, class Fold>
__device__ inline T scan_block(T value, Fold fold, T& total) {
  __shared__ T partial[2][nest_threads];
  const int thread = thread_index();
  barrier();  // the block may still be reading what an earlier call left
  int from = 0;
  partial[from][thread] = value;
  for (int distance = 1; distance < nest_threads; distance *= 2) {
    barrier();
    if (thread >= distance) value = fold(partial[from][thread - distance], value);
    from = 1 - from;
    partial[from][thread] = value;
  }
  barrier();
  total = partial[from][nest_threads - 1];
  return value;
}

template <int bytes>
struct BitsOf {
  using Type = uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = uint64_t;
};

// Combines an element of 32 or 64 bits with a value if other threads of the launch do so too. `fold` may not depend on
// the order. An element that stays as it is is not written, which ends most contests for an extreme.
template <class T, class Fold>
__device__ inline void atomic_fold(T* element, T value, Fold fold) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  using Bits = typename BitsOf<sizeof(T)>::Type;
  auto* const bits = reinterpret_cast<Bits*>(element);
  Bits found = atomic_load(bits);
  while (true) {
    const Bits folded = __builtin_bit_cast(Bits, fold(__builtin_bit_cast(T, found), value));
    if (folded == found || atomic_replace(bits, found, folded)) return;
  }
}

// The result of a thread for its share of an argument reduction; a position below 0: nothing.
template <class T>
struct Extreme {
  T value;
  int64_t position;
  int64_t number;  // of the element, in the order of the reduction
};

// The position of the extreme of these threads, as if one had seen the elements in their order.
template <int count, int stride, class T, class Replaces>
__device__ inline Extreme<T> fold_extremes(Extreme<T> extreme, Replaces replaces) {
  return fold_block<count, stride>(extreme, [&](const Extreme<T>& a, const Extreme<T>& b) {
    if (a.position < 0) return b;
    if (b.position < 0) return a;
    const bool in_order = a.number < b.number;
    const Extreme<T>&first = in_order ? a : b, &second = in_order ? b : a;
    return replaces(first.value, second.value) ? second : first;
  });
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
