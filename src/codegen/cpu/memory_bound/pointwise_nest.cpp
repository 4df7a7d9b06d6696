#include "codegen/cpu/memory_bound/pointwise_nest.h"

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/epilogue_printer.h"

namespace onnxc {
namespace {

// The first buffer that the value loads so.
std::optional<BufferId> find_input(const Program& program, const LoopNest& nest, const Scalar& value,
                                   const Layout& layout) {
  std::optional<BufferId> input;
  visit(value, [&](const ScalarNode& node) {
    if (input || node.op != ScalarOp::load) return;
    const Buffer& buffer = program.buffer(node.buffer);
    if (buffer.layout == layout && !buffer.is_packed && is_kernel_type(buffer.dtype) &&
        covers_buffer(nest, buffer, node.indices))
      input = node.buffer;
  });
  return input;
}

}  // namespace

bool covers_buffer(const LoopNest& nest, const Buffer& buffer, const std::vector<Expr>& indices) {
  if (indices.size() != nest.axes.size()) return false;
  for (size_t i = 0; i < indices.size(); ++i)
    if (!(indices[i] == Expr(nest.axes[i].symbol)) || !proven_equal(nest.axes[i].extent, buffer.shape[i])) return false;
  return true;
}

std::optional<PointwiseNest> as_pointwise_nest(const Program& program, const LoopNest& nest, const Layout& input_layout,
                                               const machine::VectorUnit& vectors) {
  if (nest.stores.size() != 1 || !nest.accumulators.empty() || !nest.lets.empty()) return std::nullopt;
  const Store& store = nest.stores.front();
  if (store.kind != StoreKind::assign || store.condition) return std::nullopt;
  if (nest.axes.size() < 3 || nest.axes.size() > 5) return std::nullopt;
  for (const Axis& axis : nest.axes)
    if (axis.kind != AxisKind::parallel) return std::nullopt;
  const std::optional<BufferId> input = find_input(program, nest, store.value, input_layout);
  if (!input) return std::nullopt;
  const DType stored = program.buffer(store.buffer).dtype;
  if (store.value->op == ScalarOp::load && store.value->dtype == stored) return PointwiseNest{*input, {}};
  Epilogue epilogue{nest.axes, replace_loads(store.value, [&](const ScalarNode& load) {
                      const bool is_input =
                          load.buffer == *input && covers_buffer(nest, program.buffer(load.buffer), load.indices);
                      return is_input ? scalar::cast(load.dtype, scalar::accumulator(DType::float32, 0)) : Scalar();
                    })};
  if (!epilogue_takes_blocks(program, epilogue, vectors)) return std::nullopt;
  return PointwiseNest{*input, std::move(epilogue)};
}

}  // namespace onnxc
