// Which loads in a select are known to be within their buffers, so that both branches may be computed.
#include "codegen/nests/flat_nest.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/loops/loops.h"
#include "ir/program_builder.h"

namespace onnxc {
namespace {

class LoadsInBounds : public testing::Test {
 protected:
  static constexpr DType dtype = DType::float32;
  static Scalar zero() { return scalar::constant(dtype, 0); }
  // y[i] = x[i] if x[i] is not below zero, else `otherwise`.
  static Scalar chosen(const Scalar& x, const Scalar& otherwise) {
    return scalar::select(scalar::binary(ScalarOp::less, x, zero()), otherwise, x);
  }

  // For the loads from `operand` in the only nest, after flattening.
  std::vector<bool> in_bounds(const Operand& operand) const {
    const Program& program = builder_.program;
    const FlatNest nest = flatten(program, std::get<LoopNest>(program.steps.back().work));
    std::vector<bool> result;
    for_each_scalar(nest, [&](const Scalar& scalar) {
      visit(scalar, [&](const ScalarNode& node) {
        if (node.op == ScalarOp::load && node.buffer == operand.buffer) result.push_back(node.in_bounds);
      });
    });
    return result;
  }

  ProgramBuilder builder_;
};

const std::vector<bool> yes = {true}, no = {false};

TEST_F(LoadsInBounds, ElementsAtTheSamePlaceAndWhatIsBroadcast) {
  const Expr n = Symbol::dim("N");
  Operand x = builder_.input(dtype, {n, 5}), each = builder_.input(dtype, {5}), one = builder_.input(dtype, {1, 1}),
          y = builder_.output(dtype, {n, 5});
  builder_.elementwise("choose", y,
                       [&](const std::vector<Expr>& i) { return chosen(x(i), each({i[1]}) * one({0, 0})); });
  EXPECT_EQ(in_bounds(x), yes);
  EXPECT_EQ(in_bounds(each), yes);
  EXPECT_EQ(in_bounds(one), yes);
}

TEST_F(LoadsInBounds, NotWhatATestKeepsWithinTheBuffer) {
  const Expr n = Symbol::dim("N");
  Operand low = builder_.input(dtype, {3}), high = builder_.input(dtype, {4}), unknown = builder_.input(dtype, {n}),
          y = builder_.output(dtype, {7});
  builder_.elementwise("concat", y, [&](const std::vector<Expr>& i) {
    return scalar::select(less(i[0], 3), low({i[0]}), high({i[0] - 3}) + unknown({0}));
  });
  EXPECT_EQ(in_bounds(low), no);
  EXPECT_EQ(in_bounds(high), no);
  EXPECT_EQ(in_bounds(unknown), no);  // it may be empty
}

// In lanes past the 20 channels blocks have memory, rows have none.
TEST_F(LoadsInBounds, InPaddedLanesOnlyBlocks) {
  const Shape shape = {2, 20, 7};
  const Layout layout = Layout::channel_blocked(3, 8);
  Operand x = builder_.temporary(dtype, shape, layout), other = builder_.temporary(dtype, shape),
          each = builder_.input(dtype, {20}), one = builder_.input(dtype, {1}),
          y = builder_.temporary(dtype, shape, layout);
  builder_.elementwise("choose", y,
                       [&](const std::vector<Expr>& i) { return chosen(x(i), other(i) * each({i[1]}) * one({0})); });
  EXPECT_EQ(in_bounds(x), yes);
  EXPECT_EQ(in_bounds(other), no);
  EXPECT_EQ(in_bounds(each), no);
  EXPECT_EQ(in_bounds(one), yes);
}

// Two axes of extent 1 are equal wherever they run as they say; the lanes of one of them run on.
TEST_F(LoadsInBounds, PaddedLanesOfASingleChannelAreThoseOfItsAxis) {
  const Shape shape = {1, 1, 7};
  Operand x = builder_.input(dtype, shape), y = builder_.temporary(dtype, shape, Layout::channel_blocked(3, 8));
  builder_.elementwise("copy", y, [&](const std::vector<Expr>& i) { return x(i); });
  EXPECT_EQ(in_bounds(x), no);
}

TEST_F(LoadsInBounds, BlocksThatAreFilledHaveNoSuchLanes) {
  const Shape shape = {2, 24, 7};
  Operand x = builder_.input(dtype, shape), each = builder_.input(dtype, {24}),
          y = builder_.temporary(dtype, shape, Layout::channel_blocked(3, 8));
  builder_.elementwise("choose", y, [&](const std::vector<Expr>& i) { return chosen(x(i), each({i[1]})); });
  EXPECT_EQ(in_bounds(x), yes);
  EXPECT_EQ(in_bounds(each), yes);
}

// y[10*i + j + 4] = x[7*i + j + 3] + x[7*i + j + 5]: both offsets count from the least, whatever the part of a Concat.
TEST(NumberStorages, TakesTheLeastConstantOutOfOffsets) {
  const auto numbered = [](int64_t from, int64_t to) {
    ProgramBuilder builder;
    const Operand x = builder.input(DType::float32, {2, 7}), y = builder.output(DType::float32, {2, 10});
    NestBuilder nest("part");
    const std::vector<Expr> i = nest.parallel(Shape{2, 2});
    nest.store(y, {i[0], i[1] + to}, x({i[0], i[1] + from}) + x({i[0], i[1] + from + 2}));
    builder.add(std::move(nest));
    FlatNest flat = flatten(builder.program, std::get<LoopNest>(builder.program.steps.back().work));
    const std::vector<NestMemory> memory = number_storages(flat);
    EXPECT_EQ(memory.size(), 2);
    EXPECT_EQ(memory[0].storage, y.buffer);
    EXPECT_EQ(memory[0].first, to);
    EXPECT_EQ(memory[1].storage, x.buffer);
    EXPECT_EQ(memory[1].first, from);
    return to_string(flat);
  };
  EXPECT_EQ(numbered(3, 4), numbered(0, 8));
  EXPECT_NE(numbered(3, 4).find("b0[10*i0 + i1] = b1[7*i0 + i1] + b1[7*i0 + i1 + 2]"), std::string::npos)
      << numbered(3, 4);
}

// Before the first element nothing is: an offset that a test keeps from being used stays as it is.
TEST(NumberStorages, LeavesWhatMayBeNegative) {
  ProgramBuilder builder;
  const Operand x = builder.input(DType::float32, {7}), y = builder.output(DType::float32, {7});
  builder.elementwise("shift", y, [&](const std::vector<Expr>& i) {
    return scalar::select(less(i[0], 1), scalar::constant(DType::float32, 0), x({i[0] - 1}) + x({i[0] + 2}));
  });
  FlatNest flat = flatten(builder.program, std::get<LoopNest>(builder.program.steps.back().work));
  EXPECT_EQ(number_storages(flat)[1].first, 0);
}

}  // namespace
}  // namespace onnxc
