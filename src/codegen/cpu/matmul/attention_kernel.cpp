#include "codegen/cpu/matmul/attention_kernel.h"

#include <algorithm>

#include "codegen/call/kernel_call.h"
#include "codegen/call/typed_call.h"
#include "codegen/cpu/matmul/matmul_row.h"
#include "codegen/cpu/memory_bound/softmax_row.h"
#include "ir/loops/rounding.h"
#include "kernels/cpu/attention/attention_geometry.h"

namespace onnxc {
namespace {

class AttentionSpec : public CpuKernelSpec {
 public:
  AttentionSpec(Product scores, Product product, KernelOperands operands, const machine::VectorUnit& vectors)
      : scores_(std::move(scores)), product_(std::move(product)), operands_(std::move(operands)), vectors_(vectors) {}

  std::string describe() const override {
    const auto depth = scores_.depth.constant(), keys = scores_.columns.constant(),
               columns = product_.columns.constant();
    return depth && keys && columns ? fmt::format("attention {}->{}->{}", *depth, *keys, *columns) : "attention";
  }
  std::vector<std::string> headers() const override { return {"kernels/cpu/attention/attention.h"}; }
  EpilogueForm epilogue_form() const override { return EpilogueForm::rows; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    const int64_t columns = product_.columns.constant().value_or(0);
    return fmt::format("Attention<{}, {}, {}, {}>", 2 * columns <= vectors_.lanes ? columns : 0,
                       c_type(program, call.inputs[0]), c_type(program, call.output), epilogue);
  }

  std::string sizes(const KernelText& text) const override {
    return braced({matrix_batch(text, scores_.batch), text.expr(scores_.rows), text.expr(scores_.columns),
                   text.expr(scores_.depth), text.expr(product_.columns)});
  }

  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    const BufferId queries = call.inputs[0], keys = call.inputs[1], values = call.inputs[2];
    return braced({text.pointer(queries), text.pointer(keys), text.pointer(values), text.pointer(call.output),
                   sizes(text), matrix_view(text, queries, scores_.a_is_transposed),
                   matrix_view(text, keys, scores_.b_is_transposed),
                   matrix_view(text, values, product_.b_is_transposed), matrix_view(text, call.output, false)});
  }

  // Both products, and five for the softmax of each score.
  Expr operations() const override {
    Expr result = scores_.rows * scores_.columns * (2 * (scores_.depth + product_.columns) + 5);
    for (const Expr& extent : scores_.batch) result *= extent;
    return result;
  }

 private:
  Product scores_, product_;
  KernelOperands operands_;
  machine::VectorUnit vectors_;
};

bool have_equal_batches(const Product& a, const Product& b) {
  return std::equal(a.batch.begin(), a.batch.end(), b.batch.begin(), b.batch.end(), proven_equal);
}

using ProductCall = TypedCall<ProductCallSpec>;

std::optional<KernelCall> attention_call(const Program& program, const ProductCall& scores,
                                         const TypedCall<SoftmaxCallSpec>& weights, const ProductCall& product,
                                         const machine::VectorUnit& vectors) {
  const Product &first = scores.spec.product(), &second = product.spec.product();
  if (!weights.spec.is_softmax_of_rows()) return std::nullopt;
  if (weights.call.output != product.call.inputs[0] || scores.call.output == product.call.inputs[1])
    return std::nullopt;
  if (first.b_is_packed || second.b_is_packed || second.a_is_transposed) return std::nullopt;
  if (!have_equal_batches(first, second) || !proven_equal(first.rows, second.rows)) return std::nullopt;
  if (!first.depth.constant() || *first.depth.constant() > kernels::AttentionGeometry::most_depth) return std::nullopt;
  const auto dtype = [&](BufferId id) { return program.buffer(id).dtype; };
  for (const BufferId input : {scores.call.inputs[1], product.call.inputs[1]})
    if (dtype(input) != dtype(scores.call.inputs[0])) return std::nullopt;

  KernelCall call;
  call.inputs = {scores.call.inputs[0], scores.call.inputs[1], product.call.inputs[1]};
  call.output = product.call.output;
  call.inner_epilogue = scores.call.epilogue;
  call.inner_epilogue.value = without_rounding(scores.call.epilogue.value);
  call.epilogue = product.call.epilogue;
  const KernelOperands of_scores = scores.spec.operands(), of_product = product.spec.operands();
  KernelOperands operands{{of_scores.inputs[0], of_scores.inputs[1], of_product.inputs[1]}, of_product.output};
  call.spec = std::make_shared<AttentionSpec>(first, second, std::move(operands), vectors);
  return call;
}

}  // namespace

Fusion attention_fusion(const machine::VectorUnit& vectors) {
  return fusion_of<ProductCallSpec, SoftmaxCallSpec, ProductCallSpec>(
      "attention", [vectors](const Program& program, const auto& scores, const auto& weights, const auto& product) {
        return attention_call(program, scores, weights, product, vectors);
      });
}

}  // namespace onnxc
