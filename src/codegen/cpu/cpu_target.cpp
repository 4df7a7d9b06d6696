#include "codegen/cpu/cpu_target.h"

#include "codegen/call/typed_call.h"
#include "codegen/cpu/call/epilogue_printer.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "codegen/cpu/matmul/attention_kernel.h"
#include "codegen/cpu/matmul/matmul_row.h"
#include "codegen/cpu/memory_bound/channel_shift.h"
#include "codegen/cpu/memory_bound/layout_copy.h"
#include "ops/network/normalization_spec.h"
#include "ops/op.h"
#include "passes/lowering/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// In vector multiply-adds at the peak rate, measured on Zen 5. Copies: of a vector in a small tensor 16 to 25, in a
// large one up to 50; those to blocks take 0.6 to 0.85 of those to rows; the least copy takes as long as 4,000. An
// operation that loops fold takes as long as 0.2 to 4, the most if they test whether a tap is in the padding.
LayoutCosts layout_costs(const CpuMachine& machine) {
  return {.copy_to_rows = 35.0,
          .copy_to_blocks = 28.0,
          .copy_step = 4000.0,
          .moved_vector = moved_vector_cost,
          .weight_byte = machine.convolution.weight_byte,
          .operation = 1.0,
          .folded_element = 2.0};
}

// Nothing if it has no channels and space.
ImageSize image_of(const Value* value, const Graph& graph) {
  if (value == nullptr || value->shape->size() < 3) return {};
  const auto usual = [&](const Expr& size) { return static_cast<double>(usual_size(graph, size).value_or(0)); };
  ImageSize image{usual((*value->shape)[1]), 1};
  for (size_t axis = 2; axis < value->shape->size(); ++axis) image.voxels *= usual((*value->shape)[axis]);
  return image;
}

bool is_on_images(const Node& node) {
  return is_instance_normalization(node) || is_operator(&node, "MaxPool") || is_operator(&node, "AveragePool") ||
         is_operator(&node, "GlobalAveragePool");
}

CpuProblem resolve(const Node& node, const Graph& graph) {
  CpuProblem problem{&node};
  if (std::optional<ConvolutionProblem> convolution = as_convolution_problem(node, graph))
    problem.convolution = std::make_shared<ConvolutionProblem>(*std::move(convolution));
  if (std::optional<ByteConvolution> bytes = as_byte_convolution(node, graph))
    problem.bytes = std::make_shared<ByteConvolution>(*std::move(bytes));
  if (is_on_images(node)) {
    problem.input = image_of(node.inputs[0], graph);
    problem.output = image_of(node.outputs[0], graph);
  }
  if (is_product_for_kernels(node)) problem.product_rows = usual_size(graph, product_of(node).rows).value_or(1);
  return problem;
}

bool fits(const Program& program, const KernelCall& call, const Epilogue& epilogue, BufferId output,
          const machine::VectorUnit& vectors) {
  const auto* spec = spec_of<CpuKernelSpec>(call);
  internal_check(spec != nullptr, "a kernel of the CPU target");
  return fits_epilogue(program, epilogue, output, spec->epilogue_form(), vectors);
}

}  // namespace

Offers gather_offers(const CpuProblem& problem, const CpuMachine& machine, WeightForm weights) {
  Offers offers;
  const bool are_computed = problem.convolution && !problem.convolution->convolution.has_constant_weights;
  for (const CpuKernelRow& row : cpu_kernel_rows) {
    if (are_computed && !row.takes_computed_weights) continue;
    const size_t first = offers.size();
    row.offer(problem, machine, offers);
    if (weights == WeightForm::compact && row.transforms_weights)
      for (size_t i = first; i < offers.size(); ++i) offers[i].declined = "its weights are transformed, not compact";
  }
  return offers;
}

WeightForm weight_form(std::string_view name) {
  if (name == "compact") return WeightForm::compact;
  internal_check(name == "fast", "a form of weights that the command line knows");
  return WeightForm::fast;
}

Target cpu_target(const CpuMachine& machine, WeightForm weights) {
  return {.name = "the CPU",
          .machine = machine,
          .block_channels = machine.lanes(),
          .multiplies_integers = true,
          .cost_unit = "vector multiply-adds at the peak rate",
          .costs = layout_costs(machine),
          .offers = [machine, weights](
                        const Node& node,
                        const Graph& graph) { return gather_offers(resolve(node, graph), machine, weights); },
          .fits_epilogue = [vectors = machine.vectors](
                               const Program& program, const KernelCall& call, const Epilogue& epilogue,
                               BufferId output) { return fits(program, call, epilogue, output, vectors); },
          .fusions = {pooled_convolution_fusion(), attention_fusion(machine.vectors)},
          .nests = {{"layout_copy",
                     [vectors = machine.vectors](const Program& program, const LoopNest& nest) {
                       return as_layout_copy(program, nest, vectors);
                     }},
                    {"channel_shift", [vectors = machine.vectors](const Program& program, const LoopNest& nest) {
                       return as_channel_shift(program, nest, vectors);
                     }}}};
}

}  // namespace onnxc
