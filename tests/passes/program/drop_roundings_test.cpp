#include "passes/program/drop_roundings.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"

namespace onnxc {
namespace {

// One rounding is left, at the end, in nests and in epilogues; a conversion of a loaded value does not count.
TEST(DropRoundings, LeavesTheLast) {
  expect_text(after(R"(b0 input float32 [N, 4] "x"
b1 temporary bfloat16 [N, 4] "a"
b2 temporary bfloat16 [N, 4] "b"
b3 output float32 [N, 4] "y"
inputs b0
outputs b3
nest relu  axes i<N, j<4
  b1[i, j] = bfloat16(max(float32(bfloat16(b0[i, j] + 1.0)), 0.0))
kernel conv 3x3x3  b2 = b1
  epilogue [i, j] bfloat16(float32(bfloat16(acc0 * 2.0)) + float32(b1[i, j]))
nest cast  axes i<N, j<4
  b3[i, j] = float32(b2[i, j])
)",
                    drop_roundings),
              R"(b0 input float32 [N, 4] "x"
b1 temporary bfloat16 [N, 4] "a"
b2 temporary bfloat16 [N, 4] "b"
b3 output float32 [N, 4] "y"
inputs b0
outputs b3
nest relu  axes i<N, j<4
  b1[i, j] = bfloat16(max(b0[i, j] + 1.0, 0.0))
kernel conv 3x3x3  b2 = b1
  epilogue [i, j] bfloat16(acc0 * 2.0 + float32(b1[i, j]))
nest cast  axes i<N, j<4
  b3[i, j] = float32(b2[i, j])
)");
}

}  // namespace
}  // namespace onnxc
