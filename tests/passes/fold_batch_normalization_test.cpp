#include "passes/fold_batch_normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_builder.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

std::string folded(GraphBuilder& builder) {
  infer_shapes(builder.graph);
  fold_batch_normalization(builder.graph);
  verify(builder.graph);
  return to_string(builder.graph);
}

// Two channels whose factors scale / sqrt(variance) are 3 and -1/2, whose offsets shift - mean * factor are -5 and 4.5.
Value* normalize(GraphBuilder& builder, Value* x, std::vector<NamedAttribute> attributes = {}) {
  attributes.push_back({"epsilon", 0.0F});
  auto parameter = [&](std::vector<float> values) { return builder.constant(DType::float32, {2}, values); };
  return builder.node("BatchNormalization",
                      {x, parameter({6, -2}), parameter({1, 5}), parameter({2, -1}), parameter({4, 16})}, attributes);
}

std::vector<float> values_of(const Value* value) {
  std::span<const float> values = value->constant->values<float>();
  return {values.begin(), values.end()};
}

class FoldBatchNormalization : public testing::Test {
 protected:
  Value* input(Shape shape = {1, 2, 5}) { return builder_.input("x", DType::float32, std::move(shape)); }
  Value* weights(std::vector<int64_t> dims, const std::vector<float>& values) {
    return builder_.constant(DType::float32, std::move(dims), values);
  }
  const Node& convolution() { return *builder_.graph.nodes().front(); }

  GraphBuilder builder_;
};

TEST_F(FoldBatchNormalization, IntoAConvolution) {
  Value* w = weights({2, 2, 1}, {1, 2, 3, 4});
  w->name = "w";
  Value* convolved = builder_.node("Conv", {input(), w, weights({2}, {10, 20})}, {{"group", int64_t{1}}});
  Value* y = normalize(builder_, convolved);
  y->name = "y";
  y->producer->origin.name = "norm";
  builder_.output(y);
  EXPECT_EQ(folded(builder_),
            "input %x: float32[1, 2, 5]\n"
            "constant %w/folded: float32[2, 2, 1]\n"
            "constant %norm/bias: float32[2]\n"
            "%y: float32[1, 2, 5] = Conv(%x, %w/folded, %norm/bias) {group=1}\n"
            "output %y\n");
  EXPECT_THAT(values_of(convolution().inputs[1]), ElementsAre(3, 6, -1.5, -2));
  EXPECT_THAT(values_of(convolution().inputs[2]), ElementsAre(25, -5.5));
}

// The output channel is the second dim of a transposed convolution's weights, within each group.
TEST_F(FoldBatchNormalization, IntoATransposedConvolutionInGroups) {
  Value* w = weights({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  builder_.output(normalize(builder_, builder_.node("ConvTranspose", {input({1, 4, 5}), w}, {{"group", int64_t{2}}})));
  folded(builder_);
  EXPECT_EQ(builder_.graph.nodes().size(), 1u);
  EXPECT_THAT(values_of(convolution().inputs[1]), ElementsAre(3, 6, 9, 12, -2.5, -3, -3.5, -4));
  EXPECT_THAT(values_of(convolution().inputs[2]), ElementsAre(-5, 4.5));
}

TEST_F(FoldBatchNormalization, NotWhenTheConvolutionIsUsedElsewhere) {
  Value* convolved = builder_.node("Conv", {input(), weights({2, 2, 1}, {1, 2, 3, 4})});
  builder_.output(normalize(builder_, convolved));
  builder_.output(builder_.node("Neg", {convolved}));
  folded(builder_);
  EXPECT_EQ(builder_.graph.nodes().size(), 3u);
}

TEST_F(FoldBatchNormalization, NotWhenTheWeightsAreComputed) {
  Value* w = builder_.input("w", DType::float32, {2, 2, 1});
  builder_.output(normalize(builder_, builder_.node("Conv", {input(), w})));
  folded(builder_);
  EXPECT_EQ(builder_.graph.nodes().size(), 2u);
}

TEST_F(FoldBatchNormalization, NotBehindAnotherOperator) {
  builder_.output(normalize(builder_, builder_.node("Relu", {input()})));
  folded(builder_);
  EXPECT_EQ(builder_.graph.nodes().size(), 2u);
}

TEST_F(FoldBatchNormalization, NotWhenItTrains) {
  Value* convolved = builder_.node("Conv", {input(), weights({2, 2, 1}, {1, 2, 3, 4})});
  builder_.output(normalize(builder_, convolved, {{"training_mode", int64_t{1}}}));
  folded(builder_);
  EXPECT_EQ(builder_.graph.nodes().size(), 2u);
}

}  // namespace
}  // namespace onnxc
