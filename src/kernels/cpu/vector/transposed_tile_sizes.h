// The contract of the compiler and transposed_tile.h.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

// Elements of a tile that are stored one after another. Short pieces of rows are slow to store: 64 matrices of 256x256
// floats took 9.0 ms by 16 columns, 3.4 by 64, and 2.5 by 256, on Zen 4.
inline constexpr int64_t tile_columns = 256;
// A line of the cache of the memory that the tile is read from; the tile takes 16 KiB.
constexpr int64_t tile_rows(int64_t element_bytes) { return 64 / element_bytes; }

}  // namespace onnxc::kernels
