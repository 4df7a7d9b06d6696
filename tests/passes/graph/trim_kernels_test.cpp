#include "passes/graph/trim_kernels.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

struct Case {
  const char* name;
  const char* before;
  const char* after;
};

class TrimKernels : public testing::TestWithParam<Case> {};

TEST_P(TrimKernels, LeavesTheTapsThatMeetTheInput) {
  EXPECT_EQ(after(GetParam().before, trim_kernels), GetParam().after);
}

const Case trimmed[] = {
    {"BothEnds", R"((float[1, 1, 1, 3] x) => (y) <float[2, 1, 3, 1] w = {1, 2, 3, 4, 5, 6}> {
      y = Conv <kernel_shape = [3, 1], pads = [1, 0, 1, 0]> (x, w)
    })",
     R"(input %x: float32[1, 1, 1, 3]
constant %w/trimmed: float32[2, 1, 1, 1] = {2, 5}
%y: float32[1, 2, 1, 3] = Conv(%x, %w/trimmed) {group=1, kernel_shape=[1, 1], pads=[0, 0, 0, 0]}
output %y
)"},
    {"TheFirstWithAStride", R"((float[1, 1, 2, 2] x) => (y) <float[1, 1, 3, 2] w = {1, 2, 3, 4, 5, 6}> {
      y = Conv <pads = [1, 0, 1, 0], strides = [2, 1]> (x, w)
    })",
     R"(input %x: float32[1, 1, 2, 2]
constant %w/trimmed: float32[1, 1, 2, 2] = {3, 4, 5, 6}
%y: float32[1, 1, 1, 1] = Conv(%x, %w/trimmed) {strides=[2, 1], group=1, kernel_shape=[2, 2], pads=[0, 0, 0, 0]}
output %y
)"},
    {"AnInnerAxis", R"((float[1, 1, 2, 1] x) => (y) <float[1, 1, 2, 3] w = {1, 2, 3, 4, 5, 6}> {
      y = Conv <pads = [0, 1, 1, 1]> (x, w)
    })",
     R"(input %x: float32[1, 1, 2, 1]
constant %w/trimmed: float32[1, 1, 2, 1] = {2, 5}
%y: float32[1, 1, 2, 1] = Conv(%x, %w/trimmed) {group=1, kernel_shape=[2, 1], pads=[0, 0, 1, 0]}
output %y
)"},
    {"WithDilation", R"((float[1, 1, 2] x) => (y) <float[1, 1, 3] w = {1, 2, 3}> {
      y = Conv <auto_pad = "SAME_UPPER", dilations = [3]> (x, w)
    })",
     R"(input %x: float32[1, 1, 2]
constant %w/trimmed: float32[1, 1, 1] = {2}
%y: float32[1, 1, 2] = Conv(%x, %w/trimmed) {dilations=[3], group=1, kernel_shape=[1], pads=[0, 0]}
output %y
)"},
};

INSTANTIATE_TEST_SUITE_P(Graphs, TrimKernels, testing::ValuesIn(trimmed),
                         [](const auto& test) { return std::string(test.param.name); });

struct Kept {
  const char* name;
  const char* before;
};

class TrimKernelsKeeps : public testing::TestWithParam<Kept> {};

TEST_P(TrimKernelsKeeps, TheGraph) {
  const char* before = GetParam().before;
  EXPECT_EQ(after(before, trim_kernels), to_string(*read_shaped_graph(before)));
}

const Kept kept[] = {
    {"WhereEachTapMeetsTheInput", R"((float[1, 1, 2] x) => (y) <float[1, 1, 3] w = {1, 2, 3}> {
      y = Conv <pads = [1, 1]> (x, w)
    })"},
    {"WhereTheSizeIsFree", R"((float[1, 1, N] x) => (y) <float[1, 1, 3] w = {1, 2, 3}> {
      y = Conv <pads = [1, 1]> (x, w)
    })"},
    {"WhereTheWeightsAreComputed", R"((float[1, 1, 1] x, float[1, 1, 3] w) => (y) {
      y = Conv <pads = [1, 1]> (x, w)
    })"},
    {"WhereAllIsPadding", R"((float[1, 1, 1] x) => (y) <float[1, 1, 1] w = {1}> {
      y = Conv <pads = [1, 0], strides = [2]> (x, w)
    })"},
};

INSTANTIATE_TEST_SUITE_P(Graphs, TrimKernelsKeeps, testing::ValuesIn(kept),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onnxc
