#include "passes/graph/fold_batch_normalization.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

// Two channels whose factors scale / sqrt(variance) are 3 and -1/2, whose offsets shift - mean * factor are -5 and 4.5.

TEST(FoldBatchNormalization, IntoAConvolution) {
  expect_text(after(R"((float[1, 2, 5] x) => (y)
      <float[2, 2, 1] w = {1, 2, 3, 4}, float[2] bias = {10, 20},
       float[2] scale = {6, -2}, float[2] shift = {1, 5}, float[2] mean = {2, -1}, float[2] variance = {4, 16}> {
    a = Conv(x, w, bias)
    [norm] y = BatchNormalization <epsilon = 0.0> (a, scale, shift, mean, variance)
  })",
                    fold_batch_normalization),
              R"(input %x: float32[1, 2, 5]
constant %w/folded: float32[2, 2, 1] = {3, 6, -1.5, -2}
constant %norm/bias: float32[2] = {25, -5.5}
%y: float32[1, 2, 5] = Conv(%x, %w/folded, %norm/bias) {auto_pad="NOTSET", group=1}
output %y
)");
}

// The output channel is the second dim of a transposed convolution's weights, within each group.
TEST(FoldBatchNormalization, IntoATransposedConvolutionInGroups) {
  expect_text(after(R"((float[1, 4, 5] x) => (y)
      <float[4, 1, 2] w = {1, 2, 3, 4, 5, 6, 7, 8},
       float[2] scale = {6, -2}, float[2] shift = {1, 5}, float[2] mean = {2, -1}, float[2] variance = {4, 16}> {
    a = ConvTranspose <group = 2> (x, w)
    [norm] y = BatchNormalization <epsilon = 0.0> (a, scale, shift, mean, variance)
  })",
                    fold_batch_normalization),
              R"(input %x: float32[1, 4, 5]
constant %w/folded: float32[4, 1, 2] = {3, 6, 9, 12, -2.5, -3, -3.5, -4}
constant %norm/bias: float32[2] = {-5, 4.5}
%y: float32[1, 2, 6] = ConvTranspose(%x, %w/folded, %norm/bias) {group=2, auto_pad="NOTSET"}
output %y
)");
}

struct Case {
  const char* name;
  const char* before;
};

class FoldBatchNormalizationKeeps : public testing::TestWithParam<Case> {};

TEST_P(FoldBatchNormalizationKeeps, TheGraph) {
  const char* before = GetParam().before;
  EXPECT_EQ(after(before, fold_batch_normalization), to_string(*read_shaped_graph(before)));
}

const Case kept[] = {
    {"WhereTheConvolutionIsUsedElsewhere", R"((float[1, 2, 5] x) => (y, z)
        <float[2, 2, 1] w = {1, 2, 3, 4},
         float[2] scale = {6, -2}, float[2] shift = {1, 5}, float[2] mean = {2, -1}, float[2] variance = {4, 16}> {
      a = Conv(x, w)
      y = BatchNormalization <epsilon = 0.0> (a, scale, shift, mean, variance)
      z = Neg(a)
    })"},
    {"WhereTheWeightsAreComputed", R"((float[1, 2, 5] x, float[2, 2, 1] w) => (y)
        <float[2] scale = {6, -2}, float[2] shift = {1, 5}, float[2] mean = {2, -1}, float[2] variance = {4, 16}> {
      a = Conv(x, w)
      y = BatchNormalization <epsilon = 0.0> (a, scale, shift, mean, variance)
    })"},
    {"BehindAnotherOperator", R"((float[1, 2, 5] x) => (y)
        <float[2] scale = {6, -2}, float[2] shift = {1, 5}, float[2] mean = {2, -1}, float[2] variance = {4, 16}> {
      a = Relu(x)
      y = BatchNormalization <epsilon = 0.0> (a, scale, shift, mean, variance)
    })"},
    {"WhereItTrains", R"((float[1, 2, 5] x) => (y)
        <float[2, 2, 1] w = {1, 2, 3, 4},
         float[2] scale = {6, -2}, float[2] shift = {1, 5}, float[2] mean = {2, -1}, float[2] variance = {4, 16}> {
      a = Conv(x, w)
      y = BatchNormalization <epsilon = 0.0, training_mode = 1> (a, scale, shift, mean, variance)
    })"},
};

INSTANTIATE_TEST_SUITE_P(Graphs, FoldBatchNormalizationKeeps, testing::ValuesIn(kept),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onnxc
