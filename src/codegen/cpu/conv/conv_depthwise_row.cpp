// Depthwise convolutions, and groups of few channels (conv_depthwise.h): NCHWc to NCHWc, of floats and of bytes.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_depthwise_packing.h"

namespace onnxc {
namespace {

// Fraction of the peak that the multiply-adds reach, and vector multiply-adds for each vector of the output. Estimated
// for floats, whose only rival is the definition: it costs many times as much. The cost of bytes is not held against
// conv_int8's, which offers nothing for the same groups if a machine has no products of bytes.
constexpr double share = 0.6, output_cost = 8.0;

double cost_of(const kernels::ConvShape& shape, const kernels::Axes& output, const CpuMachine& machine) {
  return as_real(output.product() * output_vectors(shape, machine.vectors)) *
         (as_real(shape.kernel.product()) / share + output_cost);
}

ConvolutionTemplate depthwise_template() { return {"kernels/cpu/conv/conv_depthwise.h", "DepthwiseConvolution"}; }

void lower_floats(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const KernelConvolution& convolution = problem.convolution->convolution;
  lower_convolution(*problem.node, convolution, depthwise_template(), vectors, blocked_input(*problem.node, vectors),
                    as_tensor(pack_depthwise_weights(convolution.shape, vectors.lanes, weights_of(*problem.node))),
                    context);
}

void lower_bytes(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const ByteConvolution& bytes = *problem.bytes;
  const std::vector<float> weights(bytes.weights.begin(), bytes.weights.end());
  lower_byte_convolution(*problem.node, bytes, depthwise_template(), vectors,
                         as_tensor(pack_depthwise_weights(bytes.shape(), vectors.lanes, weights)), context);
}

}  // namespace

void offer_conv_depthwise(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const auto add = [&](const kernels::ConvShape& shape, const kernels::Axes& output, auto lower) {
    offers.push_back({.kernel = "conv_depthwise",
                      .reads = LayoutDemand::blocks,
                      .gives = LayoutDemand::blocks,
                      .cost = cost_of(shape, output, machine),
                      .lower = [problem, vectors = machine.vectors, lower](LoweringContext& context) {
                        lower(problem, vectors, context);
                      }});
  };
  const auto has_groups = [](const kernels::ConvShape& shape) { return shape.groups > 1; };
  if (problem.convolution && !problem.convolution->is_transposed() && has_groups(problem.convolution->shape()) &&
      kernels::depthwise_supports(problem.convolution->shape(), machine.lanes()))
    add(problem.convolution->shape(), problem.convolution->output, lower_floats);
  if (problem.bytes && has_groups(problem.bytes->shape()) &&
      kernels::depthwise_supports_bytes(problem.bytes->shape(), machine.lanes()))
    add(problem.bytes->shape(), problem.bytes->output.size, lower_bytes);
}

}  // namespace onnxc
