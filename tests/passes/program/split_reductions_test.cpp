#include "passes/program/split_reductions.h"

#include <gtest/gtest.h>

#include "passes/lowering/text_target.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

void split(Program& program) { split_reductions(program, text_target()); }

TEST(SplitReductions, OuterAxesOfALongReductionBecomeParallel) {
  expect_text(after(R"(b0 input float32 [N, 3, 16, 17, 18] "x"
b1 output float32 [N, 3] "y"
inputs b0
outputs b1
nest mean  axes n<N, c<3  reduce d<16, h<17, w<18
  acc0: float32 = sum b0[n, c, d, h, w]
  b1[n, c] = acc0 / 4896.0
)",
                    split),
              R"(b0 input float32 [N, 3, 16, 17, 18] "x"
b1 output float32 [N, 3] "y"
b2 temporary float32 [16, N, 3] "mean_parts.0"
inputs b0
outputs b1
nest mean_parts  axes d<16, n<N, c<3  reduce h<17, w<18
  acc0: float32 = sum b0[n, c, d, h, w]
  b2[d, n, c] = acc0
nest mean  axes n<N, c<3  reduce d<16
  acc0: float32 = sum b2[d, n, c]
  b1[n, c] = acc0 / 4896.0
)");
}

void expect_unchanged(const std::string& text) { EXPECT_EQ(after(text, split), text); }

TEST(SplitReductions, ShortOnesStay) {
  expect_unchanged(R"(b0 input float32 [N, 3, 15, 16, 17] "x"
b1 output float32 [N, 3] "y"
inputs b0
outputs b1
nest sum  axes n<N, c<3  reduce d<15, h<16, w<17
  acc0: float32 = sum b0[n, c, d, h, w]
  b1[n, c] = acc0
)");
}

TEST(SplitReductions, ThoseOfManyResultsStay) {
  expect_unchanged(R"(b0 input float32 [100, 50, 64, 128] "x"
b1 output float32 [100, 50] "y"
inputs b0
outputs b1
nest sum  axes n<100, c<50  reduce h<64, w<128
  acc0: float32 = sum b0[n, c, h, w]
  b1[n, c] = acc0
)");
}

TEST(SplitReductions, AnAxisThatLeavesTooLittleStays) {
  expect_unchanged(R"(b0 input float32 [3, 64, 128] "x"
b1 output float32 [3] "y"
inputs b0
outputs b1
nest sum  axes n<3  reduce h<64, w<128
  acc0: float32 = sum b0[n, h, w]
  b1[n] = acc0
)");
}

TEST(SplitReductions, OneLongAxisIsCutIntoChunks) {
  expect_text(after(R"(b0 input float32 [2, 20000] "x"
b1 output float32 [2] "y"
inputs b0
outputs b1
nest sum  axes n<2  reduce i<20000
  acc0: float32 = sum b0[n, i]
  b1[n] = acc0
)",
                    split),
              R"(b0 input float32 [2, 20000] "x"
b1 output float32 [2] "y"
b2 temporary float32 [20, 2] "sum_parts.0"
inputs b0
outputs b1
nest sum_parts  axes i_chunk<20, n<2  reduce i_place<1024
  acc0: float32 = sum select(index(1024*i_chunk + i_place) < 20000, b0[n, min(1024*i_chunk + i_place, 19999)], 0.0)
  b2[i_chunk, n] = acc0
nest sum  axes n<2  reduce i_chunk<20
  acc0: float32 = sum b2[i_chunk, n]
  b1[n] = acc0
)");
}

TEST(SplitReductions, AnExtremeIsFoundAgainWhereItsChunkHasIt) {
  expect_text(after(R"(b0 input float32 [20000] "x"
b1 output int64 [1] "y"
inputs b0
outputs b1
nest extreme  axes n<1  reduce i<20000
  acc0: int64 = argument_maximum b0[i] at 2*i
  b1[n] = acc0
)",
                    split),
              R"(b0 input float32 [20000] "x"
b1 output int64 [1] "y"
b2 temporary int64 [20, 1] "extreme_parts.0"
inputs b0
outputs b1
nest extreme_parts  axes i_chunk<20, n<1  reduce i_place<1024
  acc0: int64 = argument_maximum b0[min(1024*i_chunk + i_place, 19999)] at min(1024*i_chunk + i_place, 19999)
  b2[i_chunk, n] = acc0
nest extreme  axes n<1  reduce i_chunk<20
  let extreme0 = b2[i_chunk, n]
  acc0: int64 = argument_maximum b0[max(0, min(extreme0, 19999))] at 2*max(0, min(extreme0, 19999))
  b1[n] = acc0
)");
}

TEST(SplitReductions, PositionsOfExtremesStay) {
  expect_unchanged(R"(b0 input float32 [3, 64, 512] "x"
b1 output int64 [3] "y"
inputs b0
outputs b1
nest extreme  axes n<3  reduce h<64, w<512
  acc0: int64 = argument_maximum b0[n, h, w] at 512*h + w
  b1[n] = acc0
)");
}

TEST(SplitReductions, BetweenKernels) {
  expect_text(steps_of(after(R"(b0 input float32 [3, 16, 512] "x"
b1 temporary float32 [3, 16, 512] "conv"
b2 temporary float32 [3] "mean"
b3 output float32 [3] "y"
inputs b0
outputs b3
kernel conv 1x1x1  b1 = b0
  epilogue [i, j, k] acc0
# "mean" ReduceMean-18
nest mean  axes n<3  reduce h<16, w<512
  acc0: float32 = sum b1[n, h, w]
  b2[n] = acc0 / 8192.0
kernel matmul  b3 = b2
  epilogue [i] acc0
)",
                             split)),
              R"(kernel conv 1x1x1  b1 = b0
  epilogue [i, j, k] acc0
# "mean" ReduceMean-18
nest mean_parts  axes h<16, n<3  reduce w<512
  acc0: float32 = sum b1[n, h, w]
  b4[h, n] = acc0
# "mean" ReduceMean-18
nest mean  axes n<3  reduce h<16
  acc0: float32 = sum b4[h, n]
  b2[n] = acc0 / 8192.0
kernel matmul  b3 = b2
  epilogue [i] acc0
)");
}

}  // namespace
}  // namespace onnxc
