#include "codegen/call/kernel_call.h"
#include "codegen/hip/memory_bound/line_call.h"
#include "ops/network/softmax_spec.h"

namespace onnxc {
namespace {

Lines softmax_lines(const Node& node, const SoftmaxSpec& spec) {
  const LineKind kind = spec.takes_logarithm() ? LineKind::log_softmax : LineKind::softmax;
  return row_major_lines(kind, *node.inputs[0]->shape, spec.first_axis, spec.end_axis);
}

// A block takes some 0.5 ns for an element of its line, the five kernels of the definition some 10 us together.
constexpr double long_line = 32768, few_lines = 16;

bool has_few_long_lines(const Shape& shape, const SoftmaxSpec& spec) {
  double lines = 1, columns = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::optional<int64_t> extent = shape[i].constant();
    if (!extent) return false;
    (i >= spec.first_axis && i < spec.end_axis ? columns : lines) *= static_cast<double>(*extent);
  }
  return columns >= long_line && lines <= few_lines;
}

}  // namespace

// Softmax and LogSoftmax; not of a few long lines, whose definition is reductions that many blocks share.
void offer_softmax(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_softmax(node) || !has_kernel_types(node) || !has_axes_for_lines(node)) return;
  const SoftmaxSpec spec = resolve_softmax(NodeReader(node));
  if (has_few_long_lines(*node.inputs[0]->shape, spec)) return;
  const PlannedLines planned = plan_lines(problem, softmax_lines(node, spec), gpu);
  if (!may_count(planned)) return;
  offers.push_back({.kernel = planned.title(),
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .cost = cost_of(planned, *problem.graph),
                    .lower = [&node, planned](LoweringContext& context) {
                      const Layout layout = Layout::row_major(node.inputs[0]->shape->size());
                      emit_lines(node, planned, layout, plain_epilogue(*node.outputs[0]), context);
                    }});
}

}  // namespace onnxc
