#include "codegen/host/buffer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program/parser.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::EndsWith;

// A value that is given to a loop, or that it leaves, is needed in every round; one that a round makes for itself is
// not.
TEST(BufferTable, WhatCrossesTheEdgeOfALoopLastsForAllRounds) {
  const Program program = parse_program(R"(dim round ..
b0 input float32 [4] "x"
b1 temporary float32 [4] "given"
b2 temporary float32 [4] "of a round"
b3 temporary float32 [4] "state"
b4 temporary float32 [4] "left behind"
b5 output float32 [4] "y"
inputs b0
outputs b5
nest given  axes i<4
  b1[i] = exp(b0[i])
nest begin  axes i<4
  b3[i] = b0[i]
loop round < 3 carries b3
nest add  axes i<4
  b2[i] = b1[i] + b3[i]
nest leave  axes i<4
  b4[i] = exp(b2[i])
nest next  axes i<4
  b3[i] = exp(b4[i])
end loop
nest end  axes i<4
  b5[i] = b3[i] + b4[i]
)");
  verify(program);
  const EmitContext context(program);
  WeightBytes weights;
  EXPECT_THAT(buffer_table(context, weights),
              ElementsAre(EndsWith("{BufferKind::input, 0, 0, 0, 0}"),         //
                          EndsWith("{BufferKind::temporary, 0, 0, 6, 0, 0}"),  //
                          EndsWith("{BufferKind::temporary, 0, 3, 4, 0, 0}"),  //
                          EndsWith("{BufferKind::temporary, 0, 1, 7, 0, 0}"),  //
                          EndsWith("{BufferKind::temporary, 0, 2, 7, 0, 0}"),  //
                          EndsWith("{BufferKind::output, 0, 0, 0, 0, 0}")));
}

// Both states are there even if no step uses them. An alias of a state has no memory of its own.
TEST(BufferTable, StatesAreNumberedAsTheProgramListsThem) {
  const Program program = parse_program(R"(b0 state float32 [4] "later"
b1 state float32 [4] "first"
b2 output float32 [4] "y"
b3 temporary float32 [4] alias b1 "next"
inputs
outputs b2
state b1 "first"
state b0 "later"
nest y  axes i<4
  b2[i] = exp(b1[i])
nest next  axes i<4
  b3[i] = b2[i]
)");
  verify(program);
  const EmitContext context(program);
  WeightBytes weights;
  EXPECT_THAT(buffer_table(context, weights),
              ElementsAre(EndsWith("{BufferKind::state, 1, 0, 0, 0}"), EndsWith("{BufferKind::state, 0, 0, 0, 0}"),
                          EndsWith("{BufferKind::output, 0, 0, 0, 0, 0}")));
}

// A size that a step binds is known from there on, one of a round in the round.
TEST(BufferTable, ABufferIsLaidOutAtTheLevelOfItsSize) {
  const Program program = parse_program(R"(dim N 1..
dim s ..
dim round ..
b0 input float32 [N] "x"
b1 input int64 [1] "k"
b2 temporary float32 [N] "before"
b3 temporary float32 [s] "bound"
b4 temporary float32 [round + s] "of a round"
b5 output float32 [s] "y"
inputs b0, b1
outputs b5
nest exp  axes i<N
  b2[i] = exp(b0[i])
bind s = b1
nest start  axes i<s
  b3[i] = b2[0]
loop round < N carries b3
nest longer  axes i<round + s
  b4[i] = 1.0
nest add  axes i<s
  b3[i] = b3[i] + b4[i]
end loop
nest end  axes i<s
  b5[i] = b3[i]
)");
  verify(program);
  const EmitContext context(program);
  EXPECT_EQ(context.level_count(), 4);
  WeightBytes weights;
  EXPECT_THAT(buffer_table(context, weights),
              ElementsAre(EndsWith("{BufferKind::input, 0, 0, 0, 0}"),         //
                          EndsWith("{BufferKind::input, 1, 0, 0, 0}"),         //
                          EndsWith("{BufferKind::temporary, 0, 0, 2, 0, 0}"),  //
                          EndsWith("{BufferKind::temporary, 0, 2, 7, 0, 1}"),  //
                          EndsWith("{BufferKind::temporary, 0, 4, 5, 0, 2}"),  //
                          EndsWith("{BufferKind::output, 0, 0, 0, 0, 1}")));
}

}  // namespace
}  // namespace onnxc
