#include "codegen/cpu/matmul/byte_matmul.h"

#include "codegen/call/byte_operands.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/matmul/matmul_row.h"
#include "kernels/cpu/matmul/matmul_geometry.h"
#include "ops/node_reader.h"
#include "ops/op.h"

namespace onnxc {
namespace {

// Inputs of MatMulInteger (ONNX 10).
constexpr size_t a = 0, b = 1, a_zero_point = 2, b_zero_point = 3;

KernelOperand bytes_operand(const Value& value) {
  KernelOperand operand = whole_operand(*value.shape, {Layout::row_major(value.shape->size())});
  operand.types = {DType::int8, DType::uint8};
  return operand;
}

class ByteMatmulSpec : public CpuKernelSpec {
 public:
  ByteMatmulSpec(const Node& node, ByteMatmulTemplate chosen)
      : template_(std::move(chosen)),
        depth_(*node.inputs[b]->shape->front().constant()),
        columns_(*node.inputs[b]->shape->back().constant()),
        shape_(*node.outputs[0]->shape) {
    operands_.inputs = {bytes_operand(*node.inputs[a]), {.is_packed = true}};
    operands_.inputs[1].types = {DType::uint8};
    if (NodeReader(node).has_input(a_zero_point)) operands_.inputs.push_back(bytes_operand(*node.inputs[a_zero_point]));
    operands_.output = whole_operand(shape_, {Layout::row_major(shape_.size())});
    operands_.output.types = vector_types;
  }

  std::string describe() const override { return fmt::format("{} {}->{}", template_.title, depth_, columns_); }
  std::vector<std::string> headers() const override { return {template_.header}; }
  EpilogueForm epilogue_form() const override { return EpilogueForm::rows; }
  std::string arithmetic() const override { return "int8"; }
  bool uses_tiles() const override { return template_.uses_tiles; }
  DType accumulator() const override { return DType::int32; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("{}<{}, {}, {}{}>", template_.type, c_type(program, call.inputs[0]),
                       c_type(program, call.output), epilogue, template_.arguments);
  }
  std::string sizes(const KernelText& text) const override {
    const Shape batch(shape_.begin(), shape_.end() - 2);
    return braced({matrix_batch(text, batch), text.expr(shape_[shape_.size() - 2]), std::to_string(columns_),
                   std::to_string(depth_)});
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.output), sizes(text),
                   matrix_view(text, call.inputs[0], false), matrix_view(text, call.output, false),
                   call.inputs.size() > 2 ? "*" + text.pointer(call.inputs[2]) : "0"});
  }
  Expr operations() const override {
    Expr result = 2 * depth_;
    for (const Expr& extent : shape_) result *= extent;
    return result;
  }

 private:
  ByteMatmulTemplate template_;
  int64_t depth_, columns_;
  Shape shape_;  // of the output
  KernelOperands operands_;
};

// The constant matrix less its zero point, [columns, depth]; nothing if that does not fit in int8.
std::optional<std::vector<int8_t>> constant_matrix(const NodeReader& reader) {
  const Tensor* matrix = reader.constant(b);
  if (matrix == nullptr || matrix->dims().size() != 2) return std::nullopt;
  const std::optional<std::vector<int8_t>> rows = bytes_less_zero_point(reader, b, b_zero_point, 1);
  if (!rows) return std::nullopt;
  const auto depth = static_cast<size_t>(matrix->dims()[0]), columns = static_cast<size_t>(matrix->dims()[1]);
  std::vector<int8_t> result(rows->size());
  for (size_t k = 0; k < depth; ++k)
    for (size_t column = 0; column < columns; ++column) result[column * depth + k] = (*rows)[k * columns + column];
  return result;
}

bool supports(const Node& node) {
  if (!is_operator(&node, "MatMulInteger") || node.outputs[0]->shape->size() > kernels::MatmulSizes::batch_rank + 2)
    return false;
  const NodeReader reader(node);
  if (reader.rank(a) < 2) return false;
  // One for all of a.
  return !reader.has_input(a_zero_point) || reader.shape(a_zero_point).empty() ||
         (reader.rank(a_zero_point) == 1 && reader.shape(a_zero_point)[0].is_constant(1));
}

}  // namespace

std::optional<ByteProduct> as_byte_product(const Node& node) {
  if (!supports(node)) return std::nullopt;
  std::optional<std::vector<int8_t>> matrix = constant_matrix(NodeReader(node));
  if (!matrix) return std::nullopt;
  const Shape& dims = *node.inputs[b]->shape;
  return ByteProduct{*dims[0].constant(), *dims[1].constant(), *std::move(matrix)};
}

void lower_byte_matmul(const Node& node, ByteMatmulTemplate chosen, Tensor packed, LoweringContext& context) {
  const Value &input = *node.inputs[a], &output = *node.outputs[0];
  const auto row_major = [](const Value& value) { return Layout::row_major(value.shape->size()); };
  auto spec = std::make_shared<ByteMatmulSpec>(node, std::move(chosen));
  KernelCall call;
  call.inputs = {context.buffer_as(input, row_major(input), node.origin),
                 add_packed(context.program(), node.inputs[b]->name, std::move(packed))};
  if (NodeReader(node).has_input(a_zero_point)) {
    const Value& zero = *node.inputs[a_zero_point];
    call.inputs.push_back(context.buffer_as(zero, row_major(zero), node.origin));
  }
  call.epilogue = plain_epilogue(output, DType::int32);
  call.spec = std::move(spec);
  context.emit_kernel(std::move(call), output, row_major(output), node.origin);
}

}  // namespace onnxc
