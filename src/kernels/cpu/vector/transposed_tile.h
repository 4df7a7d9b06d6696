// A tile of a matrix, read transposed: for nests whose stores run along one axis and whose loads run along another.
//
// Problem: tile[i, j] = from[j, i]; only i runs through memory without gaps; element by element each read takes a whole
// line of the cache. Method: squares are transposed in registers; the last one of a row or column of squares lies over
// the one before it. If the tile is smaller than a square, floats are read by masks and other types element by element.
// Bound by: shuffles, log2(side) of them for each vector, and by reads that cross two lines.
#pragma once

#include "kernels/cpu/vector/transpose.h"
#include "kernels/cpu/vector/transposed_tile_sizes.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace detail {

template <int bytes>
struct Bits;
template <>
struct Bits<1> {
  using type = uint8_t;
};
template <>
struct Bits<2> {
  using type = uint16_t;
};
template <>
struct Bits<4> {
  using type = uint32_t;
};
template <>
struct Bits<8> {
  using type = uint64_t;
};

template <class T>
inline constexpr int vector_elements = lanes * sizeof(float) / sizeof(T);
// Rows and columns of a square: as many as a vector has elements, at most as there are registers for.
template <class T>
inline constexpr int square_side = vector_elements<T> < 16 ? vector_elements<T> : 16;

template <class T>
[[gnu::always_inline]] inline void load_transposed_square(const T* from, int64_t stride, T* tile) {
  constexpr int side = square_side<T>;
  typedef typename Bits<sizeof(T)>::type Row __attribute__((ext_vector_type(side)));
  Row square[side];
#pragma clang loop unroll(full)
  for (int j = 0; j < side; ++j) square[j] = load_bits<Row>(from + j * stride);
  transpose(square);
#pragma clang loop unroll(full)
  for (int i = 0; i < side; ++i) __builtin_memcpy(tile + i * tile_columns, &square[i], sizeof(Row));
}

// Fewer rows or columns than a square has.
template <class T>
[[gnu::always_inline]] inline void load_transposed_part(const T* from, int64_t stride, int64_t rows, int64_t columns,
                                                        T* tile) {
  if constexpr (__is_same(T, float)) {
    vec square[lanes];
#pragma clang loop unroll(full)
    for (int j = 0; j < lanes; ++j) square[j] = j < columns ? load_partial(from + j * stride, rows) : splat(0.0f);
    transpose(square);
    for (int i = 0; i < rows; ++i) store(tile + i * tile_columns, square[i]);
  } else {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) tile[i * tile_columns + j] = from[j * stride + i];
  }
}

}  // namespace detail

// tile[i * tile_columns + j] = from[j * stride + i] for i below `rows`, at most tile_rows(sizeof(T)), and j below
// `columns`, at most tile_columns. Other elements of the tile may be overwritten.
template <class T>
[[gnu::noinline]] void load_transposed(const T* from, int64_t stride, int64_t rows, int64_t columns, T* tile) {
  constexpr int side = detail::square_side<T>;
  if (rows >= side && columns >= side) {
    for (int64_t j = 0; j < columns; j += side) {
      const int64_t column = j + side <= columns ? j : columns - side;
      for (int64_t i = 0; i < rows; i += side) {
        const int64_t row = i + side <= rows ? i : rows - side;
        detail::load_transposed_square(from + column * stride + row, stride, tile + row * tile_columns + column);
      }
    }
    return;
  }
  for (int64_t j = 0; j < columns; j += side)
    for (int64_t i = 0; i < rows; i += side)
      detail::load_transposed_part(from + j * stride + i, stride, rows - i < side ? rows - i : side,
                                   columns - j < side ? columns - j : side, tile + i * tile_columns + j);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
