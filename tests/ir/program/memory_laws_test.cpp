#include "ir/program/memory_laws.h"

#include <gtest/gtest.h>

#include "ir/program_builder.h"

namespace onnxc {
namespace {

class MemoryLaws : public testing::Test {
 protected:
  ProgramBuilder builder;
  const Symbol d = Symbol::dim("D", {1, Bounds::infinity});

  bool overlap(const Operand& a, const Operand& b) {
    const bool result = may_overlap(builder.program, a.buffer, b.buffer);
    EXPECT_EQ(may_overlap(builder.program, b.buffer, a.buffer), result);
    return result;
  }
};

TEST_F(MemoryLaws, BuffersOfTheirOwnAreApart) {
  Operand a = builder.temporary(DType::float32, {4}), b = builder.temporary(DType::float32, {4});
  EXPECT_FALSE(overlap(a, b));
  EXPECT_TRUE(overlap(a, a));
}

TEST_F(MemoryLaws, PartsOfABufferAreApartWhereAnAxisShowsIt) {
  Operand joined = builder.temporary(DType::float32, {2, Expr(d) * 2 + 3});
  Operand first = builder.view(joined, {2, d}, {0, 0}), second = builder.view(joined, {2, Expr(d) + 3}, {0, d});
  Operand inner = builder.view(second, {2, 3}, {0, d});
  EXPECT_FALSE(overlap(first, second));
  EXPECT_FALSE(overlap(first, inner));
  EXPECT_TRUE(overlap(second, inner));
  EXPECT_TRUE(overlap(joined, first));
  EXPECT_TRUE(overlap(first, builder.view(joined, {2, d}, {0, Expr(d) - 1})));
}

// Which of the parent's elements an alias of a part holds is not followed any further.
TEST_F(MemoryLaws, UnderAnotherShapeABufferIsAllOfWhatItIsLaidOver) {
  Operand whole = builder.temporary(DType::float32, {4, 6});
  Operand flat = builder.alias(whole, {24}), upper = builder.view(whole, {2, 6}, {0, 0});
  Operand lower = builder.view(whole, {2, 6}, {2, 0}), of_lower = builder.alias(lower, {12});
  EXPECT_TRUE(overlap(flat, upper));
  EXPECT_FALSE(overlap(of_lower, upper));
  EXPECT_TRUE(overlap(of_lower, lower));
  EXPECT_FALSE(overlap(builder.view(flat, {6}, {0}), builder.view(flat, {6}, {6})));
}

TEST_F(MemoryLaws, AViewOfTheSameShapeIsWhole) {
  Operand whole = builder.temporary(DType::float32, {4, d});
  Operand same = builder.view(whole, {4, d}, {0, 0});
  EXPECT_TRUE(is_whole(builder.program, whole.buffer));
  EXPECT_TRUE(is_whole(builder.program, builder.alias(same, {Expr(d) * 4}).buffer));
  EXPECT_FALSE(is_whole(builder.program, builder.view(same, {2, d}, {0, 0}).buffer));
}

class NestFaults : public MemoryLaws {
 protected:
  Operand state = builder.temporary(DType::float32, {4, 4});
  Operand flat = builder.alias(state, {16});

  std::optional<std::string> fault(NestBuilder& nest) { return memory_fault(builder.program, nest.take()); }
};

TEST_F(NestFaults, ANestMayReadTheElementThatItStores) {
  NestBuilder nest("double");
  std::vector<Expr> i = nest.parallel(state.shape);
  nest.store(state, i, state(i) + flat({i[0] * 4 + i[1]}));
  EXPECT_EQ(fault(nest), std::nullopt);
}

TEST_F(NestFaults, ANestMayNotReadAnother) {
  NestBuilder nest("transpose");
  std::vector<Expr> i = nest.parallel(state.shape);
  nest.store(state, i, state({i[1], i[0]}));
  EXPECT_EQ(fault(nest), "reads b0 in memory of b0, which it writes");
}

TEST_F(NestFaults, NorUnderAnotherShape) {
  NestBuilder nest("transpose");
  std::vector<Expr> i = nest.parallel(state.shape);
  nest.store(state, i, flat({i[1] * 4 + i[0]}));
  EXPECT_EQ(fault(nest), "reads b1 in memory of b0, which it writes");
}

TEST_F(NestFaults, NorToFoldItIn) {
  NestBuilder nest("sum");
  Expr i = nest.parallel(4), k = nest.reduce(4);
  nest.store(state, {i, 0}, nest.accumulate(ReduceKind::sum, state({i, k})));
  EXPECT_EQ(fault(nest), "reads b0 in memory of b0, which it writes");
}

TEST_F(NestFaults, AnOrderedNestSaysWhatItReadsWhen) {
  NestBuilder nest("cumulative_sum");
  Expr i = nest.parallel(4), j = nest.ordered(3);
  nest.store(state, {i, j + 1}, state({i, j}) + state({i, j + 1}));
  EXPECT_EQ(fault(nest), std::nullopt);
}

// Rows that no iteration stores, whichever iteration loads them.
TEST_F(NestFaults, ANestMayReadWhatNoIterationStores) {
  NestBuilder nest("up");
  std::vector<Expr> i = nest.parallel({2, 4});
  nest.store(state, i, state({i[0] + 2, Expr(3) - i[1]}));
  EXPECT_EQ(fault(nest), std::nullopt);
  NestBuilder fold("sum");
  const Expr row = fold.parallel(4), k = fold.reduce(3);
  fold.store(state, {row, 0}, fold.accumulate(ReduceKind::sum, state({row, k + 1})));
  EXPECT_EQ(fault(fold), std::nullopt);
  Operand rows = builder.view(builder.alias(state, {4, 4}), {1, 4}, {3, 0});
  NestBuilder down("down");
  std::vector<Expr> j = down.parallel({1, 4});
  down.store(rows, j, state({j[0] + 2, j[1]}));
  EXPECT_EQ(fault(down), std::nullopt);
}

// Another iteration stores what this one loads one row below.
TEST_F(NestFaults, IterationsAreToldApart) {
  NestBuilder nest("shift");
  std::vector<Expr> i = nest.parallel({3, 4});
  nest.store(state, i, state({i[0] + 1, i[1]}));
  EXPECT_EQ(fault(nest), "reads b0 in memory of b0, which it writes");
  NestBuilder chosen("chosen");
  std::vector<Expr> j = chosen.parallel({1, 4});
  const Expr row = chosen.let(builder.temporary(DType::int64, {4})({j[1]}));
  chosen.store(state, {row, j[1]}, state({row + 1, j[1]}));
  EXPECT_EQ(fault(chosen), "reads b0 in memory of b0, which it writes");
}

TEST_F(NestFaults, APartMayBeMadeOfAnother) {
  Operand upper = builder.view(state, {2, 4}, {0, 0}), lower = builder.view(state, {2, 4}, {2, 0});
  NestBuilder nest("mirror");
  std::vector<Expr> i = nest.parallel(upper.shape);
  nest.store(lower, i, upper({Expr(1) - i[0], i[1]}));
  EXPECT_EQ(fault(nest), std::nullopt);
}

}  // namespace
}  // namespace onnxc
