// The product of two tiles that the GPU has, by its matrix unit.
#pragma once

#include "kernels/hip/gemm/fma_tile.h"

#ifdef __NVPTX__
#include "kernels/hip/gemm/mma_tile.h"
#else
#include "kernels/hip/gemm/mfma_tile.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <machine::MatrixUnit unit>
struct TileProducts {
  template <Products products, GemmTile tile>
  using Product = FmaTileProduct<products, tile>;
};

#ifdef __NVPTX__
template <>
struct TileProducts<machine::MatrixUnit::mma> {
  template <Products products, GemmTile tile>
  using Product = MmaTileProduct<products, tile>;
};
#else
template <>
struct TileProducts<machine::MatrixUnit::mfma> {
  template <Products products, GemmTile tile>
  using Product = MfmaTileProduct<products, tile>;
};
#endif

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
