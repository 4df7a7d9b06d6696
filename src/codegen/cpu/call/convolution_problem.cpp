#include "codegen/cpu/call/convolution_problem.h"

#include <algorithm>
#include <cmath>

#include "codegen/cpu/call/packed_weights.h"
#include "kernels/cpu/conv/conv_depthwise_geometry.h"
#include "passes/lowering/usual_size.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;

constexpr int64_t most_stem_channels = 4;
constexpr int64_t narrowest_row = 8;

// Fraction of the peak that the multiply-adds reach: measured on AVX-512, large maps, weights in cache.
constexpr double direct_share = 0.72, stem_share = 0.95;
// The same in groups, measured on Zen 5: with one block of outputs each multiply-add loads an input.
constexpr double share_of_one_block = 0.45, share_of_blocks = 0.85;
constexpr double clear_gain = 0.8;
// Packed weights of more bytes are a large part of a process's memory.
constexpr int64_t many_weights = 16 * 1024 * 1024;

// Fraction of the taps along an axis that read inside the input; the pads are assumed to be half the kernel, as usual.
double taps_inside(int64_t kernel, int64_t stride, int64_t dilation, int64_t output) {
  int64_t inside = 0;
  for (int64_t at = 0; at < output; ++at)
    for (int64_t tap = 0; tap < kernel; ++tap) {
      const int64_t from = at * stride + tap * dilation - (kernel - 1) * dilation / 2;
      inside += from >= 0 && from < output * stride ? 1 : 0;
    }
  return output == 0 ? 1.0 : as_real(inside) / as_real(kernel * output);
}

double cost_without_transform(const ConvolutionProblem& problem, const CpuMachine& machine, double share) {
  const ConvShape& shape = problem.shape();
  const Axes& output = problem.output;
  const int lanes = machine.lanes();
  const double products =
      as_real(shape.kernel.product() * shape.group_input_channels()) * as_real(output_vectors(shape, machine.vectors));
  // Taps in the padding are left out if the whole register tile reads padding: along the depth nearly all.
  const double computed = machine.convolution.leaves_out_taps_of_padding
                              ? taps_inside(shape.kernel.d, shape.stride.d, shape.dilation.d, output.d)
                              : 1.0;
  return as_real(output.product()) * products * computed / share +
         products * lanes * 4 * machine.convolution.weight_byte;
}

bool has_whole_weights(const Node& node) {
  if (!node.inputs[1]->constant) return false;
  const std::vector<float> weights = as_float(*node.inputs[1]->constant);
  return std::ranges::all_of(weights, [](float weight) { return weight == std::trunc(weight); });
}

}  // namespace

OutputSize output_size(const KernelConvolution& convolution, const Graph& graph) {
  std::array<int64_t, 3> size{};
  bool is_known = true;
  for (size_t i = 0; i < size.size(); ++i) {
    const Expr& extent = convolution.axes[i].output;
    is_known &= extent.constant().has_value();
    size[i] = usual_size(graph, extent).value_or(0);
  }
  return {{size[0], size[1], size[2]}, is_known};
}

std::optional<ConvolutionProblem> as_convolution_problem(const Node& node, const Graph& graph) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  if (!convolution || !has_packable_weights(node)) return std::nullopt;
  const OutputSize output = output_size(*convolution, graph);
  return ConvolutionProblem{*std::move(convolution), output.size, output.is_known, has_whole_weights(node),
                            node.inputs[0]->dtype};
}

bool is_stem(const ConvolutionProblem& problem) {
  return !problem.is_transposed() && problem.shape().groups == 1 &&
         problem.shape().input_channels <= most_stem_channels;
}

bool reads_blocks(const ConvolutionProblem& problem, const CpuMachine& machine) {
  const ConvShape& shape = problem.shape();
  if (problem.is_transposed() || is_stem(problem)) return false;
  const bool is_depthwise = shape.groups > 1 && kernels::depthwise_supports(shape, machine.lanes());
  return !is_depthwise;
}

bool has_short_rows(const ConvolutionProblem& problem) {
  const std::optional<int64_t> width = problem.convolution.axes[2].output.constant();
  return width && *width < narrowest_row && problem.shape().kernel != Axes{1, 1, 1};
}

double as_real(int64_t value) { return static_cast<double>(value); }

double row_vectors(const ConvolutionProblem& problem, const machine::VectorUnit& vectors, int64_t rows) {
  return as_real(rows * kernels::divide_up(problem.output.w, vectors.lanes));
}

int64_t output_vectors(const ConvShape& shape, const machine::VectorUnit& vectors) {
  return shape.groups * kernels::divide_up(shape.group_output_channels(), vectors.lanes);
}

double direct_cost(const ConvolutionProblem& problem, const CpuMachine& machine) {
  const ConvShape& shape = problem.shape();
  if (shape.groups > 1) {
    const bool has_one_block = shape.group_output_channels() <= machine.lanes();
    return cost_without_transform(problem, machine, has_one_block ? share_of_one_block : share_of_blocks);
  }
  const bool has_partial_block = shape.group_input_channels() % machine.lanes() != 0;
  return cost_without_transform(problem, machine,
                                has_partial_block ? machine.convolution.direct_share_of_partial_blocks : direct_share);
}

double stem_cost(const ConvolutionProblem& problem, const CpuMachine& machine) {
  return cost_without_transform(problem, machine, stem_share);
}

double required_gain(const ConvolutionProblem& problem, const CpuMachine& machine, int64_t weight_bytes) {
  const bool must_be_clear = !problem.output_is_known || weight_bytes > many_weights;
  return must_be_clear ? clear_gain : machine.convolution.least_gain;
}

}  // namespace onnxc
