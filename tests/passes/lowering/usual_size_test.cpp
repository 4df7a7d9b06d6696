#include "passes/lowering/usual_size.h"

#include <gtest/gtest.h>

#include "ir/program_builder.h"

namespace onnxc {
namespace {

class UsualSize : public testing::Test {
 protected:
  std::optional<int64_t> of(const Expr& size) { return usual_size(builder_.program, size); }
  void input(Shape shape) { builder_.input(DType::float32, std::move(shape)); }

 private:
  ProgramBuilder builder_;
};

TEST_F(UsualSize, NumbersAreThemselves) { EXPECT_EQ(of(7), 7); }

TEST_F(UsualSize, AFreeDimOfAnInputIs64AndWhatFollowsIsComputed) {
  const Expr D = Symbol::dim("D");
  input({1, 3, D});
  EXPECT_EQ(of(D), 64);
  EXPECT_EQ(of(floor_div(D - 1, 16) + 1), 4);
}

TEST_F(UsualSize, TheDimOfTheInputIs64NotItsSymbol) {
  const Expr q = Symbol::dim("q");
  input({16 * q});
  EXPECT_EQ(of(16 * q), 64);
  EXPECT_EQ(of(q), 4);
}

TEST_F(UsualSize, StaysWithinWhatIsKnown) {
  const Expr N = Symbol::dim("N", {1, 8}), D = Symbol::dim("D", {100, Bounds::infinity});
  input({N, D});
  EXPECT_EQ(of(N), 8);
  EXPECT_EQ(of(D), 100);
}

TEST_F(UsualSize, ASizeOfTheRunIs64) { EXPECT_EQ(of(Symbol::dim("found")), 64); }

TEST_F(UsualSize, ADimOfSeveralSymbolsSaysNothingOfEach) {
  const Expr a = Symbol::dim("a"), b = Symbol::dim("b");
  input({a + 3 * b, b});
  EXPECT_EQ(of(a), 64);
}

TEST_F(UsualSize, BeyondSixtyFourBitsThereIsNone) {
  const Expr D = Symbol::dim("D", {int64_t{1} << 40, Bounds::infinity});
  EXPECT_EQ(of(D * D), std::nullopt);
}

}  // namespace
}  // namespace onnxc
