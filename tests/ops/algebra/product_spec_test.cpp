#include "ops/algebra/product_spec.h"

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

ProductSpec resolve(const OneNode& node) { return resolve_product(NodeReader(node.node())); }

OneNode& add_matrices(OneNode& node, size_t count) {
  for (size_t i = 0; i < count; ++i) node.input(DType::float32, {3, 3});
  return node;
}

TEST(ProductSpec, HasDefaults) {
  for (const char* type : {"MatMul", "Gemm"})
    for (int version : {1, 9, 13, 22}) {
      OneNode node(type, version);
      const ProductSpec spec = resolve(add_matrices(node, 2));
      EXPECT_FALSE(spec.a_is_transposed || spec.b_is_transposed || spec.has_addend);
      EXPECT_EQ(spec.alpha, 1);
      EXPECT_EQ(spec.a_row_axis(), 0U);
      EXPECT_EQ(spec.a_depth_axis(), 1U);
      EXPECT_EQ(spec.b_depth_axis(), 0U);
      EXPECT_EQ(spec.b_column_axis(), 1U);
    }
}

TEST(ProductSpec, ReadsGemmsAttributes) {
  OneNode node("Gemm");
  add_matrices(node, 3).attribute("transA", int64_t{1}).attribute("alpha", 0.5F).attribute("beta", 2.F);
  const ProductSpec spec = resolve(node);
  EXPECT_TRUE(spec.a_is_transposed);
  EXPECT_FALSE(spec.b_is_transposed);
  EXPECT_EQ(spec.a_row_axis(), 1U);
  EXPECT_EQ(spec.a_depth_axis(), 0U);
  EXPECT_EQ(spec.alpha, 0.5F);
  EXPECT_EQ(spec.beta, 2.F);
  EXPECT_TRUE(spec.has_addend);
}

TEST(ProductSpec, TransposesTheSecondMatrixForAnyValueButZero) {
  OneNode node("Gemm");
  const ProductSpec spec = resolve(add_matrices(node, 2).attribute("transB", int64_t{-1}));
  EXPECT_EQ(spec.b_depth_axis(), 1U);
  EXPECT_EQ(spec.b_column_axis(), 0U);
}

// 0 * c is nothing, also if c is infinite.
TEST(ProductSpec, LeavesOutAnAddendTimesZero) {
  OneNode node("Gemm");
  EXPECT_FALSE(resolve(add_matrices(node, 3).attribute("beta", 0.F)).has_addend);
}

TEST(ProductSpec, RefusesAnAttributeOfAnotherType) {
  OneNode node("Gemm");
  add_matrices(node, 2).attribute("transA", 1.F);
  EXPECT_THAT(node.error(), HasSubstr("'node1' (Gemm): attribute 'transA'"));
}

TEST(ProductSpec, KnowsItsNodes) {
  EXPECT_TRUE(is_matrix_product(OneNode("MatMul").node()));
  EXPECT_TRUE(is_matrix_product(OneNode("Gemm").node()));
  EXPECT_FALSE(is_gemm(OneNode("MatMul").node()));
  EXPECT_FALSE(is_matrix_product(OneNode("Einsum").node()));
}

}  // namespace
}  // namespace onnxc
