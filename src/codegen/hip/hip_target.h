// The GPU as a target: nCdhw16c where kernels of kernels/hip are used, and loop nests in their default schedule for all
// other nodes.
#pragma once

#include <string_view>

#include "kernels/hip/gemm/gemm_geometry.h"
#include "passes/lowering/target.h"

namespace onnxc {

// The value of --fp32: ieee, xf32 or bf16x3.
kernels::Products float32_products(std::string_view name);

class HipTarget : public Target {
 public:
  // `products`: how float32 is multiplied.
  explicit HipTarget(kernels::Products products = kernels::Products::float32) : products_(products) {}

  std::string name() const override { return "hip"; }
  bool prefers_blocked(const Node& node) const override;
  Layout blocked_layout(size_t rank) const override;
  bool lower(const Node& node, LoweringContext& context) const override;
  bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                     BufferId output) const override;
  std::optional<KernelCall> attention(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                      const KernelCall& product) const override;

 private:
  kernels::Products products_;
};

}  // namespace onnxc
