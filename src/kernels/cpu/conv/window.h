// For kernels that slide a window over each channel (depthwise convolution, pools): which taps are inside the input,
// and reads past the ends of an input row.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/cpu/vector/integers.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Taps [begin, end) of a window along one axis.
struct TapRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

// The taps whose position first + tap * dilation lies in [low, high).
inline TapRange taps_between(int64_t first, int64_t kernel, int64_t dilation, int64_t low, int64_t high) {
  const int64_t begin = first >= low ? 0 : smaller(kernel, divide_up(low - first, dilation));
  const int64_t end = first >= high ? 0 : smaller(kernel, divide_up(high - first, dilation));
  return {begin, larger(begin, end)};
}

// A row of NCHWc blocks seen from `column`: operator[](i) loads the block i columns further. With `at_edge` a column
// outside the row reads `outside` in all lanes; without, every column must be inside.
template <class Input, bool at_edge>
struct InputRow {
  const Input* first;
  int64_t column, width;
  const Input* outside;  // `lanes` elements
  [[gnu::always_inline]] const Input* address(int64_t i) const {
    if constexpr (at_edge) return column + i >= 0 && column + i < width ? first + i * lanes : outside;
    return first + i * lanes;
  }
  [[gnu::always_inline]] auto operator[](int64_t i) const { return load(address(i)); }
};

// ---- several voxels to a vector: in a block with few channels in use, part p of a vector is those of voxel p

namespace detail {

template <int count, class T>
[[gnu::always_inline]] inline auto load_floats(const T* source) {
  typedef float floats __attribute__((ext_vector_type(count)));
  if constexpr (sizeof(T) == sizeof(float)) {
    return load_bits<floats>(source);
  } else {
    T padded[lanes] = {};
    __builtin_memcpy(padded, source, count * sizeof(T));
    const vec value = load(static_cast<const T*>(padded));
    floats first;
    __builtin_memcpy(&first, &value, sizeof(first));
    return first;
  }
}

typedef float floats2 __attribute__((ext_vector_type(2)));
typedef float floats4 __attribute__((ext_vector_type(4)));
typedef float floats8 __attribute__((ext_vector_type(8)));
typedef float floats16 __attribute__((ext_vector_type(16)));
[[gnu::always_inline]] inline floats4 join(floats2 a, floats2 b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3); }
[[gnu::always_inline]] inline floats8 join(floats4 a, floats4 b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
[[gnu::always_inline]] inline floats16 join(floats8 a, floats8 b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

}  // namespace detail

// Part p of the result is what part(p) loads.
template <int parts, class Part>
[[gnu::always_inline]] inline vec join_parts(const Part& part) {
  static_assert(parts == 2 || parts == 4);
  if constexpr (parts == 2)
    return detail::join(part(0), part(1));
  else
    return detail::join(detail::join(part(0), part(1)), detail::join(part(2), part(3)));
}
// The same part in all places.
template <int parts>
[[gnu::always_inline]] inline vec load_repeated(const float* source) {
  if constexpr (parts == 1)
    return load(source);
  else
    return join_parts<parts>([&](int) { return detail::load_floats<lanes / parts>(source); });
}
// Part p, with zeros after it.
template <int parts>
[[gnu::always_inline]] inline vec part_of(vec value, int p) {
  constexpr int width = lanes / parts;
  const vec_mask order = lane_indices() + static_cast<vec_mask>(p * width);
  if (p == 0) return keep_lanes(first_lanes(width), value);
  return keep_lanes(first_lanes(width), permute(value, order & static_cast<vec_mask>(lanes - 1)));
}

// As InputRow; part p of [i] is the first channels of the block i + p * distance columns further.
template <class Input, bool at_edge, int parts, int64_t distance>
struct InputParts {
  InputRow<Input, at_edge> rows[parts];

  // Each part has a pointer of its own, which hides that one part of an element is another of a later element: clang
  // would keep it in a register until then, and has too few.
  [[gnu::always_inline]] explicit InputParts(const InputRow<Input, at_edge>& row) {
#pragma clang loop unroll(full)
    for (int p = 0; p < parts; ++p) {
      rows[p] = {row.first + p * distance * lanes, row.column + p * distance, row.width, row.outside};
      asm("" : "+r"(rows[p].first));
    }
  }
  [[gnu::always_inline]] vec operator[](int64_t i) const {
    return join_parts<parts>(
        [&](int p) __attribute__((always_inline)) { return detail::load_floats<lanes / parts>(rows[p].address(i)); });
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
