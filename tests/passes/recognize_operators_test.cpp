#include "passes/recognize_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "ir/interpreter.h"
#include "passes/graph_builder.h"
#include "passes/lower.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

class RecognizeOperatorsTest : public testing::Test {
 protected:
  Value* constant(std::vector<int64_t> dims, const std::vector<float>& values) {
    return builder_.constant(DType::float32, std::move(dims), values);
  }
  Value* reshape(Value* x, const std::vector<int64_t>& dims) {
    return builder_.node("Reshape", {x, builder_.integers(dims)});
  }

  // The operators after the pass, whose results must be those before it.
  std::vector<std::string> operators() {
    infer_shapes(builder_.graph);
    const std::vector<float> before = results();
    recognize_operators(builder_.graph);
    verify(builder_.graph);
    EXPECT_THAT(results(), Pointwise(FloatNear(1e-5F), before));
    std::vector<std::string> names;
    for (const auto& node : builder_.graph.nodes()) names.emplace_back(node->op->name);
    return names;
  }

  std::vector<float> results() {
    const Program program = lower(builder_.graph, CpuTarget(8), false);
    const std::vector<int64_t> dims = *constant_dims(*builder_.graph.inputs[0]->shape);
    std::vector<float> values(static_cast<size_t>(checked_product(dims)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17) - 3;
    const std::vector<Tensor> inputs{Tensor::of(DType::float32, dims, values)};
    const Tensor result = interpret(program, {}, inputs).front();
    return {result.values<float>().begin(), result.values<float>().end()};
  }

  GraphBuilder builder_;
};

TEST_F(RecognizeOperatorsTest, AnInstanceNormalizationBetweenReshapesIsOneOfGroups) {
  Value* x = builder_.input("x", DType::float32, {2, 6, 3, 5});
  Value* normalized = builder_.node("InstanceNormalization",
                                    {reshape(x, {0, 3, -1}), constant({3}, {1, 2, 3}), constant({3}, {4, 5, 6})});
  builder_.output(builder_.node("Mul", {reshape(normalized, {2, 6, 3, 5}), constant({6, 1, 1}, {1, 2, 3, 4, 5, 6})}));
  EXPECT_THAT(operators(), ElementsAre("GroupNormalization", "Mul"));
}

TEST_F(RecognizeOperatorsTest, ReshapesThatDoNotGroupChannelsStay) {
  Value* x = builder_.input("x", DType::float32, {2, 6, 3, 5});
  Value* normalized = builder_.node(
      "InstanceNormalization",
      {reshape(x, {1, 12, -1}), constant({12}, std::vector<float>(12, 1)), constant({12}, std::vector<float>(12, 0))});
  builder_.output(reshape(normalized, {2, 6, 3, 5}));
  EXPECT_THAT(operators(), ElementsAre("Reshape", "InstanceNormalization", "Reshape"));
}

TEST_F(RecognizeOperatorsTest, AGroupedTensorThatIsUsedElsewhereStays) {
  Value* x = builder_.input("x", DType::float32, {2, 6, 3, 5});
  Value* normalized = builder_.node("InstanceNormalization",
                                    {reshape(x, {0, 3, -1}), constant({3}, {1, 2, 3}), constant({3}, {4, 5, 6})});
  builder_.output(reshape(normalized, {2, 6, 3, 5}));
  builder_.output(normalized);
  EXPECT_THAT(operators(), ElementsAre("Reshape", "InstanceNormalization", "Reshape"));
}

TEST_F(RecognizeOperatorsTest, AMeanOverSpaceIsAGlobalPool) {
  Value* x = builder_.input("x", DType::float32, {2, 6, 3, 5});
  builder_.output(builder_.node("ReduceMean", {x, builder_.integers({-1, 2})}));
  EXPECT_THAT(operators(), ElementsAre("GlobalAveragePool"));
}

TEST_F(RecognizeOperatorsTest, AMeanOverOtherAxesStays) {
  Value* x = builder_.input("x", DType::float32, {2, 6, 3, 5});
  Value* part = builder_.node("ReduceMean", {x, builder_.integers({3})});
  builder_.output(builder_.node("ReduceMean", {part, builder_.integers({1, 2})}, {{"keepdims", int64_t{0}}}));
  EXPECT_THAT(operators(), ElementsAre("ReduceMean", "ReduceMean"));
}

}  // namespace
}  // namespace onnxc
