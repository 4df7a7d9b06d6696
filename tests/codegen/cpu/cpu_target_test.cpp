// Which kernel takes a node, and how it is followed up: the steps of lowered programs. Tests in kernels/ and, compiled,
// in tests/ops show that the kernels compute what the definitions mean.
#include "codegen/cpu/cpu_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/program/fuse_epilogues.h"
#include "passes/program/fuse_kernels.h"
#include "passes/program/fuse_nests.h"
#include "passes/program/place_stores.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

// The steps of a graph after lowering and fusion, the kernels' by their descriptions.
std::vector<std::string> steps(const std::string& graph, WeightForm weights = WeightForm::fast) {
  const Target target = cpu_target(*find_cpu_machine("x86-64-v3"), weights);
  Program program = lower_for(*read_shaped_graph(graph), target);
  fuse_nests(program);
  place_stores(program);
  fuse_epilogues(program, target);
  fuse_kernels(program, target);
  verify(program);
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<KernelCall>(&step.work);
    names.push_back(call != nullptr ? call->spec->describe() : std::get<LoopNest>(step.work).name);
  }
  return names;
}

TEST(CpuTarget, AConvolutionTakesWhatFollows) {
  EXPECT_THAT(steps(R"((float[1, 3, 9, 9] x) => (y)
      <float[16, 3, 3, 3] wa, float[16, 16, 3, 3] wb, float[16, 16, 3, 3] wc, float[5, 16, 1, 1] wd> {
    a = Conv(x, wa)
    activated = Relu(a)
    b = Conv(activated, wb)
    left = Relu(b)
    right = Conv(a, wc)
    sum = Add(left, right)
    y = Conv(sum, wd)
  })"),
              ElementsAre("conv_stem 1x3x3 3->16", "Relu", "conv_direct 1x3x3 16->16", "conv_direct 1x3x3 16->16",
                          "conv_direct 1x1x1 16->5", "copy"));
}

TEST(CpuTarget, CompactWeightsAreNotTransformed) {
  const char* const deep =
      "(float[1, 32, 16, 16, 16] x) => (y) <float[32, 32, 3, 3, 3] w> { y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }";
  EXPECT_THAT(steps(deep), ElementsAre("copy", "conv_winograd F(2,2,2) 3x3x3 32->32", "copy"));
  EXPECT_THAT(steps(deep, WeightForm::compact), ElementsAre("copy", "conv_direct 3x3x3 32->32", "copy"));
  const char* const stem =
      "(float[1, 3, 16, 56, 56] x) => (y) <float[64, 3, 3, 7, 7] w> { y = Conv <pads = [1, 3, 3, 1, 3, 3]> (x, w) }";
  EXPECT_THAT(steps(stem), ElementsAre(testing::StartsWith("conv_stem_winograd"), "copy"));
  EXPECT_THAT(steps(stem, WeightForm::compact), ElementsAre("conv_stem 3x7x7 3->64", "copy"));
}

TEST(CpuTarget, GroupsOfOneChannelAreDepthwise) {
  EXPECT_THAT(steps("(float[1, 54, 5, 9, 9] x) => (y) <float[54, 1, 3, 3, 3] w> { y = Conv <group = 54> (x, w) }"),
              ElementsAre("copy", "conv_depthwise 3x3x3 54->54 groups 54", "copy"));
}

TEST(CpuTarget, GroupsOfFewChannelsTakeTheDepthwiseKernel) {
  EXPECT_THAT(steps("(float[1, 128, 5, 9, 9] x) => (y) <float[128, 4, 3, 3, 3] w> { y = Conv <group = 32> (x, w) }"),
              ElementsAre("copy", "conv_depthwise 3x3x3 128->128 groups 32", "copy"));
}

TEST(CpuTarget, ATransposedConvolutionStoresIntoAConcat) {
  EXPECT_THAT(steps(R"((float[1, 3, 4, 4] small, float[1, 3, 8, 8] large) => (y)
      <float[24, 3, 1, 1] wa, float[24, 16, 2, 2] wb, float[16, 3, 1, 1] wc, float[16, 32, 3, 3] wd> {
    a = Conv(small, wa)
    up = ConvTranspose <strides = [2, 2]> (a, wb)
    skip = Conv(large, wc)
    joined = Concat <axis = 1> (up, skip)
    y = Conv(joined, wd)
  })"),
              ElementsAre("conv_stem 1x1x1 3->24", "conv_transpose 1x2x2 24->16 stride 1x2x2", "conv_stem 1x1x1 3->16",
                          "conv_winograd F(2,2) 1x3x3 32->16", "copy"));
}

TEST(CpuTarget, PoolsAndStatisticsOfBlockedTensorsHaveKernels) {
  EXPECT_THAT(
      steps(R"((float[1, 3, 9, 9] x) => (y)
      <float[20, 3, 3, 3] wa, float[20] scale, float[20] bias, float[8, 20, 1, 1] wb> {
    a = Conv(x, wa)
    pooled = MaxPool <kernel_shape = [2, 2]> (a)
    normalized = InstanceNormalization(pooled, scale, bias)
    mean = GlobalAveragePool(normalized)
    y = Conv(mean, wb)
  })"),
      ElementsAre("conv_stem 1x3x3 3->20", "pool maximum 1x2x2 stride 1x1x1", "partial_moments", "channel_moments",
                  "normalization_factors", "InstanceNormalization", "partial_sums", "mean_of_channels", "conv"));
}

// A window of 729 taps is 11 folds of each output, and so is each voxel's share of the work; with known and free sizes.
TEST(CpuTarget, LargeWindowsAreFoldedAxisByAxis) {
  for (const char* size : {"48, 48, 48", "d, h, w"}) {
    const auto pool = [&](const char* node, const char* type = "float") {
      return steps(fmt::format("({}[1, 4, {}] x) => ({}[1, 4, a, b, c] y) {{ y = {} (x) }}", type, size, type, node));
    };
    const char* nine = "MaxPool <kernel_shape = [9, 9, 9], pads = [4, 4, 4, 4, 4, 4]>";
    const char* kernel = "pool_separable in rows maximum 9x9x9 stride 1x1x1";
    EXPECT_THAT(pool(nine), ElementsAre(kernel));
    EXPECT_THAT(pool(nine, "float16"), ElementsAre(kernel));
    EXPECT_THAT(pool(nine, "uint8"), ElementsAre(kernel));
    EXPECT_THAT(pool("MaxPool <kernel_shape = [5, 5, 5], strides = [1, 1, 2]>"),
                ElementsAre("copy", "pool_separable maximum 5x5x5 stride 1x1x2", "copy"));
    EXPECT_THAT(pool("AveragePool <kernel_shape = [5, 5, 5]>"),
                ElementsAre("copy", "pool_separable average 5x5x5 stride 1x1x1", "copy"));
  }
}

// Small windows, or with strides, on what is in rows: no max pool without indices is a loop.
TEST(CpuTarget, SmallMaximaInRowsStayThere) {
  for (const char* size : {"4, 48, 48, 48", "4, d, h, w", "c, 9, 9, 9"})
    for (const char* type : {"float", "float16", "int8"})
      for (const char* window :
           {"kernel_shape = [3, 3, 3], strides = [2, 2, 2]", "kernel_shape = [2, 2, 2], dilations = [1, 2, 3]",
            "kernel_shape = [5, 1, 1], strides = [3, 1, 1], ceil_mode = 1"})
        EXPECT_THAT(steps(fmt::format("({}[1, {}] x) => ({}[1, n, a, b, c] y) {{ y = MaxPool <{}> (x) }}", type, size,
                                      type, window)),
                    ElementsAre(testing::StartsWith("pool in rows maximum")))
            << size << type << window;
}

// In blocks if its input is.
TEST(CpuTarget, LargeWindowsBetweenConvolutionsStayInBlocks) {
  EXPECT_THAT(steps(R"((float[1, 3, 20, 20] x) => (y) <float[32, 3, 3, 3] wa, float[8, 32, 1, 1] wb> {
    a = Conv(x, wa)
    pooled = MaxPool <kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (a)
    y = Conv(pooled, wb)
  })"),
              testing::Contains(testing::StartsWith("pool_separable maximum 1x5x5")));
}

// Windows that do not overlap and that make up the convolution's tiles, whatever lies between.
TEST(CpuTarget, AMaxPoolIsPartOfItsConvolution) {
  EXPECT_THAT(steps(R"((float[1, 3, 9, 40, 41] x) => (y)
      <float[64, 3, 3, 3, 3] wa, float[64, 64, 3, 3, 3] wb, float[64, 64, 3, 3, 3] wc> {
    a = Conv(x, wa)
    activated = Relu(a)
    pooled = MaxPool <kernel_shape = [1, 2, 2], strides = [1, 2, 2]> (activated)
    b = Conv <pads = [1, 1, 1, 1, 1, 1]> (pooled, wb)
    halved = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2], ceil_mode = 1> (b)
    quarter = Mul(halved, halved)
    y = Conv <pads = [1, 1, 1, 1, 1, 1]> (quarter, wc)
  })"),
              ElementsAre("conv_stem_winograd 3x3x3 3->64 maximum of 1x2x2",
                          "conv_winograd F(2,2,2) 3x3x3 64->64 maximum of 2x2x2", "conv_winograd F(2,2,2) 3x3x3 64->64",
                          "copy"));
}

TEST(CpuTarget, APoolStaysApart) {
  const char* graph = R"((float[1, 64, 8, 18, 24] x) => (y)
      <float[64, 64, 3, 3, 3] wa, float[64, 64, {}] wb> {{
    before = Conv(x, wa)
    a = Conv(before, wb)
    pooled = {} (a)
    {}
  }})";
  const auto with = [&](const char* kernel, const char* pool, const char* last = "y = Relu(pooled)") {
    return steps(fmt::format(fmt::runtime(graph), kernel, pool, last));
  };
  const auto is_apart = testing::Contains(testing::StartsWith("pool maximum"));
  const char* halving = "MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]>";
  EXPECT_THAT(with("3, 3, 3", halving), testing::Not(is_apart));
  EXPECT_THAT(with("3, 3, 3", halving,
                   "other = AveragePool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (a) y = Add(pooled, other)"),
              is_apart);                            // another reader
  EXPECT_THAT(with("1, 1, 1", halving), is_apart);  // a kernel whose tasks are any voxels
  EXPECT_THAT(with("3, 3, 3", "MaxPool <kernel_shape = [3, 3, 3], strides = [3, 3, 3]>"), is_apart);
  EXPECT_THAT(with("3, 3, 3", "MaxPool <kernel_shape = [2, 2, 2]>"), is_apart);
  EXPECT_THAT(with("3, 3, 3", "MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2], pads = [0, 1, 0, 0, 1, 0]>"),
              is_apart);
  EXPECT_THAT(with("3, 3, 3", "MaxPool <kernel_shape = [1, 2, 2], strides = [1, 2, 2], dilations = [1, 1, 2]>"),
              is_apart);
  EXPECT_THAT(with("3, 3, 3", "AveragePool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]>"),
              testing::Contains(testing::StartsWith("pool average")));
}

// Steps between few channels on both sides stay in rows.
TEST(CpuTarget, FewChannelsStayInRows) {
  EXPECT_THAT(steps(R"((float[1, 32, 6, 6, 6] x) => (y)
      <float[32, 3, 3, 3, 3] wa, float[3] scale, float[3] bias, float[3, 1, 1, 1] slope, float[3, 3, 3, 3, 3] wb> {
    up = ConvTranspose <strides = [2, 2, 2]> (x, wa)
    normalized = InstanceNormalization(up, scale, bias)
    activated = PRelu(normalized, slope)
    b = Conv <pads = [1, 1, 1, 1, 1, 1]> (activated, wb)
    y = Add(b, activated)
  })"),
              ElementsAre("copy", "conv_transpose to rows 3x3x3 32->3 stride 2x2x2", "partial_moments",
                          "channel_moments", "normalization_factors", "PRelu", "conv_planar_winograd 3x3x3 3->3"));
}

// The last layer of a segmentation network writes the model's output, with what follows it.
TEST(CpuTarget, ManyChannelsBecomeFewInRows) {
  EXPECT_THAT(steps(R"((float[1, 1, 9, 9] x) => (y) <float[24, 1, 3, 3] wa, float[3, 24, 1, 1] wb, float[1, 7] column> {
    a = Conv(x, wa)
    b = Conv(a, wb)
    y = Add(b, column)
  })"),
              ElementsAre("conv_stem 1x3x3 1->24", "conv to rows 1x1x1 24->3"));
  // A pool has a kernel for rows as well.
  EXPECT_THAT(steps(R"((float[1, 32, 6, 8] x) => (y) <float[32, 3, 2, 2] wa, float[6, 3, 1, 1] wb> {
    up = ConvTranspose <strides = [2, 2]> (x, wa)
    pooled = MaxPool <kernel_shape = [2, 2]> (up)
    y = Conv(pooled, wb)
  })"),
              ElementsAre("copy", "conv_transpose to rows 1x2x2 32->3 stride 1x2x2",
                          "pool in rows maximum 1x2x2 stride 1x1x1", "conv_stem 1x1x1 3->6", "copy"));
  // With a stride there is no such kernel.
  EXPECT_THAT(steps("(float[1, 32, 6, 18] x) => (y) <float[3, 32, 1, 1] w> { y = Conv <strides = [1, 2]> (x, w) }"),
              ElementsAre("copy", "conv_direct 1x1x1 32->3 stride 1x1x2", "copy"));
}

TEST(CpuTarget, FewChannelsStayInRowsFromOneConvolutionToTheNext) {
  EXPECT_THAT(steps(R"((float[1, 3, 9, 19] x) => (y) <float[4, 3, 3, 3] wa, float[20, 4, 3, 3] wb> {
    a = Conv(x, wa)
    activated = Relu(a)
    pooled = MaxPool <kernel_shape = [2, 2]> (activated)
    y = Conv(pooled, wb)
  })"),
              ElementsAre("conv_planar 1x3x3 3->4", "pool in rows maximum 1x2x2 stride 1x1x1",
                          "conv_planar_winograd 1x3x3 4->20"));
}

// The next convolution reads rows; of rows of six voxels a vector would be mostly empty.
TEST(CpuTarget, RowsOfAConvolutionMustBeLong) {
  const char* graph = R"((float[1, 3, 9, {}] x) => (y) <float[4, 3, 3, 3] wa, float[20, 4, 3, 3] wb> {{
    a = Conv(x, wa)
    y = Conv(a, wb)
  }})";
  EXPECT_THAT(steps(fmt::format(fmt::runtime(graph), 20)),
              ElementsAre("conv_planar 1x3x3 3->4", "conv_planar_winograd 1x3x3 4->20"));
  EXPECT_THAT(steps(fmt::format(fmt::runtime(graph), 8)),
              ElementsAre("conv_stem 1x3x3 3->4", "copy", "conv_stem 1x3x3 4->20", "copy"));
}

TEST(CpuTarget, AveragesOfRowMajorTensorsAreLeftToTheirDefinition) {
  EXPECT_THAT(steps("(float[1, 3, 9, 9] x) => (y) { y = AveragePool <kernel_shape = [2, 2]> (x) }"),
              ElementsAre("average_pool"));
}

// A run moves them to where the kernel reads them. It does not transform them: this is Winograd's with constants.
TEST(CpuTarget, ComputedWeightsArePackedInARun) {
  const auto of = [](std::string_view weights, std::string_view node) {
    return steps(fmt::format("(float[2, 32, 9, 20] x, {}) => (y) {{ y = {} }}", weights, node));
  };
  EXPECT_THAT(of("float[40, 32, 3, 3] w", "Conv(x, w)"),
              ElementsAre("copy", "pack_weights", "conv_direct 1x3x3 32->40", "copy"));
  EXPECT_THAT(of("float[2, 32, 3, 3] w, float[2] b", "Conv(x, w, b)"),
              ElementsAre("copy", "pack_weights", "conv to rows 1x3x3 32->2"));
  EXPECT_THAT(of("float[32, 1, 3, 3] w", "Conv <group = 32> (x, w)"),
              ElementsAre("copy", "pack_weights", "conv_depthwise 1x3x3 32->32 groups 32", "copy"));
  EXPECT_THAT(of("float[32, 16, 2, 2] w", "ConvTranspose <strides = [2, 2]> (x, w)"),
              ElementsAre("copy", "pack_weights", "conv_transpose 1x2x2 32->16 stride 1x2x2", "copy"));
  EXPECT_THAT(steps("(float[1, 3, 9, 20] x, float[4, 3, 3, 3] w) => (y) { y = Conv(x, w) }"),
              ElementsAre("pack_weights", "conv_planar 1x3x3 3->4"));
}

TEST(CpuTarget, ABiasMayBeComputedBesideConstantWeights) {
  EXPECT_THAT(steps("(float[1, 3, 9, 20] x, float[4] b) => (y) <float[4, 3, 3, 3] w> { y = Conv(x, w, b) }"),
              ElementsAre("conv_planar 1x3x3 3->4"));
}

// With so many weights float32 does not tell the places apart; of others the number is not known.
TEST(CpuTarget, ComputedWeightsThatCannotBePackedLeaveANodeToItsDefinition) {
  EXPECT_THAT(steps("(float[1, 4096, 3, 3] x, float[4096, 4096, 1, 1] w) => (y) { y = Conv(x, w) }"),
              ElementsAre("conv"));
  EXPECT_THAT(steps("(float[1, 3, 9, 9] x, float[K, 3, 3, 3] w) => (y) { y = Conv(x, w) }"), ElementsAre("conv"));
}

TEST(CpuTarget, AttentionIsOneKernelWithWhatScalesAndMasksItsScores) {
  EXPECT_THAT(steps(R"((float[2, 3, L, 4] q, float[2, 3, S, 4] k, float[2, 3, S, 5] v, float[L, S] mask) => (y)
      <float scale = {2}, float[3, 1, 1] bias> {
    transposed = Transpose <perm = [0, 1, 3, 2]> (k)
    scores = MatMul(q, transposed)
    scaled = Div(scores, scale)
    biased = Add(scaled, bias)
    masked = Add(biased, mask)
    weights = Softmax(masked)
    mixed = MatMul(weights, v)
    y = Relu(mixed)
  })"),
              ElementsAre("Transpose", "attention"));
  EXPECT_THAT(steps(R"((float[7, 4] q, float[4, 9] k, float[9, 5] v) => (y) {
    scores = MatMul(q, k)
    weights = Softmax(scores)
    y = MatMul(weights, v)
  })"),
              ElementsAre("attention 4->9->5"));
  EXPECT_THAT(steps(R"((float16[7, 4] q, float16[4, 9] k, float16[9, 5] v) => (y) {
    scores = MatMul(q, k)
    weights = Softmax(scores)
    y = MatMul(weights, v)
  })"),
              ElementsAre("attention 4->9->5"));
}

struct SeparateAttention {
  const char* name;
  const char* graph;
};
class CpuTargetKeeps : public testing::TestWithParam<SeparateAttention> {};

TEST_P(CpuTargetKeeps, TheStepsOfAttentionApart) {
  EXPECT_THAT(steps(GetParam().graph), testing::Each(testing::Not(testing::StartsWith("attention"))));
}

const SeparateAttention separate[] = {
    {"ScoresThatAreAnOutput", R"((float[7, 4] q, float[4, 9] k, float[9, 5] v) => (scores, y) {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(weights, v)
    })"},
    {"WeightsThatAreReadTwice", R"((float[7, 4] q, float[4, 9] k, float[9, 5] v) => (y, z) {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(weights, v)
      z = ReduceSum(weights)
    })"},
    {"ASoftmaxOverQueries", R"((float[7, 4] q, float[4, 9] k, float[9, 5] v) => (y) {
      scores = MatMul(q, k)
      weights = Softmax <axis = 0> (scores)
      y = MatMul(weights, v)
    })"},
    {"ALogarithm", R"((float[7, 4] q, float[4, 9] k, float[9, 5] v) => (y) {
      scores = MatMul(q, k)
      weights = LogSoftmax(scores)
      y = MatMul(weights, v)
    })"},
    {"WeightsOnTheRight", R"((float[9, 4] q, float[4, 9] k, float[9, 9] v) => (y) {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(v, weights)
    })"},
    {"ConstantValues", R"((float[7, 4] q, float[4, 9] k) => (y) <float[9, 5] v> {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(weights, v)
    })"},
    {"MoreBatchAxesOfTheValues", R"((float[7, 4] q, float[4, 9] k, float[2, 9, 5] v) => (y) {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(weights, v)
    })"},
    {"AnUnknownDepth", R"((float[7, D] q, float[D, 9] k, float[9, 5] v) => (y) {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(weights, v)
    })"},
    {"ALargeDepth", R"((float[7, 385] q, float[385, 9] k, float[9, 5] v) => (y) {
      scores = MatMul(q, k)
      weights = Softmax(scores)
      y = MatMul(weights, v)
    })"},
};

INSTANTIATE_TEST_SUITE_P(Graphs, CpuTargetKeeps, testing::ValuesIn(separate),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onnxc
