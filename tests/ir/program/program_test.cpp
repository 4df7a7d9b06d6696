#include "ir/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program_builder.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto fails_with(const std::string& text) { return ThrowsMessage<InternalError>(HasSubstr(text)); }

TEST(Program, ReadsAndWritesOfANest) {
  ProgramBuilder builder;
  Operand a = builder.input(DType::float32, {4}), b = builder.input(DType::float32, {4});
  Operand index = builder.input(DType::int64, {4}), y = builder.output(DType::float32, {4});
  NestBuilder nest("scatter");
  Expr i = nest.ordered(4);
  Expr at = nest.let(index({i}));
  nest.store(y, {at}, b({i}) + a({i}) + b({i}), StoreKind::add);
  builder.add(std::move(nest));
  const Step& step = builder.program.steps[0];
  EXPECT_THAT(reads(step), ElementsAre(index.buffer, b.buffer, a.buffer, y.buffer));
  EXPECT_THAT(writes(step), ElementsAre(y.buffer));
}

TEST(Program, StorageIsFoundThroughViewsAndAliases) {
  ProgramBuilder builder;
  Operand whole = builder.temporary(DType::float32, {6, 4});
  Operand rows = builder.view(whole, {2, 4}, {3, 0}), flat = builder.alias(rows, {8});
  EXPECT_EQ(builder.program.storage(flat.buffer), whole.buffer);
  Expr i = Symbol::axis("i", 2), j = Symbol::axis("j", 4);
  EXPECT_EQ(builder.program.offset(rows.buffer, {i, j}), i * 4 + j + 12);
}

// Each test builds one fault into a program that is otherwise right.
class FaultyProgram : public testing::Test {
 protected:
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {4}), y = builder.output(DType::float32, {4});

  void store(const Scalar& value) {
    NestBuilder nest("copy");
    Expr i = nest.parallel(4);
    LoopNest made = nest.take();
    made.stores.push_back({y.buffer, {i}, value, StoreKind::assign, {}});
    builder.program.steps.push_back({made, {}});
  }
};

TEST_F(FaultyProgram, StoreOfAnotherType) {
  store(scalar::constant(DType::float64, 1));
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("nest copy: a value is float64, not float32"));
}

TEST_F(FaultyProgram, AxisOfAnotherNest) {
  store(x({Symbol::axis("k", 4)}));
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("'k' is an axis of another nest"));
}

TEST_F(FaultyProgram, AccumulatorThatIsNotThere) {
  store(scalar::accumulator(DType::float32, 0));
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("acc0 is not known here"));
}

TEST_F(FaultyProgram, TooFewIndices) {
  store(scalar::load(DType::float32, x.buffer, {}));
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("0 indices into b0, which has rank 1"));
}

// A loop that may have no round leaves buffers that only it writes as they were; a buffer without an element then may
// be read after it.
TEST_F(FaultyProgram, TemporaryWrittenInALoopAndReadBehindIt) {
  const auto program = [&](const Expr& count, const Shape& shape) {
    ProgramBuilder built;
    const Operand in = built.input(DType::float32, {4});
    const Operand t = built.temporary(DType::float32, shape), out = built.output(DType::float32, {4});
    built.program.steps.push_back(
        {LoopBegin{.round = Symbol::dim("round"), .count = count, .condition = -1, .carried = {}}, {}});
    built.elementwise("inside", t, [&](const auto&) { return in({0}); });
    built.program.steps.push_back({LoopEnd{}, {}});
    built.elementwise("behind", out, [&](const auto&) {
      return scalar::select(less(0, shape[0]), t({0}), scalar::constant(DType::float32, 0));
    });
    return built.program;
  };
  const Expr n = Symbol::dim("n");
  EXPECT_NO_THROW(verify(program(3, {4})));
  EXPECT_NO_THROW(verify(program(n, {n})));
  EXPECT_THAT([&] { verify(program(n, {4})); }, fails_with("is read before it is written"));
}

// As many elements are read as there were rounds.
TEST_F(FaultyProgram, WhatALoopCollectsMayBeReadBehindIt) {
  const Symbol round = Symbol::dim("round");
  const Operand t = builder.temporary(DType::float32, {3}), condition = builder.input(DType::boolean, {});
  builder.program.steps.push_back(
      {LoopBegin{.round = round, .count = 3, .condition = condition.buffer, .carried = {}}, {}});
  NestBuilder inside("inside");
  inside.store(t, {Expr(round)}, x({0}));
  builder.add(std::move(inside));
  builder.program.steps.push_back({LoopEnd{}, {}});
  builder.elementwise("behind", y, [&](const auto&) { return t({0}); });
  EXPECT_NO_THROW(verify(builder.program));
}

TEST_F(FaultyProgram, TemporaryReadBeforeItIsWritten) {
  Operand t = builder.temporary(DType::float32, {4});
  builder.elementwise("copy", y, [&](const auto& i) { return t(i); });
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("b2 is read before it is written"));
}

TEST_F(FaultyProgram, StoreToAnInput) {
  builder.elementwise("copy", x, [&](const auto& i) { return x(i); });
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("writes b0, an input or a constant"));
}

TEST_F(FaultyProgram, OutputThatIsNeverWritten) {
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("output b1 is never written"));
}

TEST_F(FaultyProgram, StoreThatUsesAReduceAxis) {
  NestBuilder nest("sum");
  Expr k = nest.reduce(4);
  nest.store(y, {k}, nest.accumulate(ReduceKind::sum, x({k})));
  builder.add(std::move(nest));
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("a store uses the reduce axis"));
}

TEST_F(FaultyProgram, LayoutWithoutAnAxis) {
  builder.program.buffer(y.buffer).layout.axes.clear();
  EXPECT_THAT([&] { verify(builder.program); }, fails_with("the layout of b1 has axis 0 neither"));
}

}  // namespace
}  // namespace onnxc
