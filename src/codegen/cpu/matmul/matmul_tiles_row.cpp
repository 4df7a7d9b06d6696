// Products with a constant matrix by matrix tiles (matmul_tiles.h): of bfloat16, of bytes, and of float32 as digits;
// row-major.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/matmul/byte_matmul.h"
#include "codegen/cpu/matmul/matmul_row.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/matmul_tiles/matmul_tiles_geometry.h"
#include "ops/algebra/product_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

using kernels::TilesKind;
using kernels::TilesPacking;

constexpr const char* header = "kernels/cpu/matmul_tiles/matmul_tiles.h";

KernelOperand row_major_operand(const Value& value) {
  return whole_operand(*value.shape, {Layout::row_major(value.shape->size())});
}

class TilesMatmulSpec : public CpuKernelSpec {
 public:
  TilesMatmulSpec(const Node& node, TilesKind kind)
      : product_(product_of(node)), is_of_digits_(kind == TilesKind::digits) {
    operands_.inputs = {row_major_operand(*node.inputs[0]), {.is_packed = true}};
    operands_.inputs[1].types = {is_of_digits_ ? DType::uint8 : DType::bfloat16};
    operands_.output = row_major_operand(*node.outputs[0]);
  }

  std::string describe() const override {
    return fmt::format("matmul_tiles {}->{}", *product_.depth.constant(), *product_.columns.constant());
  }
  std::vector<std::string> headers() const override { return {header}; }
  EpilogueForm epilogue_form() const override { return EpilogueForm::rows; }
  std::string arithmetic() const override { return is_of_digits_ ? "digits" : "bfloat16"; }
  bool uses_tiles() const override { return true; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("TilesMatrixProduct<{}, {}, {}, {}>", c_type(program, call.inputs[0]),
                       c_type(program, call.output), epilogue, is_of_digits_ ? "TilesOfDigits" : "TilesOfBfloat16");
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
  bool is_of_digits_;
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

TilesPacking packing_of(const Product& product, TilesKind kind) {
  return kernels::tiles_matrix_packing(*product.depth.constant(), *product.columns.constant(), kind);
}

void lower_floats(const Node& node, TilesKind kind, LoweringContext& context) {
  const Value &a = *node.inputs[0], &b = *node.inputs[1], &output = *node.outputs[0];
  const Product product = product_of(node);
  const std::vector<float> matrix = matrix_of_columns(b, product);
  const kernels::ConvShape shape = packing_of(product, kind).shape;
  Tensor packed = kind == TilesKind::digits ? as_tensor(pack_tiles_digits(shape, matrix))
                                            : as_tensor(pack_tiles_weights(shape, matrix), DType::bfloat16);
  KernelCall call;
  call.inputs = {context.buffer_as(a, Layout::row_major(a.shape->size()), node.origin),
                 add_packed(context.program(), b.name, std::move(packed))};
  call.epilogue = product_epilogue(node, context);
  call.spec = std::make_shared<TilesMatmulSpec>(node, kind);
  context.emit_kernel(std::move(call), output, Layout::row_major(output.shape->size()), node.origin);
}

void lower_bytes(const Node& node, const ByteProduct& product, LoweringContext& context) {
  const kernels::ConvShape shape =
      kernels::tiles_matrix_packing(product.depth, product.columns, TilesKind::bytes).shape;
  lower_byte_matmul(node, {"matmul_tiles", header, "TilesMatrixProduct", ", TilesOfBytes", true},
                    as_tensor(pack_tiles_weights(shape, 1, product.matrix)), context);
}

// Whether digits are faster than FMAs for so many rows of one matrix. In vector multiply-adds: matmul.h reaches 87% of
// the peak; digits cost what conv_tiles_row.cpp estimates, of a vector of a and of one of sums.
bool digits_pay(const TilesPacking& packing, int64_t rows, const CpuMachine& machine) {
  constexpr double share_of_peak = 0.87, products_of_digits = 8.0, copy = 24.0, epilogue = 20.0;
  const double lanes = machine.lanes(), weight_byte = machine.convolution.weight_byte;
  const double depth = as_real(packing.shape.input_channels), columns = as_real(packing.shape.output_channels);
  const kernels::TilesMatmulGeometry geometry = kernels::tiles_matmul_geometry(
      packing, {{1, 1, 1, 1}, rows, packing.shape.output_channels, packing.shape.input_channels});
  const double tiles = as_real(geometry.row_blocks * geometry.strip_rows / 16 * packing.output_tiles());
  const double step = as_real(16 * TilesPacking::step_outputs * packing.step_inputs()) * products_of_digits / lanes /
                      machine.convolution.int8_tile_products;
  const double in_digits = tiles * as_real(packing.steps()) * step + as_real(packing.size()) * weight_byte +
                           as_real(rows * geometry.columns.splits) * depth / lanes * copy +
                           as_real(rows) * columns / lanes * epilogue;
  const double by_fmas = as_real(rows) * depth * columns / lanes / share_of_peak + 4 * depth * columns * weight_byte;
  return in_digits < by_fmas;
}

// For float32 if digits pay and are exact enough, for bfloat16 always.
std::optional<TilesKind> kind_of_floats(const CpuProblem& problem, const CpuMachine& machine) {
  const Node& node = *problem.node;
  if (!is_product_for_kernels(node) || !can_be_packed(*node.inputs[1])) return std::nullopt;
  const Product product = product_of(node);
  if (*product.depth.constant() * *product.columns.constant() == 0) return std::nullopt;
  if (node.inputs[0]->dtype == DType::bfloat16) return TilesKind::bfloat16;
  const TilesPacking digits = packing_of(product, TilesKind::digits);
  if (node.inputs[0]->dtype != DType::float32 || !kernels::tiles_support(digits.shape, TilesKind::digits) ||
      !digits_pay(digits, problem.product_rows, machine) ||
      !have_digits(digits.shape, matrix_of_columns(*node.inputs[1], product)))
    return std::nullopt;
  return TilesKind::digits;
}

// No cost is weighed, and this row comes first: bfloat16 and bytes are cheaper than other kernels for any number of
// rows.
void add_offer(std::function<void(LoweringContext&)> lower, Offers& offers) {
  offers.push_back({.kernel = "matmul_tiles",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .activations = 2,
                    .lower = std::move(lower)});
}

}  // namespace

void offer_matmul_tiles(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (machine.convolution.int8_tile_products == 0) return;
  if (std::optional<ByteProduct> bytes = as_byte_product(node); bytes && bytes->depth * bytes->columns > 0)
    add_offer([&node, bytes = *std::move(bytes)](LoweringContext& context) { lower_bytes(node, bytes, context); },
              offers);
  if (const std::optional<TilesKind> kind = kind_of_floats(problem, machine))
    add_offer([&node, kind = *kind](LoweringContext& context) { lower_floats(node, kind, context); }, offers);
}

}  // namespace onnxc
