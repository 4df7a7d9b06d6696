// A call of the implicit-GEMM kernel (kernels/hip/gemm/implicit_gemm.h): its operands, their packing and its text.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "codegen/call/kernel_convolution.h"
#include "codegen/hip/gemm/gemm_choice.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// The logical axis of a buffer for each axis of the kernel; an axis that the buffer lacks has extent 1.
struct GemmAxes {
  size_t channel;
  std::optional<size_t> batch, group, d, h, w;
};

// The product that the kernel is to compute.
struct GemmOperation {
  std::string title;  // in reports: "conv 3x3x3 64->64"
  kernels::GemmPlan plan;
  Expr batch;
  std::array<Expr, 3> input, output, begin_pads;  // depth, height, width
  GemmAxes input_axes, output_axes;
  // A strided second operand.
  struct Matrix {
    size_t k, column;
    std::optional<size_t> batch, group;
  };
  std::optional<Matrix> weight_axes;
  Expr depth;  // of GemmPlan::has_run_time_depth

  // The sizes of one image, with size hints (usual_size.h) for those that only a run knows.
  GemmSizes sizes(const Program& program) const;
};

// The weights in the plan's order; `weight` returns that of a group, column, tap and input channel.
Tensor pack_weights(const kernels::GemmPlan& plan,
                    const std::function<float(int64_t group, int64_t column, int64_t tap, int64_t channel)>& weight);

// Chooses the tile and adds the step. `inputs` are the two operands; `weights` makes the second one for the plan that
// was chosen.
void lower_gemm(const Node& node, GemmOperation operation, BufferId input,
                const std::function<BufferId(const kernels::GemmPlan&)>& weights, Epilogue epilogue,
                const Layout& output_layout, const GpuMachine& gpu, LoweringContext& context);

// The product that a call computes; null for the call of another kernel.
const GemmOperation* find_gemm(const KernelCall& call);
// The plan of a product, with the tile that was chosen; and as the template argument of the kernel, for an output in
// blocks of channels.
const kernels::GemmPlan& chosen_plan(const KernelCall& call);
// The model's expectation of the product at the sizes that it was planned for, hints if a run decides.
double planned_microseconds(const KernelCall& call);
std::string gemm_plan_text(const KernelCall& call);
// Whether a kernel counts so many positions, as far as they are known when the model is compiled. Loops take any
// number.
bool may_count_positions(const std::array<Expr, 3>& extents);
// HipKernelSpec::coordinates of its output.
std::vector<std::string> gemm_coordinates(const GemmOperation& operation, size_t rank);

// "float32"
const char* name(kernels::Products products);
// How a floating type is multiplied; `float32`: how float32 is.
kernels::Products products_for(DType dtype, kernels::Products float32);

// The weights in the plan's order, made in each run by a nest that is added to the program. `weight` is the computed
// one of a group, column, tap and input channel. Not for bf16x3.
BufferId pack_computed_weights(
    const kernels::GemmPlan& plan, DType dtype, const Origin& origin, Program& program,
    const std::function<Scalar(const Expr& group, const Expr& column, const Expr& tap, const Expr& channel)>& weight);

}  // namespace onnxc
