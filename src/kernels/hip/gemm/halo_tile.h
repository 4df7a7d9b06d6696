// The products of a brick of voxels at some taps, by wgmma: rows are read out of the halo in LDS (halo_gemm.h).
//
// Eight voxels along w lie next to each other, 16 bytes each: a matrix as instructions read it without a swizzle. Its
// descriptor says how far the next line of voxels is, and the next 16 bytes of each voxel. So another tap is only
// another first address. Columns lie as wgmma_tile.h has them.
//
// Bound by: LDS, if a tile has fewer than 64 columns, else the matrix unit.
#pragma once

#include "kernels/hip/gemm/wgmma_tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <GemmPlan plan>
struct HaloTileProduct : WgmmaTileProduct<plan.products, plan.tile> {
  using Base = WgmmaTileProduct<plan.products, plan.tile>;
  using Base::columns, Base::group, Base::row_bytes, Base::row_tiles, Base::rows, Base::sums;
  static_assert(!Base::shares_rows);
  static constexpr Products products = plan.products;

  static constexpr int stages = plan.halo().stages(), taps = plan.halo().taps_a_step(),
                       tap_bytes = plan.tile.columns * row_bytes, halo_bytes = plan.halo().bytes(),
                       plane_bytes = plan.halo().plane_bytes();
  struct Shared {
    alignas(8 * row_bytes) char columns[stages][taps * tap_bytes];
    char halos[plan.halos()][halo_bytes];
  };

  __device__ explicit HaloTileProduct(const Shared& shared)
      : Base(lds_address(shared.halos) + group() * static_cast<int>(plan.halo().offset_of_rows(row_tiles)),
             lds_address(shared.columns)) {}

  __device__ static uint64_t descriptor_of_rows(LdsAddress first) {
    constexpr uint64_t next_line = plan.halo().line_bytes() / 16, next_plane = plane_bytes / 16;
    return next_line << 32 | next_plane << 16 | (first & 0x3ffff) >> 4;
  }

  // The products of a step begin: rows are `further` in LDS than those of the first halo's first tap.
  __device__ void start(int stage, int further) {
    begin_products();
#pragma clang loop unroll(full)
    for (int tap = 0; tap < taps; ++tap) {
      const uint64_t factors = Base::descriptor(columns + (stage * taps + tap) * tap_bytes);
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i)
        add(sums[i],
            descriptor_of_rows(rows + further + static_cast<int>(plan.halo().offset_of_rows(i)) +
                               tap * static_cast<int>(plan.halo().offset(0, 0, plan.shape.dilation.w))),
            factors);
    }
    end_products();
  }

 private:
  // Adds the products of 64 bytes of each row and column: of two halves, or of high parts and low ones, the smallest
  // first.
  template <int count>
  __device__ static void add(float (&sums)[count][4], uint64_t row, uint64_t factors) {
    constexpr uint64_t other_rows = 2 * plane_bytes / 16, other_factors = 2;
    if constexpr (products == Products::bf16x3) {
      start_bfloat16_products(sums, row + other_rows, factors);
      start_bfloat16_products(sums, row, factors + other_factors);
      start_bfloat16_products(sums, row, factors);
    } else {
      add_half(sums, row, factors);
      add_half(sums, row + other_rows, factors + other_factors);
    }
  }
  template <int count>
  __device__ static void add_half(float (&sums)[count][4], uint64_t row, uint64_t factors) {
    if constexpr (products == Products::float16)
      start_float16_products(sums, row, factors);
    else if constexpr (products == Products::bfloat16)
      start_bfloat16_products(sums, row, factors);
    else
      start_tf32_products(sums, row, factors);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
