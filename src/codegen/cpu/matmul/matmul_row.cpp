#include "codegen/cpu/matmul/matmul_row.h"

#include <algorithm>
#include <span>

#include "codegen/call/kernel_call.h"
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "kernels/cpu/matmul/matmul_geometry.h"
#include "kernels/cpu/matmul/matmul_packing.h"
#include "ops/algebra/product_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

constexpr size_t most_batch_axes = kernels::MatmulSizes::batch_rank;

// Whether each axis, aligned at the last, is known to be that of `whole` or 1.
bool broadcasts(std::span<const Expr> shape, std::span<const Expr> whole) {
  if (shape.size() > whole.size()) return false;
  const size_t missing = whole.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is_constant(1) && !proven_equal(shape[i], whole[missing + i])) return false;
  return true;
}

class MatmulSpec : public ProductCallSpec {
 public:
  MatmulSpec(Product product, KernelOperands operands) : product_(std::move(product)), operands_(std::move(operands)) {}

  std::string describe() const override {
    const auto depth = product_.depth.constant(), columns = product_.columns.constant();
    return depth && columns ? fmt::format("matmul {}->{}", *depth, *columns) : "matmul";
  }
  std::vector<std::string> headers() const override { return {"kernels/cpu/matmul/matmul.h"}; }
  EpilogueForm epilogue_form() const override { return EpilogueForm::rows; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("MatrixProduct<{}, {}, {}, {}, {}>", c_type(program, call.inputs[0]),
                       c_type(program, call.inputs[1]), c_type(program, call.output), epilogue, product_.b_is_packed);
  }

  std::string sizes(const KernelText& text) const override { return product_sizes(text, product_); }

  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    const BufferId a = call.inputs[0], b = call.inputs[1];
    return braced({text.pointer(a), text.pointer(b), text.pointer(call.output), sizes(text),
                   matrix_view(text, a, product_.a_is_transposed),
                   product_.b_is_packed ? "{}" : matrix_view(text, b, product_.b_is_transposed),
                   matrix_view(text, call.output, false)});
  }

  const Product& product() const override { return product_; }
  Expr operations() const override { return product_operations(product_); }

 private:
  Product product_;
  KernelOperands operands_;
};

KernelOperand row_major_operand(const Value& value) {
  return whole_operand(*value.shape, {Layout::row_major(value.shape->size())});
}

std::vector<float> packed_matrix(const Value& b, const Product& product, const machine::VectorUnit& vectors) {
  const int64_t depth = *product.depth.constant(), columns = *product.columns.constant();
  const std::vector<float> values = as_float(*b.constant);
  return pack_matrix<float>({depth, columns, vectors.lanes}, values, product.b_is_transposed ? 1 : columns,
                            product.b_is_transposed ? depth : 1);
}

// A constant right operand without batch axes is packed as floats. Gemm's factors and its C become the epilogue.
void lower_matmul(const Node& node, const machine::VectorUnit& vectors, LoweringContext& context) {
  const Value &a = *node.inputs[0], &b = *node.inputs[1], &output = *node.outputs[0];
  Product product = product_of(node);
  product.b_is_packed = can_be_packed(b);
  KernelCall call;
  call.inputs = {context.buffer_as(a, Layout::row_major(a.shape->size()), node.origin),
                 product.b_is_packed
                     ? add_packed(context.program(), b.name, as_tensor(packed_matrix(b, product, vectors)))
                     : context.buffer_as(b, Layout::row_major(b.shape->size()), node.origin)};
  call.epilogue = product_epilogue(node, context);
  KernelOperands operands{
      {row_major_operand(a), product.b_is_packed ? KernelOperand{.is_packed = true} : row_major_operand(b)},
      row_major_operand(output)};
  call.spec = std::make_shared<MatmulSpec>(std::move(product), std::move(operands));
  context.emit_kernel(std::move(call), output, Layout::row_major(output.shape->size()), node.origin);
}

}  // namespace

Product product_of(const Node& node) {
  const NodeReader reader(node);
  const ProductSpec spec = resolve_product(reader);
  const Shape &a = reader.shape(0), &b = reader.shape(1), &output = *node.outputs[0]->shape;
  Product product;
  product.a_is_transposed = spec.a_is_transposed;
  product.b_is_transposed = spec.b_is_transposed;
  product.batch = Shape(output.begin(), output.end() - 2);
  product.rows = output[output.size() - 2];
  product.columns = output.back();
  // Both matrices have it; the one that knows it says it (B if it is a constant).
  product.depth = a[a.size() - 2 + spec.a_depth_axis()];
  if (!product.depth.constant()) product.depth = b[b.size() - 2 + spec.b_depth_axis()];
  return product;
}

bool is_product_for_kernels(const Node& node) {
  if (!is_matrix_product(node)) return false;
  const Value &a = *node.inputs[0], &b = *node.inputs[1];
  const Shape& output = *node.outputs[0]->shape;
  if (!is_kernel_type(a.dtype) || a.shape->size() < 2 || b.shape->size() < 2) return false;
  if (output.size() > most_batch_axes + 2) return false;
  const std::span<const Expr> batch(output.begin(), output.end() - 2);
  for (const Value* operand : {&a, &b})
    if (!broadcasts({operand->shape->begin(), operand->shape->end() - 2}, batch)) return false;
  const NodeReader reader(node);
  return !is_gemm(node) || !reader.has_input(2) || broadcasts(reader.shape(2), output);
}

bool can_be_packed(const Value& b) {
  if (!b.constant) return false;
  return std::ranges::all_of(b.shape->begin(), b.shape->end() - 2, [](const Expr& dim) { return dim.is_constant(1); });
}

std::string product_sizes(const KernelText& text, const Product& product) {
  return braced({matrix_batch(text, product.batch), text.expr(product.rows), text.expr(product.columns),
                 text.expr(product.depth)});
}

Expr product_operations(const Product& product) {
  Expr result = product.rows * product.columns * product.depth * 2;
  for (const Expr& extent : product.batch) result *= extent;
  return result;
}

std::string matrix_view(const KernelText& text, BufferId id, bool is_transposed) {
  const Shape& shape = text.program.buffer(id).shape;
  std::vector<std::string> strides;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool is_broadcast = axis + 2 < shape.size() && shape[axis].is_constant(1);
    strides.push_back(is_broadcast ? "0" : text.expr(axis_stride(text.program, id, axis)));
  }
  std::vector<std::string> batch(most_batch_axes - (shape.size() - 2), "0");
  batch.insert(batch.end(), strides.begin(), strides.end() - 2);
  std::string row = strides[shape.size() - 2], column = strides.back();
  if (is_transposed) std::swap(row, column);
  return braced({braced(batch), row, column});
}

std::string matrix_batch(const KernelText& text, const Shape& batch) {
  std::vector<std::string> extents(most_batch_axes - batch.size(), "1");
  for (const Expr& extent : batch) extents.push_back(text.expr(extent));
  return braced(extents);
}

// MatMul and Gemm.
void offer_matmul(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_product_for_kernels(node)) return;
  offers.push_back({.kernel = "matmul",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .activations = 2,
                    .lower = [&node, vectors = machine.vectors](LoweringContext& context) {
                      lower_matmul(node, vectors, context);
                    }});
}

}  // namespace onnxc
