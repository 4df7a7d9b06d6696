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
b1 output int64 [3, 100000] "y"
b2 temporary int64 [3, 98] "CumSum_parts"
b3 temporary int64 [3, 98] "CumSum_starts"
inputs b0
outputs b1
nest CumSum_parts  axes n<3, i_chunk<98  reduce i_place<1024
  acc0: int64 = sum select(index(1024*i_chunk + i_place) < 100000, b0[n, 1024*i_chunk + i_place], 0)
  b2[n, i_chunk] = acc0
nest CumSum_starts  axes n<3  ordered i_chunk<98
  b3[n, i_chunk] = select(index(i_chunk) == 0, 0, b3[n, i_chunk - 1]) + b2[n, i_chunk]
nest CumSum  axes n<3, i_chunk<98  ordered i_place<1024
  b1[n, 1024*i_chunk + i_place] = select(index(i_place) == 0, select(index(i_chunk) == 0, 0, b3[n, i_chunk - 1]), b1[n, 1024*i_chunk + i_place - 1]) + b0[n, 1024*i_chunk + i_place] if index(1024*i_chunk + i_place) < 100000
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
b1 output float32 [N] "y"
b2 temporary float32 [(N + 1023)//1024] "CumProd_parts"
b3 temporary float32 [(N + 1023)//1024] "CumProd_starts"
inputs b0
outputs b1
nest CumProd_parts  axes i_chunk<(N + 1023)//1024  reduce i_place<1024
  acc0: float32 = product select(index(1024*i_chunk + i_place) < index(N), b0[1024*i_chunk + i_place], 1.0)
  b2[i_chunk] = acc0
nest CumProd_starts  ordered i_chunk<(N + 1023)//1024
  b3[i_chunk] = select(index(i_chunk) == 0, 1.0, b3[i_chunk - 1]) * b2[i_chunk]
nest CumProd  axes i_chunk<(N + 1023)//1024  ordered i_place<1024
  b1[1024*i_chunk + i_place] = select(index(i_place) == 0, select(index(i_chunk) == 0, 1.0, b3[i_chunk - 1]), b1[1024*i_chunk + i_place - 1]) * b0[1024*i_chunk + i_place] if index(1024*i_chunk + i_place) < index(N)
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
  b1[i] = select(index(i) == 0, float16(0), b1[i - 1]) + b0[i]
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

// A fold with the element two before.
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
