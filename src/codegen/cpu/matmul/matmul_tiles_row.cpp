// Products with a constant matrix by matrix tiles (matmul_tiles.h): of bfloat16 and of bytes; row-major.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/matmul/byte_matmul.h"
#include "codegen/cpu/matmul/matmul_kernel.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/matmul_tiles/matmul_tiles_geometry.h"
#include "ops/algebra/product_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

using kernels::TilesKind;

constexpr const char* header = "kernels/cpu/matmul_tiles/matmul_tiles.h";

KernelOperand row_major_operand(const Value& value) {
  return whole_operand(*value.shape, {Layout::row_major(value.shape->size())});
}

class TilesMatmulSpec : public CpuKernelSpec {
 public:
  explicit TilesMatmulSpec(const Node& node) : product_(product_of(node)) {
    operands_.inputs = {row_major_operand(*node.inputs[0]), {.is_packed = true}};
    operands_.inputs[1].types = {DType::bfloat16};
    operands_.output = row_major_operand(*node.outputs[0]);
  }

  std::string describe() const override {
    return fmt::format("matmul_tiles {}->{}", *product_.depth.constant(), *product_.columns.constant());
  }
  std::vector<std::string> headers() const override { return {header}; }
  EpilogueForm epilogue_form() const override { return EpilogueForm::rows; }
  std::string arithmetic() const override { return "bfloat16"; }
  bool uses_tiles() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("TilesMatrixProduct<{}, {}, {}, TilesOfBfloat16>", c_type(program, call.inputs[0]),
                       c_type(program, call.output), epilogue);
  }
  std::string sizes(const KernelText& text) const override { return product_sizes(text, product_); }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.inputs[1]), text.pointer(call.output), sizes(text),
                   matrix_view(text, call.inputs[0], product_.a_is_transposed), matrix_view(text, call.output, false),
                   "{}"});
  }
  Expr operations() const override { return product_operations(product_); }

 private:
  Product product_;
  KernelOperands operands_;
};

// The constant matrix as [columns, depth].
std::vector<float> matrix_of_columns(const Value& b, const Product& product) {
  std::vector<float> values = as_float(*b.constant);
  if (product.b_is_transposed) return values;
  const auto depth = static_cast<size_t>(*product.depth.constant());
  const auto columns = static_cast<size_t>(*product.columns.constant());
  std::vector<float> result(values.size());
  for (size_t k = 0; k < depth; ++k)
    for (size_t column = 0; column < columns; ++column) result[column * depth + k] = values[k * columns + column];
  return result;
}

void lower_bfloat16(const Node& node, LoweringContext& context) {
  const Value &a = *node.inputs[0], &b = *node.inputs[1], &output = *node.outputs[0];
  const Product product = product_of(node);
  const std::vector<float> matrix = matrix_of_columns(b, product);
  const kernels::ConvShape shape =
      kernels::tiles_matrix_packing(*product.depth.constant(), *product.columns.constant(), TilesKind::bfloat16).shape;
  KernelCall call;
  call.inputs = {context.buffer_as(a, Layout::row_major(a.shape->size()), node.origin),
                 add_packed(context.program(), b.name, as_tensor(pack_tiles_weights(shape, matrix), DType::bfloat16))};
  call.epilogue = product_epilogue(node, context);
  call.spec = std::make_shared<TilesMatmulSpec>(node);
  context.emit_kernel(std::move(call), output, Layout::row_major(output.shape->size()), node.origin);
}

void lower_bytes(const Node& node, const ByteProduct& product, LoweringContext& context) {
  const kernels::ConvShape shape =
      kernels::tiles_matrix_packing(product.depth, product.columns, TilesKind::bytes).shape;
  lower_byte_matmul(node, {"matmul_tiles", header, "TilesMatrixProduct", ", TilesOfBytes", true},
                    as_tensor(pack_tiles_weights(shape, 1, product.matrix)), context);
}

// Cheaper than other kernels for any number of rows: no cost is weighed, and this row comes first.
void add_offer(std::function<void(LoweringContext&)> lower, Offers& offers) {
  offers.push_back({.kernel = "matmul_tiles", .gives = LayoutDemand::rows, .lower = std::move(lower)});
}

}  // namespace

void offer_matmul_tiles(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (machine.convolution.int8_tile_products == 0) return;
  if (std::optional<ByteProduct> bytes = as_byte_product(node); bytes && bytes->depth * bytes->columns > 0)
    add_offer([&node, bytes = *std::move(bytes)](LoweringContext& context) { lower_bytes(node, bytes, context); },
              offers);
  if (!is_product_for_kernels(node) || !can_be_packed(*node.inputs[1]) || node.inputs[0]->dtype != DType::bfloat16)
    return;
  const Product product = product_of(node);
  if (*product.depth.constant() * *product.columns.constant() == 0) return;
  add_offer([&node](LoweringContext& context) { lower_bfloat16(node, context); }, offers);
}

}  // namespace onnxc
