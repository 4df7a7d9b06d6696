// The vector units that CPU kernels are written for. The number of lanes picks the row, and the row a kernel's register
// tile and its use of the caches; compiler, weight packer and kernel read the same row.
#pragma once

#include <cstdint>

namespace onnxc::machine {

struct VectorUnit {
  int lanes;      // floats in a register
  int registers;  // architectural: Intel SDM volume 1, 14.1 (16 YMM) and 15.1 (32 ZMM)

  // Bytes of the second-level cache that a task's data may fill: beside resident weights, and if weights come from
  // memory. Processors with only AVX2 have 256 to 512 KiB and a near third level, those with AVX-512 1 to 2 MiB.
  int64_t cache_beside_weights, cache_without_weights;
  // Choices that measured faster with this unit and not with the other. Small loops are unrolled over a whole block of
  // input channels. The next plane of a strided depthwise window is prefetched. So many output channels of a Winograd
  // convolution share one input transform.
  bool unrolls_blocks, fetches_strided_planes;
  int64_t most_channels_of_a_transform;

  // Rows of a tile of two vectors whose sums leave registers for the operands; and the shorter tile for the remainder.
  constexpr int tile_rows() const { return registers * 3 / 8; }
  constexpr int short_tile_rows() const { return registers / 4; }
  constexpr int accumulators() const { return 2 * tile_rows(); }
  constexpr bool has_many_registers() const { return registers >= 32; }
};

inline constexpr VectorUnit avx2{.lanes = 8,
                                 .registers = 16,
                                 .cache_beside_weights = 256 * 1024,
                                 .cache_without_weights = 384 * 1024,
                                 .unrolls_blocks = true,
                                 .fetches_strided_planes = true,
                                 .most_channels_of_a_transform = 288};
inline constexpr VectorUnit avx512{.lanes = 16,
                                   .registers = 32,
                                   .cache_beside_weights = 384 * 1024,
                                   .cache_without_weights = 1024 * 1024,
                                   .unrolls_blocks = false,
                                   .fetches_strided_planes = false,
                                   .most_channels_of_a_transform = 0};

// Kernels know their number of lanes; no two units share one.
constexpr const VectorUnit& vector_unit(int lanes) { return lanes == avx512.lanes ? avx512 : avx2; }

}  // namespace onnxc::machine
