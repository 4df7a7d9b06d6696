// The common part of the offers of the implicit-GEMM kernel: the plan, packed weights, and the step of the call.
#pragma once

#include <array>
#include <functional>

#include "codegen/hip/gemm/gemm_spec.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Chooses the tile.
PlannedGemm plan_gemm(GemmOperation operation, const Graph& graph, const GpuMachine& gpu);

// The weights in the plan's order; `weight` returns that of a group, column, tap and input channel.
Tensor pack_weights(const kernels::GemmPlan& plan,
                    const std::function<float(int64_t group, int64_t column, int64_t tap, int64_t channel)>& weight);

// The same of products of bytes. `zero_point` is the value of the first operand outside.
Tensor pack_byte_weights(
    const kernels::GemmPlan& plan, int8_t zero_point,
    const std::function<int8_t(int64_t group, int64_t column, int64_t tap, int64_t channel)>& weight);

// The call, but for its output, which has that layout. `input` is the first operand; `weights` makes the second one for
// the plan.
KernelCall gemm_call(const Node& node, PlannedGemm planned, BufferId input,
                     const std::function<BufferId(const kernels::GemmPlan&)>& weights, Epilogue epilogue,
                     const Layout& output_layout, LoweringContext& context);
// Adds the step of the call that computes the node.
void lower_gemm(const Node& node, PlannedGemm planned, BufferId input,
                const std::function<BufferId(const kernels::GemmPlan&)>& weights, Epilogue epilogue,
                const Layout& output_layout, LoweringContext& context);

// Whether a kernel counts so many positions, as far as they are known when the model is compiled. Loops take any
// number.
bool may_count_positions(const std::array<Expr, 3>& extents);

// How a floating type is multiplied; `float32`: how float32 is.
kernels::Products products_for(DType dtype, kernels::Products float32);

// The weights in the plan's order, made in each run by a nest that is added to the program. `weight` is the computed
// one of a group, column, tap and input channel. Not for bf16x3.
BufferId pack_computed_weights(
    const kernels::GemmPlan& plan, DType dtype, const Origin& origin, Program& program,
    const std::function<Scalar(const Expr& group, const Expr& column, const Expr& tap, const Expr& channel)>& weight);

}  // namespace onnxc
