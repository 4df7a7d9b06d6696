#include "passes/program/split_running_folds.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"

namespace onnxc {
namespace {

TEST(SplitRunningFolds, ALongSumIsFoldedInChunks) {
  expect_text(after(R"(b0 input int64 [3, 100000] "x"
b1 output int64 [3, 100000] "y"
inputs b0
outputs b1
nest CumSum  axes n<3  ordered i<100000
  b1[n, i] = select(index(i) == 0, 0, b1[n, i - 1]) + b0[n, i]
)",
                    split_running_folds),
              R"(b0 input int64 [3, 100000] "x"
)");
}

// The number of chunks is assumed to be small.
TEST(SplitRunningFolds, OneOfUnknownLengthIsSplitOnce) {
  expect_text(after(R"(b0 input float32 [N] "x"
b1 output float32 [N] "y"
inputs b0
outputs b1
nest CumProd  ordered i<N
  b1[i] = select(index(i) == 0, 1.0, b1[i - 1]) * b0[i]
)",
                    split_running_folds),
              R"(b0 input float32 [N] "x"
)");
}

void expect_unchanged(const std::string& text) { EXPECT_EQ(after(text, split_running_folds), text); }

TEST(SplitRunningFolds, ShortOnesStay) {
  expect_unchanged(R"(b0 input int64 [4095] "x"
b1 output int64 [4095] "y"
inputs b0
outputs b1
nest CumSum  ordered i<4095
  b1[i] = select(index(i) == 0, 0, b1[i - 1]) + b0[i]
)");
}

TEST(SplitRunningFolds, HalvesStay) {
  expect_unchanged(R"(b0 input float16 [8192] "x"
b1 output float16 [8192] "y"
inputs b0
outputs b1
nest CumSum  ordered i<8192
  b1[i] = select(index(i) == 0, float16(0.0), b1[i - 1]) + b0[i]
)");
}

TEST(SplitRunningFolds, ASumThatBeginsElsewhereStays) {
  expect_unchanged(R"(b0 input int64 [8192] "x"
b1 output int64 [8192] "y"
inputs b0
outputs b1
nest sum  ordered i<8192
  b1[i] = select(index(i) == 0, 7, b1[i - 1]) + b0[i]
)");
}

// Of the element two before.
TEST(SplitRunningFolds, OtherRecurrencesStay) {
  expect_unchanged(R"(b0 input int64 [8192] "x"
b1 output int64 [8192] "y"
inputs b0
outputs b1
nest sum  ordered i<8192
  b1[i] = select(index(i) == 0, 0, b1[max(0, i - 2)]) + b0[i]
)");
}

}  // namespace
}  // namespace onnxc
