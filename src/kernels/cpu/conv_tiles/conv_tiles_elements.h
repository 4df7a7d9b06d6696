// The kinds of elements of a strip of conv_tiles.h, and how tiles multiply them with weights: bfloat16 and bytes, with
// one product a voxel and weight. Digits are in conv_tiles_digits.h.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"
#include "kernels/cpu/vector/integers.h"
#include "kernels/cpu/vector/tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The first tiles hold sums, the last ones the operands of a product.
inline constexpr int most_accumulators = 6, voxel_tile = 6, weight_tile = 7;

// Calls visit<i>() for each i below `count`: the number of a tile is part of an instruction.
template <int count, class Visitor>
[[gnu::always_inline]] inline void for_each_tile(const Visitor& visit) {
  if constexpr (count > 0) {
    for_each_tile<count - 1>(visit);
    visit.template operator()<count - 1>();
  }
}

// Elements that need no scale: a strip's planes are one, and so are its sets of sums.
struct NoScale {
  static constexpr int64_t sets = 1;
  static constexpr bool is_float32 = false;
};

struct TilesOfBfloat16 {
  static constexpr TilesKind kind = TilesKind::bfloat16;
  static constexpr int accumulators = 6;
  static constexpr int64_t products = accumulators;  // of a step
  using Element = bfloat16_t;
  using Weight = bfloat16_t;
  using Sum = float;
  using Scale = NoScale;
  template <class Input, class Output>
  using Arguments = ConvArguments<Input, Output, Weight>;

  template <class Input>
  [[gnu::always_inline]] static void copy(const Input* source, Element* destination, int64_t, const Scale&) {
    if constexpr (sizeof(Input) == sizeof(Element))
      __builtin_memcpy(destination, source, lanes * sizeof(Element));
    else
      store(destination, load(source));
  }
  template <class Input, class Output>
  static Element padding(const Arguments<Input, Output>&) {
    return Element(0.0f);
  }
  [[gnu::always_inline]] static void start(TileSession& tiles, const char*) {
    for_each_tile<accumulators>([&]<int i>() __attribute__((always_inline)) { tiles.zero<i>(); });
  }
  // Six tiles of consecutive voxels share a tile of weights.
  template <int set>
  [[gnu::always_inline]] static void add_products(TileSession& tiles, const Element* voxels, int64_t,
                                                  const char* weights) {
    tiles.load<weight_tile>(weights, tile_row_bytes);
    for_each_tile<accumulators>([&]<int i>() __attribute__((always_inline)) {
      tiles.load<voxel_tile>(voxels + i * tile_bytes / 2, tile_row_bytes);
      tiles.add_bfloat16_products<i, voxel_tile, weight_tile>();
    });
  }
  [[gnu::always_inline]] static vec result(const Sum* sums, const char*, const Scale&) { return load(sums); }
};

struct TilesOfBytes {
  static constexpr TilesKind kind = TilesKind::bytes;
  static constexpr int accumulators = 6;
  static constexpr int64_t products = accumulators;
  using Element = uint8_t;
  using Weight = uint8_t;
  using Sum = int32_t;
  using Scale = NoScale;
  template <class Input, class Output>
  using Arguments = ByteConvArguments<Input, Output>;

  template <class Input>
  [[gnu::always_inline]] static void copy(const Input* source, Element* destination, int64_t, const Scale&) {
    const vec_uint8 value = detail::load_bits<vec_uint8>(source) ^ static_cast<vec_uint8>(sign_flip<Input>);
    __builtin_memcpy(destination, &value, sizeof(value));
  }
  template <class Input, class Output>
  static Element padding(const Arguments<Input, Output>& arguments) {
    return as_unsigned(arguments.zero_point);
  }
  // The same row in all rows of the tile.
  [[gnu::always_inline]] static void start(TileSession& tiles, const char* row) {
    for_each_tile<accumulators>([&]<int i>() __attribute__((always_inline)) { tiles.load<i>(row, 0); });
  }
  template <int set>
  [[gnu::always_inline]] static void add_products(TileSession& tiles, const Element* voxels, int64_t,
                                                  const char* weights) {
    tiles.load<weight_tile>(weights, tile_row_bytes);
    for_each_tile<accumulators>([&]<int i>() __attribute__((always_inline)) {
      tiles.load<voxel_tile>(voxels + i * tile_bytes, tile_row_bytes);
      tiles.add_byte_products<i, voxel_tile, weight_tile>();
    });
  }
  [[gnu::always_inline]] static vec_int32 result(const Sum* sums, const char*, const Scale&) { return load(sums); }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
