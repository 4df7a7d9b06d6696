#include "passes/program/place_stores.h"

#include <gtest/gtest.h>

#include "passes/lowering/text_target.h"
#include "passes/program/fuse_epilogues.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

TEST(PlaceStores, APartOfAConcatIsAWholeView) {
  expect_text(after(R"(b0 input float32 [N, 3] "x"
b1 input float32 [N, 5] "y"
b2 output float32 [N, 8] "joined"
inputs b0, b1
outputs b2
nest concat  axes i<N, j<3
  b2[i, j] = b0[i, j]
nest concat  axes i<N, j<5
  b2[i, j + 3] = b1[i, j]
)",
                    place_stores),
              R"(b0 input float32 [N, 3] "x"
b1 input float32 [N, 5] "y"
b2 output float32 [N, 8] "joined"
b3 temporary float32 [N, 3] view b2 [0, 0] "joined"
b4 temporary float32 [N, 5] view b2 [0, 3] "joined"
inputs b0, b1
outputs b2
nest concat  axes i<N, j<3
  b3[i, j] = b0[i, j]
nest concat  axes i<N, j<5
  b4[i, j] = b1[i, j]
)");
}

// With channels in blocks of four, [0, 4) and [8, 10) are whole blocks, the last as far as the buffer goes.
TEST(PlaceStores, ABlockedPartBeginsAndEndsAtABlock) {
  expect_text(after(R"(b0 input float32 [N, 10, 2] "x"
b1 temporary float32 [N, 10, 2] layout 0 1/4 2 1%4 "joined"
b2 output float32 [N, 10, 2] "y"
inputs b0
outputs b2
nest first  axes i<N, j<4, k<2
  b1[i, j, k] = b0[i, j, k]
nest middle  axes i<N, j<2, k<2
  b1[i, j + 4, k] = b0[i, j, k]
nest inner  axes i<N, j<2, k<2
  b1[i, j + 6, k] = b0[i, j, k]
nest last  axes i<N, j<2, k<2
  b1[i, j + 8, k] = b0[i, j, k]
nest copy  axes i<N, j<10, k<2
  b2[i, j, k] = b1[i, j, k]
)",
                    place_stores),
              R"(b0 input float32 [N, 10, 2] "x"
b1 temporary float32 [N, 10, 2] layout 0 1/4 2 1%4 "joined"
b2 output float32 [N, 10, 2] "y"
b3 temporary float32 [N, 4, 2] layout 0 1/4 2 1%4 view b1 [0, 0, 0] "joined"
b4 temporary float32 [N, 2, 2] layout 0 1/4 2 1%4 view b1 [0, 8, 0] "joined"
inputs b0
outputs b2
nest first  axes i<N, j<4, k<2
  b3[i, j, k] = b0[i, j, k]
nest middle  axes i<N, j<2, k<2
  b1[i, j + 4, k] = b0[i, j, k]
nest inner  axes i<N, j<2, k<2
  b1[i, j + 6, k] = b0[i, j, k]
nest last  axes i<N, j<2, k<2
  b4[i, j, k] = b0[i, j, k]
nest copy  axes i<N, j<10, k<2
  b2[i, j, k] = b1[i, j, k]
)");
}

// A store that is whole already, a transposed, a conditional and an adding one, and one whose place only the run knows.
TEST(PlaceStores, LeavesOtherStores) {
  constexpr const char* program = R"(b0 input float32 [3, 3] "x"
b1 input int64 [1] "place"
b2 output float32 [3, 3] "y"
b3 output float32 [6, 3] "z"
inputs b0, b1
outputs b2, b3
nest whole  axes i<3, j<3
  b2[i, j] = b0[i, j]
nest transposed  axes i<3, j<2
  b3[j, i] = b0[i, j]
nest conditional  axes i<2, j<3
  b3[i, j] = b0[i, j] if b0[i, j] < 0.0
nest adding  axes i<2, j<3
  b3[i, j] += b0[i, j]
nest dynamic  axes i<2, j<3
  let j0 = b1[0]
  b3[max(0, min(i + j0, 5)), j] = b0[i, j]
)";
  EXPECT_EQ(after(program, place_stores), program);
}

// A kernel's result as a part of a Concat: the nest between them becomes one that the kernel can take, and does.
TEST(PlaceStores, AKernelsResultIsAPart) {
  constexpr const char* before = R"(b0 input float32 [N, 8, 6] "x"
b1 temporary float32 [N, 4, 6] layout 0 1/4 2 1%4 "conv"
b2 temporary float32 [N, 12, 6] layout 0 1/4 2 1%4 "joined"
b3 output float32 [N, 5, 6] "y"
inputs b0
outputs b3
kernel conv 1x1x1 8->4  b1 = b0
  epilogue [i, j, k] acc0
nest concat  axes i<N, j<8, k<6
  b2[i, j, k] = b0[i, j, k]
nest concat  axes i<N, j<4, k<6
  b2[i, j + 8, k] = b1[i, j, k]
kernel conv 1x1x1 12->5  b3 = b2
  epilogue [i, j, k] acc0
)";
  expect_text(after(before, place_stores), R"(b0 input float32 [N, 8, 6] "x"
b1 temporary float32 [N, 4, 6] layout 0 1/4 2 1%4 "conv"
b2 temporary float32 [N, 12, 6] layout 0 1/4 2 1%4 "joined"
b3 output float32 [N, 5, 6] "y"
b4 temporary float32 [N, 8, 6] layout 0 1/4 2 1%4 view b2 [0, 0, 0] "joined"
b5 temporary float32 [N, 4, 6] layout 0 1/4 2 1%4 view b2 [0, 8, 0] "joined"
inputs b0
outputs b3
kernel conv 1x1x1 8->4  b1 = b0
  epilogue [i, j, k] acc0
nest concat  axes i<N, j<8, k<6
  b4[i, j, k] = b0[i, j, k]
nest concat  axes i<N, j<4, k<6
  b5[i, j, k] = b1[i, j, k]
kernel conv 1x1x1 12->5  b3 = b2
  epilogue [i, j, k] acc0
)");
  expect_text(steps_of(after(before,
                             [](Program& program) {
                               place_stores(program);
                               fuse_epilogues(program, text_target());
                             })),
              R"(nest concat  axes i<N, j<8, k<6
  b4[i, j, k] = b0[i, j, k]
kernel conv 1x1x1 8->4  b5 = b0
  epilogue [i, j, k] acc0
kernel conv 1x1x1 12->5  b3 = b2
  epilogue [i, j, k] acc0
)");
}

}  // namespace
}  // namespace onnxc
