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
#include "passes/lowering/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// For a vector in a small tensor 25 were measured, in large ones more.
constexpr double copy_to_rows_cost = 35.0;

CpuProblem resolve(const Node& node, const Graph& graph) {
  CpuProblem problem{&node};
  if (std::optional<ConvolutionProblem> convolution = as_convolution_problem(node, graph))
    problem.convolution = std::make_shared<ConvolutionProblem>(*std::move(convolution));
  if (std::optional<ByteConvolution> bytes = as_byte_convolution(node, graph))
    problem.bytes = std::make_shared<ByteConvolution>(*std::move(bytes));
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

Offers gather_offers(const CpuProblem& problem, const CpuMachine& machine) {
  Offers offers;
  const bool are_computed = problem.convolution && !problem.convolution->convolution.has_constant_weights;
  for (const CpuKernelRow& row : cpu_kernel_rows)
    if (!are_computed || row.takes_computed_weights) row.offer(problem, machine, offers);
  return offers;
}

Target cpu_target(const CpuMachine& machine) {
  return {.name = "the CPU",
          .machine = machine,
          .block_channels = machine.lanes(),
          .multiplies_integers = true,
          .cost_unit = "vector multiply-adds at the peak rate",
          .copy_to_rows_cost = copy_to_rows_cost,
          .offers = [machine](const Node& node,
                              const Graph& graph) { return gather_offers(resolve(node, graph), machine); },
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
