// float32 by matrix tiles of bytes: each number as three digits, signed bytes (i24).
//
// Problem: tiles multiply bytes and bfloat16, and a float32 has 24 bits. Method: a number is an integer q of 24 bits
// times a power of two that a strip has in common, or times a factor of the weights' output channel:
//
//     q = h * 2^16 + m * 2^8 + l,   -127 <= h <= 127,   -128 <= m, l <= 127
//     q * Q = hH * 2^32 + (hM + mH) * 2^24 + (hL + mM + lH) * 2^16 + (mL + lM) * 2^8 + lL
//
// The first four orders are eight products in four exact sums of int32; the last one is far below the rounding of q and
// is left out (of three orders the errors were seven times those of a float32 sum). Integers below 2^15 stay exact. The
// result does not depend on the order of the sums or the number of threads.
//
// Error: an input is off by at most 2^-23 of its strip's largest. The usual size is the geometric mean of those that
// are not zero. If the largest is far above it, the rounding error of an input is three more digits, and the next four
// orders are nine more products. If it is so far above that these do not suffice, or something is infinite or NaN, the
// strip is summed in float32 by the definition, in about ten times the time. A weight below 2^-24 of its output
// channel's largest is zero there, and times infinity NaN.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_elements.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The common properties of the inputs of a strip.
struct DigitScale {
  float first = 1.0f, second = 1.0f;  // an input times both is q; a single factor might not fit in a float
  float unit = 1.0f;                  // of an input's h
  int64_t sets = 1;                   // of three digits
  bool is_float32 = false;            // no digits
};

class StripStatistics {
 public:
  [[gnu::always_inline]] void add(vec value) {
    const vec_mask size = __builtin_bit_cast(vec_mask, absolute(value));  // floats above zero are ordered as integers
    largest_ = size > largest_ ? size : largest_;
    exponents_ += size >> 23;
    count_ -= size > 0;
  }

  DigitScale scale() const {
    constexpr int usual = 6, widest = 26;  // octaves from the usual size to the largest; of normal numbers 4
    int32_t largest = 0;
    int64_t exponents = 0, count = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      largest = largest_[lane] > largest ? largest_[lane] : largest;
      exponents += exponents_[lane];
      count += count_[lane];
    }
    DigitScale result;
    if (largest == 0) return result;
    const int64_t octaves = (largest >> 23) - exponents / count;
    const int exponent = digit_exponent(__builtin_bit_cast(float, largest));
    // The exponent of infinity and NaN is 255. Below 2^-100 the factors would not fit in floats.
    result.is_float32 = largest >> 23 == 255 || octaves > widest || exponent > 122;
    if (result.is_float32) return result;
    result.sets = octaves > usual ? 2 : 1;
    result.first = power_of_two(exponent / 2);
    result.second = power_of_two(exponent - exponent / 2);
    result.unit = power_of_two(16 - exponent);
    return result;
  }

 private:
  vec_mask largest_ = {}, exponents_ = {}, count_ = {};
};

struct TilesOfDigits {
  static constexpr TilesKind kind = TilesKind::digits;
  static constexpr int64_t products = 8;
  static constexpr int accumulators = 4;
  using Element = int8_t;
  using Weight = uint8_t;
  using Sum = int32_t;
  using Scale = DigitScale;
  template <class Input, class Output>
  using Arguments = ConvArguments<Input, Output, Weight>;

  // All of a digit stand together, `digit_stride` elements from those of the next one.
  template <class Input>
  [[gnu::always_inline]] static void copy(const Input* source, Element* destination, int64_t digit_stride,
                                          const Scale& scale) {
    const vec value = load(source) * splat(scale.first) * splat(scale.second);
    vec whole = __builtin_elementwise_roundeven(value);
    if (scale.sets == 2) [[unlikely]] {
      // Three digits hold -0.5019 to 0.4980.
      whole = value - whole > splat(most_rest) ? whole + splat(1.0f) : whole;
      store_digits(__builtin_elementwise_roundeven((value - whole) * splat(0x1p24f)), destination + 3 * digit_stride,
                   digit_stride);
    }
    store_digits(whole, destination, digit_stride);
  }
  template <class Input, class Output>
  static Element padding(const Arguments<Input, Output>&) {
    return 0;
  }
  [[gnu::always_inline]] static void start(TileSession& tiles, const char*) {
    for_each_tile<accumulators>([&]<int i>() __attribute__((always_inline)) { tiles.zero<i>(); });
  }

  // A tile of voxels, whose sums of the set's orders are in accumulators 0 to 3. `voxels` is the set's first digit.
  template <int set>
  [[gnu::always_inline]] static void add_products(TileSession& tiles, const Element* voxels, int64_t digit_stride,
                                                  const char* weights) {
    tiles.load<high>(voxels, tile_row_bytes);
    tiles.load<middle>(voxels + digit_stride, tile_row_bytes);
    tiles.load<low>(voxels + 2 * digit_stride, tile_row_bytes);
    tiles.load<weight_tile>(weights, tile_row_bytes);  // H
    tiles.add_signed_byte_products<0, high, weight_tile>();
    tiles.add_signed_byte_products<1, middle, weight_tile>();
    tiles.add_signed_byte_products<2, low, weight_tile>();
    tiles.load<weight_tile>(weights + tile_bytes, tile_row_bytes);  // M
    tiles.add_signed_byte_products<1, high, weight_tile>();
    tiles.add_signed_byte_products<2, middle, weight_tile>();
    tiles.add_signed_byte_products<3, low, weight_tile>();
    tiles.load<weight_tile>(weights + 2 * tile_bytes, tile_row_bytes);  // L
    tiles.add_signed_byte_products<2, high, weight_tile>();
    tiles.add_signed_byte_products<3, middle, weight_tile>();
    if constexpr (set > 0) {  // the first set's last order
      tiles.load<high>(voxels - digit_stride, tile_row_bytes);
      tiles.add_signed_byte_products<1, high, weight_tile>();
    }
  }

  // `sums` of a voxel; `start` has the units of the weights' H.
  [[gnu::always_inline]] static vec result(const Sum* sums, const char* start, const Scale& scale) {
    const vec unit = load(reinterpret_cast<const float*>(start));
    if (scale.is_float32) [[unlikely]]
      return load(reinterpret_cast<const float*>(sums));
    vec value = of_orders(sums);
    if (scale.sets == 2) [[unlikely]]
      value = fma(of_orders(sums + most_accumulators * tile_rows * 16), splat(0x1p-24f), value);
    return value * unit * splat(scale.unit);
  }
  // The weight of input `input` among four, each a word of the three tiles.
  [[gnu::always_inline]] static vec weight(const char* words, int input, vec unit) {
    const auto digit = [&](int64_t tile) __attribute__((always_inline)) {
      return load_words(words + tile * tile_bytes) << (24 - 8 * input) >> 24;
    };
    return to_float(digit(0) * 65536 + digit(1) * 256 + digit(2)) * (unit * splat(0x1p-16f));
  }

 private:
  static constexpr int high = 4, middle = 5, low = 6;       // tiles
  static constexpr float most_rest = 8355711.0f / 0x1p24f;  // 127 * (2^16 + 2^8 + 1)

  [[gnu::always_inline]] static vec of_orders(const Sum* sums) {
    constexpr int64_t order = tile_rows * 16;
    vec value = to_float(load(sums + 3 * order)) * splat(0x1p-24f);
    value = fma(to_float(load(sums + 2 * order)), splat(0x1p-16f), value);
    return fma(to_float(load(sums + order)), splat(0x1p-8f), value) + to_float(load(sums));
  }
  // The bytes of (q + 0x808080) ^ 0x808080.
  [[gnu::always_inline]] static void store_digits(vec whole, Element* destination, int64_t digit_stride) {
    const auto number = __builtin_bit_cast(vec_uint32, __builtin_convertvector(whole, vec_int32));
    const vec_uint32 digits = (number + 0x808080u) ^ 0x808080u;
    for (int64_t digit = 0; digit < 3; ++digit) {
      const vec_uint8 bytes = __builtin_convertvector(digits >> static_cast<uint32_t>(16 - 8 * digit), vec_uint8);
      __builtin_memcpy(destination + digit * digit_stride, &bytes, sizeof(bytes));
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
