// Calls of the implicit-GEMM kernel (kernels/hip/gemm/implicit_gemm.h), as offers make and fusions see them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_choice.h"

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
  GemmSizes sizes(const Graph& graph) const;
  GemmSizes sizes(const Program& program) const;
  // Nothing if only a run knows some.
  std::optional<kernels::ConvSizes> known_sizes() const;
};

// A product, and how the kernel computes it.
struct PlannedGemm {
  GemmOperation operation;
  GemmChoice choice;

  std::optional<double> cost;  // in microseconds, as an offer has it

  std::string title() const;  // "conv 3x3x3 64->64 float32 tile 64x64 split"
};

// "float32"
const char* name(kernels::Products products);
// The template argument of the kernel.
std::string plan_text(const kernels::GemmPlan& plan);
// HipKernelSpec::coordinates of a product's output.
std::vector<std::string> gemm_coordinates(const GemmOperation& operation, size_t rank);

class GemmSpec : public HipKernelSpec {
 public:
  GemmSpec(PlannedGemm planned, KernelOperands operands)
      : planned_(std::move(planned)), operands_(std::move(operands)) {}

  std::string describe() const override { return planned_.title(); }
  std::string device_header() const override { return "kernels/hip/gemm/implicit_gemm.h"; }
  std::string host_header() const override { return "kernels/hip/gemm/gemm_geometry.h"; }
  bool writes_row_major() const override { return true; }
  // A part of a tensor of bytes may begin at any of them, and 16 are loaded at once.
  bool accepts_views() const override { return !kernels::is_bytes(plan().products); }
  DType accumulator() const override { return kernels::is_bytes(plan().products) ? DType::int32 : DType::float32; }
  KernelOperands operands() const override { return operands_; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override;
  std::string function(const KernelCall& call, const Program& program) const override;
  std::string arguments(const KernelCall& call, const KernelText& text) const override;
  std::string blocks() const override;
  std::vector<DeviceFunction> further(const KernelCall& call, const Program& program) const override;
  std::vector<std::string> coordinates(size_t rank) const override { return gemm_coordinates(operation(), rank); }
  KernelFigures figures() const override;

  const PlannedGemm& planned() const { return planned_; }
  const GemmOperation& operation() const { return planned_.operation; }
  // For an output in blocks of channels, with the tile that was chosen.
  const kernels::GemmPlan& plan() const { return planned_.choice.plan; }
  // The model's expectation at the sizes that it was planned for, hints if a run decides.
  double planned_microseconds() const { return planned_.choice.estimate.microseconds; }

 private:
  kernels::GemmPlan plan_of(const KernelCall& call, const Program& program) const;
  std::string sizes(const KernelText& text) const;
  std::string view(const KernelText& text, BufferId id, const GemmAxes& axes, int64_t lanes,
                   int64_t group_channels) const;
  std::string weight_view(const KernelText& text, BufferId id) const;

  PlannedGemm planned_;
  KernelOperands operands_;
};

}  // namespace onnxc
