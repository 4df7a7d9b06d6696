// Which kernel takes a node, and how it is followed up: the steps of lowered programs. That the kernels compute what
// the definitions mean is tested in kernels/ and, compiled, by tests/ops.
#include "codegen/cpu/cpu_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/fuse_epilogues.h"
#include "passes/fuse_nests.h"
#include "passes/graph_builder.h"
#include "passes/place_stores.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

class CpuTargetTest : public testing::Test {
 protected:
  static constexpr int lanes = 8;

  Value* input(Shape shape) { return builder_.input("x" + std::to_string(count_++), DType::float32, std::move(shape)); }
  Value* weights(std::vector<int64_t> dims) {
    const std::vector<float> values(static_cast<size_t>(checked_product(dims)), 1.0F);
    return builder_.constant(DType::float32, std::move(dims), values);
  }
  Value* conv(Value* x, std::vector<int64_t> dims, int64_t groups = 1) {
    return builder_.node("Conv", {x, weights(std::move(dims))}, {{"group", groups}});
  }

  // What the steps are after lowering and fusion, the kernels' by their descriptions.
  std::vector<std::string> steps() {
    infer_shapes(builder_.graph);
    Program program = lower(builder_.graph, target_, true);
    fuse_nests(program);
    place_stores(program);
    fuse_epilogues(program, target_);
    verify(program);
    std::vector<std::string> names;
    for (const Step& step : program.steps) {
      const auto* call = std::get_if<KernelCall>(&step.work);
      names.push_back(call != nullptr ? call->spec->describe() : std::get<LoopNest>(step.work).name);
    }
    return names;
  }

  GraphBuilder builder_;
  CpuTarget target_{lanes};
  int count_ = 0;
};

TEST_F(CpuTargetTest, AConvolutionTakesWhatFollows) {
  Value* x = conv(input({1, 3, 9, 9}), {16, 3, 3, 3});
  Value* y = builder_.node("Relu", {conv(builder_.node("Relu", {x}), {16, 16, 3, 3})});
  builder_.output(conv(builder_.node("Add", {y, conv(x, {16, 16, 3, 3})}), {5, 16, 1, 1}));
  EXPECT_THAT(steps(), ElementsAre("conv_direct 1x3x3 3->16", "Relu", "conv_direct 1x3x3 16->16",
                                   "conv_direct 1x3x3 16->16", "conv_direct 1x1x1 16->5", "copy"));
}

TEST_F(CpuTargetTest, GroupsOfOneChannelAreDepthwise) {
  builder_.output(conv(input({1, 54, 5, 9, 9}), {54, 1, 3, 3, 3}, 54));
  EXPECT_THAT(steps(), ElementsAre("copy", "conv_depthwise 3x3x3 54->54 groups 54", "copy"));
}

TEST_F(CpuTargetTest, ATransposedConvolutionStoresIntoAConcat) {
  Value* x = conv(input({1, 3, 4, 4}), {24, 3, 1, 1});
  Value* up = builder_.node("ConvTranspose", {x, weights({24, 16, 2, 2})}, {{"strides", std::vector<int64_t>{2, 2}}});
  Value* skip = conv(input({1, 3, 8, 8}), {16, 3, 1, 1});
  builder_.output(conv(builder_.node("Concat", {up, skip}, {{"axis", int64_t{1}}}), {16, 32, 3, 3}));
  EXPECT_THAT(steps(), ElementsAre("conv_direct 1x1x1 3->24", "conv_transpose 1x2x2 24->16 stride 1x2x2",
                                   "conv_direct 1x1x1 3->16", "conv_direct 1x3x3 32->16", "copy"));
}

TEST_F(CpuTargetTest, PoolsAndStatisticsOfBlockedTensorsHaveKernels) {
  Value* x = conv(input({1, 3, 9, 9}), {20, 3, 3, 3});
  Value* pooled = builder_.node("MaxPool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  Value* normalized = builder_.node("InstanceNormalization", {pooled, weights({20}), weights({20})});
  builder_.output(conv(builder_.node("GlobalAveragePool", {normalized}), {8, 20, 1, 1}));
  EXPECT_THAT(steps(), ElementsAre("conv_direct 1x3x3 3->20", "pool maximum 1x2x2 stride 1x1x1", "partial_moments",
                                   "channel_moments", "normalization_factors", "InstanceNormalization", "partial_sums",
                                   "mean_of_channels", "conv_direct 1x1x1 20->8", "copy"));
}

TEST_F(CpuTargetTest, PoolsOfRowMajorTensorsAreLeftToTheirDefinition) {
  builder_.output(builder_.node("MaxPool", {input({1, 3, 9, 9})}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}));
  EXPECT_THAT(steps(), ElementsAre("max_pool"));
}

TEST_F(CpuTargetTest, WeightsThatAreComputedLeaveANodeToItsDefinition) {
  builder_.output(builder_.node("Conv", {input({1, 3, 9, 9}), input({4, 3, 3, 3})}));
  EXPECT_THAT(steps(), ElementsAre("conv"));
}

}  // namespace
}  // namespace onnxc
