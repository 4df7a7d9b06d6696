// Matrix tiles of AMX: eight registers of 16 rows of 64 bytes, and products that add to one.
//
// Native if the compiler's target has AMX; elsewhere an emulation in plain C++ with the same rounding, so that every
// kernel's geometry is tested on any machine. The emulation traps on a row that is not aligned to 64 bytes: on the
// machine it is allowed, but takes four times as long (37 to 53 cycles a tile from L1; 8 to 9.6 are possible). A kernel
// holds a TileSession while it uses tiles: after a fork, and in each thread, the registers' configuration is undefined,
// and a thread that sleeps should not carry their 8 KiB. Source: Intel SDM volume 1, 18 (configuration) and volume 2
// (LDTILECFG, TDPBF16PS, TDPBUSD, TDPBSSD).
#pragma once

#include "kernels/cpu/vector/integers.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__)
#define ONNXC_HAS_TILES 1
#include <immintrin.h>
#else
#define ONNXC_HAS_TILES 0
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

inline constexpr int64_t tile_rows = 16, tile_row_bytes = 64, tile_bytes = tile_rows * tile_row_bytes;
inline constexpr int tile_count = 8;

#if ONNXC_HAS_TILES

// Configures all eight tiles as 16 rows of 64 bytes (palette 1).
class TileSession {
 public:
  TileSession() {
    alignas(64) struct {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } configuration;
    for (int i = 0; i < tile_count; ++i) {
      configuration.row_bytes[i] = tile_row_bytes;
      configuration.rows[i] = tile_rows;
    }
    _tile_loadconfig(&configuration);
  }
  ~TileSession() { _tile_release(); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;

  template <int tile>
  [[gnu::always_inline]] void zero() {
    _tile_zero(tile);
  }
  template <int tile>
  [[gnu::always_inline]] void load(const void* source, int64_t stride) {
    _tile_loadd(tile, source, static_cast<size_t>(stride));
  }
  template <int tile>
  [[gnu::always_inline]] void store(void* destination, int64_t stride) {
    _tile_stored(tile, destination, static_cast<size_t>(stride));
  }
  template <int sums, int a, int b>
  [[gnu::always_inline]] void add_bfloat16_products() {
    _tile_dpbf16ps(sums, a, b);
  }
  template <int sums, int a, int b>
  [[gnu::always_inline]] void add_byte_products() {
    _tile_dpbusd(sums, a, b);
  }
  template <int sums, int a, int b>
  [[gnu::always_inline]] void add_signed_byte_products() {
    _tile_dpbssd(sums, a, b);
  }
};

#else

class TileSession {
 public:
  TileSession() = default;
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;

  template <int tile>
  void zero() {
    __builtin_memset(tiles_[tile], 0, tile_bytes);
  }

  // Rows `stride` bytes apart.
  template <int tile>
  void load(const void* source, int64_t stride) {
    const auto* bytes = static_cast<const unsigned char*>(source);
    check(bytes, stride);
    for (int64_t row = 0; row < tile_rows; ++row)
      __builtin_memcpy(tiles_[tile] + row * tile_row_bytes, bytes + row * stride, tile_row_bytes);
  }
  template <int tile>
  void store(void* destination, int64_t stride) {
    auto* bytes = static_cast<unsigned char*>(destination);
    check(bytes, stride);
    for (int64_t row = 0; row < tile_rows; ++row)
      __builtin_memcpy(bytes + row * stride, tiles_[tile] + row * tile_row_bytes, tile_row_bytes);
  }

  // sums[m][n] += sum over k < 32 of a[m][k] * b[k / 2][n][k % 2], in float: one chain of FMAs for the even k and one
  // for the odd, and their sum. Denormal numbers are zero.
  template <int sums, int a, int b>
  void add_bfloat16_products() {
    for_each_vector([&](int64_t row, int64_t column) {
      vec even = splat(0.0f), odd = splat(0.0f);
      for (int64_t word = 0; word < tile_rows; ++word) {
        const vec_int32 x = load_splat_word(at(a, row, 4 * word)), w = load_words(at(b, word, 4 * column));
        even = flushed(fma(first_of_pair(x), first_of_pair(w), even));
        odd = flushed(fma(second_of_pair(x), second_of_pair(w), odd));
      }
      auto* const sum = reinterpret_cast<float*>(at(sums, row, 4 * column));
      kernels::store(sum, flushed(kernels::load(sum) + flushed(even + odd)));
    });
  }

  // sums[m][n] += sum over k < 64 of a[m][k] * b[k / 4][n][k % 4], a of unsigned and b of signed bytes, in int32 that
  // wraps around.
  template <int sums, int a, int b>
  void add_byte_products() {
    add_products_of<uint8_t, sums, a, b>();
  }
  // The same with signed bytes in a.
  template <int sums, int a, int b>
  void add_signed_byte_products() {
    add_products_of<int8_t, sums, a, b>();
  }

 private:
  static void check(const void* rows, int64_t stride) {
    if (reinterpret_cast<uintptr_t>(rows) % tile_row_bytes != 0 || stride % tile_row_bytes != 0) __builtin_trap();
  }

  // Calls visit(row, column) for each vector of sums.
  template <class Visit>
  static void for_each_vector(const Visit& visit) {
    for (int64_t row = 0; row < tile_rows; ++row)
      for (int64_t column = 0; column < 16; column += lanes) visit(row, column);
  }
  unsigned char* at(int tile, int64_t row, int64_t byte) { return tiles_[tile] + row * tile_row_bytes + byte; }

  template <class Byte, int sums, int a, int b>
  void add_products_of() {
    for_each_vector([&](int64_t row, int64_t column) {
      auto* const sum = reinterpret_cast<int32_t*>(at(sums, row, 4 * column));
      vec_int32 total = kernels::load(sum);
      for (int64_t word = 0; word < tile_rows; ++word) {
        const vec_int32 w = load_words(at(b, word, 4 * column));
        for (int byte = 0; byte < 4; ++byte) {
          const auto* const x = reinterpret_cast<const Byte*>(at(a, row, 4 * word + byte));
          total = add(total, multiply(splat(int32_t{*x}), w << (24 - 8 * byte) >> 24));
        }
      }
      kernels::store(sum, total);
    });
  }

  static vec flushed(vec value) { return absolute(value) < splat(0x1p-126f) ? value * splat(0.0f) : value; }
  static vec first_of_pair(vec_int32 pair) { return flushed(__builtin_bit_cast(vec, pair << 16)); }
  static vec second_of_pair(vec_int32 pair) {
    return flushed(__builtin_bit_cast(vec, pair & static_cast<int32_t>(0xffff0000)));
  }

  alignas(64) unsigned char tiles_[tile_count][tile_bytes];
};

#endif

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
