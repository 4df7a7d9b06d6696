// Vectors of elements that lie a known stride apart.
#pragma once

#include "kernels/cpu/vector/integers.h"
#include "kernels/cpu/vector/transpose.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// A stride of a power of two up to this one reads vectors, even if most lanes are not used.
inline constexpr int64_t largest_stride_of_vectors = 8;

namespace detail {
template <class Vector, int... lane>
[[gnu::always_inline]] inline Vector even_lanes(Vector a, Vector b, Lanes<int, lane...>) {
  return __builtin_shufflevector(a, b, (2 * lane)...);
}
}  // namespace detail

// Lane i of the first `count` is source[i * stride]. Reads memory up to source[largest_stride_of_vectors * lanes).
template <int64_t stride, class Vector, class Element>
[[gnu::always_inline]] inline Vector load_strided(const Element* source, int64_t count) {
  if constexpr (stride == 1) {
    return load(source);
  } else if constexpr (stride % 2 == 0 && largest_stride_of_vectors % stride == 0) {
    constexpr int64_t half = stride / 2;
    return detail::even_lanes(load_strided<half, Vector>(source, lanes),
                              load_strided<half, Vector>(source + lanes * half, lanes), detail::AllLanes());
  } else {
    Element elements[lanes] = {};
    for (int64_t i = 0; i < count; ++i) elements[i] = source[i * stride];
    return load(elements);
  }
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
