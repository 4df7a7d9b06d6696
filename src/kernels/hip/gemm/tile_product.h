// The product of two tiles that the GPU has, by its matrix unit.
#pragma once

#include "kernels/hip/gemm/fma_tile.h"

#ifdef __NVPTX__
#include "kernels/hip/gemm/halo_tile.h"
#include "kernels/hip/gemm/mma_tile.h"
#else
#include "kernels/hip/gemm/mfma_tile.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <machine::MatrixUnit unit>
struct TileProducts {
  template <GemmPlan plan>
  using Product = FmaTileProduct<plan.products, plan.tile>;
};

#ifdef __NVPTX__
template <>
struct TileProducts<machine::MatrixUnit::mma> {
  template <GemmPlan plan>
  using Product = MmaTileProduct<plan.products, plan.tile>;
};

template <GemmPlan plan, bool uses_wgmma, bool has_halo>
struct HopperTileProduct : TileProducts<machine::MatrixUnit::mma> {};
template <GemmPlan plan>
struct HopperTileProduct<plan, true, false> {
  template <GemmPlan>
  using Product = WgmmaTileProduct<plan.products, plan.tile>;
};
template <GemmPlan plan>
struct HopperTileProduct<plan, true, true> {
  template <GemmPlan>
  using Product = HaloTileProduct<plan>;
};
template <>
struct TileProducts<machine::MatrixUnit::wgmma> {
  template <GemmPlan plan>
  using Product = typename HopperTileProduct<plan, plan.uses_wgmma(own_gpu), plan.has_halo()>::template Product<plan>;
};
#else
template <>
struct TileProducts<machine::MatrixUnit::mfma> {
  template <GemmPlan plan>
  using Product = MfmaTileProduct<plan.products, plan.tile>;
};
#endif

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
