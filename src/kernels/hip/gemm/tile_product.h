// The product of two tiles that the GPU has, by its matrix unit.
#pragma once

#ifdef __NVPTX__
#include "kernels/hip/gemm/halo_tile.h"
#include "kernels/hip/gemm/mma_tile.h"
#else
#include "kernels/hip/gemm/fma_tile.h"
#include "kernels/hip/gemm/matrix_tile.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <machine::MatrixUnit unit>
struct TileProducts;

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

template <Products products, GemmTile tile>
struct RdnaTileProduct {
  using Product = WmmaTileProduct<products, tile>;
};
template <GemmTile tile>
struct RdnaTileProduct<Products::float32, tile> {
  using Product = FmaTileProduct<Products::float32, tile>;
};
template <>
struct TileProducts<machine::MatrixUnit::wmma> {
  template <GemmPlan plan>
  using Product = typename RdnaTileProduct<plan.products, plan.tile>::Product;
};
template <>
struct TileProducts<machine::MatrixUnit::wmma12> : TileProducts<machine::MatrixUnit::wmma> {};
#endif

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
