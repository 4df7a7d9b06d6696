// The effect of the transformations of flat loops on nests; compiled tests show that nests still compute the same.
#include "codegen/nests/loop_transforms.h"

#include <gtest/gtest.h>

#include "ir/program_builder.h"

namespace onnxc {
namespace {

// The only nest of a program, flat, with its loops split at their periods.
std::string split(const ProgramBuilder& builder) {
  FlatNest nest = flatten(builder.program, std::get<LoopNest>(builder.program.steps.back().work));
  split_periodic_loops(nest);
  return to_string(nest);
}

TEST(SplitPeriodicLoops, TileOfKnownAndOfFreeSize) {
  const Expr n = Symbol::dim("N");
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {n, 40}), y = builder.output(DType::float32, {3 * n, 80});
  builder.elementwise("tile", y, [&](const std::vector<Expr>& i) { return x({mod(i[0], n), mod(i[1], 40)}); });
  EXPECT_EQ(split(builder), R"(tile
  i0_period<3
  i0<N
  i1_period<2
  i1<40
  b1[80*N*i0_period + 80*i0 + i1 + 40*i1_period] = b0[40*i0 + i1]
)");
}

TEST(SplitPeriodicLoops, NotWhatDoesNotDivideTheExtentOrIsShort) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {30, 3}), y = builder.output(DType::float32, {40, 6});
  builder.elementwise("wrap", y, [&](const std::vector<Expr>& i) { return x({mod(i[0], 30), mod(i[1], 3)}); });
  EXPECT_EQ(split(builder), R"(wrap
  i0<40
  i1<6
  b1[6*i0 + i1] = b0[3*(i0 % 30) + i1 % 3]
)");
}

// If i0 is not proven to be below its own extent, the remainder stays; to split there would never end.
TEST(SplitPeriodicLoops, NotOnePeriod) {
  const Expr d = Symbol::dim("D"), n = floor_div(d + 2, 3), extent = floor_div(min(n, 1) * max(n, 1) + 2, 3);
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {extent}), y = builder.output(DType::float32, {extent});
  builder.elementwise("same", y, [&](const std::vector<Expr>& i) { return x({mod(i[0], extent)}); });
  EXPECT_EQ(split(builder), R"(same
  i0<(min((D + 2)//3, 1)*max((D + 2)//3, 1) + 2)//3
  b1[i0] = b0[i0 % ((min((D + 2)//3, 1)*max((D + 2)//3, 1) + 2)//3)]
)");
}

}  // namespace
}  // namespace onnxc
