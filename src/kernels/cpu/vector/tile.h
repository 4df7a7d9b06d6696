// Matrix tiles of AMX: eight registers of 16 rows of 64 bytes, and products that add to one.
//
// Native where the compiler's target has AMX; elsewhere an emulation in plain C++ with the same rounding, so that every
// kernel's geometry is tested on any machine. The emulation traps on a row that is not aligned to 64 bytes: on the
// machine it is allowed, but takes four times as long (37 to 53 cycles a tile from L1, where 8 to 9.6 are possible).
// A kernel holds a TileSession while it uses tiles: after a fork, and in each thread, the registers' configuration is
// undefined, and a thread that sleeps should not carry their 8 KiB.
// Source: Intel SDM volume 1, 18 (configuration) and volume 2 (LDTILECFG, TDPBF16PS, TDPBUSD).
#pragma once

#include "kernels/cpu/vector/vector.h"

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
    for (int64_t row = 0; row < tile_rows; ++row)
      for (int64_t column = 0; column < 16; ++column) {
        float chains[2] = {};
        for (int64_t k = 0; k < 32; ++k)
          chains[k % 2] =
              flushed(__builtin_fmaf(bfloat16(a, row, k), bfloat16(b, k / 2, 2 * column + k % 2), chains[k % 2]));
        float* const sum = element<float>(sums, row, column);
        *sum = flushed(*sum + flushed(chains[0] + chains[1]));
      }
  }

  // sums[m][n] += sum over k < 64 of a[m][k] * b[k / 4][n][k % 4], a of unsigned and b of signed bytes, in int32 that
  // wraps around.
  template <int sums, int a, int b>
  void add_byte_products() {
    for (int64_t row = 0; row < tile_rows; ++row)
      for (int64_t column = 0; column < 16; ++column) {
        uint32_t* const sum = element<uint32_t>(sums, row, column);
        for (int64_t k = 0; k < 64; ++k)
          *sum += static_cast<uint32_t>(*element<uint8_t>(a, row, k) * *element<int8_t>(b, k / 4, 4 * column + k % 4));
      }
  }

 private:
  static void check(const void* rows, int64_t stride) {
    if (reinterpret_cast<uintptr_t>(rows) % tile_row_bytes != 0 || stride % tile_row_bytes != 0) __builtin_trap();
  }
  static float flushed(float value) { return __builtin_fabsf(value) < 0x1p-126f ? 0.0f * value : value; }

  template <class T>
  T* element(int tile, int64_t row, int64_t column) {
    return reinterpret_cast<T*>(tiles_[tile] + row * tile_row_bytes) + column;
  }
  float bfloat16(int tile, int64_t row, int64_t column) {
    return flushed(__builtin_bit_cast(float, static_cast<uint32_t>(*element<uint16_t>(tile, row, column)) << 16));
  }

  alignas(64) unsigned char tiles_[tile_count][tile_bytes];
};

#endif

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
