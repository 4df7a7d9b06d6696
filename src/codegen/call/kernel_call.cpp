#include "codegen/call/kernel_call.h"

#include <fmt/ranges.h>

#include "ops/algebra/product_spec.h"
#include "ops/network/normalization.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// Strides of a buffer in elements; missing leading spatial axes are 0.
struct BlockedStrides {
  Expr batch, channel_block, depth, height;
};

BlockedStrides blocked_strides(const Program& program, BufferId id) {
  const Buffer& buffer = program.buffer(id);
  const size_t rank = buffer.shape.size();
  // One plane is a block of one channel.
  BlockedStrides strides{axis_stride(program, id, 0), axis_stride(program, id, 1, buffer.layout.block_size), 0, 0};
  if (rank >= 5) strides.depth = axis_stride(program, id, rank - 3);
  if (rank >= 4) strides.height = axis_stride(program, id, rank - 2);
  return strides;
}

}  // namespace

std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes) {
  std::array<WindowAxis, 3> result;
  for (WindowAxis& axis : result) {
    axis.input = axis.output = 1;
    axis.pad_begin = axis.pad_end = 0;
  }
  for (size_t i = 0; i < axes.size(); ++i) result[3 - axes.size() + i] = axes[i];
  return result;
}

kernels::Axes gather(const std::array<WindowAxis, 3>& axes, int64_t WindowAxis::* member) {
  return {axes[0].*member, axes[1].*member, axes[2].*member};
}

std::string_view c_type(const Program& program, BufferId id) { return info(program.buffer(id).dtype).c_type; }

bool is_within_rank(const Value& value) { return value.shape->size() >= 3 && value.shape->size() <= 5; }

std::vector<float> as_float(const Tensor& tensor) {
  if (tensor.dtype() == DType::float32) {
    const std::span<const float> values = tensor.values<float>();
    return {values.begin(), values.end()};
  }
  std::vector<double> values = tensor.as_double();
  return {values.begin(), values.end()};
}

namespace {

template <class Element>
Tensor tensor_of(DType dtype, std::vector<Element> elements) {
  const auto owner = std::make_shared<const std::vector<Element>>(std::move(elements));
  return {dtype, {static_cast<int64_t>(owner->size())}, std::as_bytes(std::span(*owner)), owner};
}

BufferId add_constant(Program& program, std::string name, Tensor elements, bool is_packed) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.dtype = elements.dtype();
  buffer.kind = BufferKind::constant;
  buffer.shape = {elements.size()};
  buffer.layout = Layout::row_major(1);
  buffer.constant = std::move(elements);
  buffer.is_packed = is_packed;
  return program.add(std::move(buffer));
}

}  // namespace

Tensor as_tensor(std::vector<float> elements) { return tensor_of(DType::float32, std::move(elements)); }

Tensor as_tensor(std::vector<uint16_t> bits, DType dtype) { return tensor_of(dtype, std::move(bits)); }

Tensor as_tensor(std::vector<uint8_t> bytes) { return tensor_of(DType::uint8, std::move(bytes)); }

BufferId add_parameters(Program& program, std::string name, std::vector<float> values) {
  return add_constant(program, std::move(name), as_tensor(std::move(values)), false);
}

BufferId add_parameters(Program& program, std::string name, Tensor values) {
  return add_constant(program, std::move(name), std::move(values), false);
}

BufferId add_packed(Program& program, std::string name, Tensor packed) {
  return add_constant(program, std::move(name), std::move(packed), true);
}

BufferId add_temporary(Program& program, std::string name, Shape shape) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.dtype = DType::float32;
  buffer.layout = Layout::row_major(shape.size());
  buffer.shape = std::move(shape);
  return program.add(std::move(buffer));
}

void define_by_moments(const Node& node, const Expr& groups, BufferId moments, LoweringContext& context) {
  const Program& program = context.program();
  DefineContext define(node, context.program(), [&](const Value& value) { return context.buffer(value); });
  const Operand statistics{moments, DType::float32, program.buffer(moments).shape};
  define_normalized_by_instance(define, [&](const std::vector<Expr>& place) -> InstanceStatistics {
    const Expr group = floor_div(place[1], floor_div(define.shape(0)[1], groups));
    auto value = [&](int64_t which) { return statistics({which, place[0], group}); };
    return {value(0), value(1), value(2)};
  });
}

Epilogue plain_epilogue(const Value& output, DType accumulator) {
  Epilogue epilogue;
  for (size_t i = 0; i < output.shape->size(); ++i) {
    const Expr& extent = (*output.shape)[i];
    epilogue.axes.push_back({Symbol::axis(fmt::format("i{}", i), extent), extent, AxisKind::parallel});
  }
  epilogue.value = scalar::cast(output.dtype, scalar::accumulator(accumulator, 0));
  return epilogue;
}

Epilogue product_epilogue(const Node& node, LoweringContext& context) {
  const Value& output = *node.outputs[0];
  Epilogue epilogue = plain_epilogue(output);
  const NodeReader reader(node);
  const ProductSpec spec = resolve_product(reader);
  Scalar value = scaled(scalar::accumulator(DType::float32, 0), spec.alpha);
  if (spec.has_addend) {
    const Value& added = reader.input(2);
    const Operand operand{context.buffer_as(added, Layout::row_major(added.shape->size()), node.origin), added.dtype,
                          *added.shape};
    std::vector<Expr> indices;
    for (const Axis& axis : epilogue.axes) indices.emplace_back(axis.symbol);
    value = value + scaled(operand.compute(operand.broadcast_indices(indices)), spec.beta);
  }
  epilogue.value = scalar::cast(output.dtype, value);
  return epilogue;
}

Expr axis_stride(const Program& program, BufferId id, size_t axis, int64_t step) {
  std::vector<Expr> index(program.buffer(id).shape.size(), 0);
  const Expr base = program.offset(id, index);
  index[axis] = step;
  return program.offset(id, index) - base;
}

Expr axis_stride(const Program& program, BufferId id, const std::optional<size_t>& axis, int64_t step) {
  return axis ? axis_stride(program, id, *axis, step) : Expr(0);
}

std::string braced(const std::vector<std::string>& parts) { return fmt::format("{{{}}}", fmt::join(parts, ", ")); }

std::string braced(const kernels::Axes& axes) { return fmt::format("{{{}, {}, {}}}", axes.d, axes.h, axes.w); }

std::string braced(const KernelText& text, const std::array<WindowAxis, 3>& axes, Expr WindowAxis::* member) {
  std::vector<std::string> parts;
  for (const WindowAxis& axis : axes) parts.push_back(text.expr(axis.*member));
  return braced(parts);
}

std::string blocked_view(const KernelText& text, BufferId id) {
  BlockedStrides strides = blocked_strides(text.program, id);
  return braced({text.expr(strides.batch), text.expr(strides.channel_block), text.expr(strides.depth),
                 text.expr(strides.height)});
}

std::string describe(const kernels::Axes& axes) { return fmt::format("{}x{}x{}", axes.d, axes.h, axes.w); }

}  // namespace onnxc
