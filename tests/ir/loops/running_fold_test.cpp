#include "ir/loops/running_fold.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

class AsRunningFold : public testing::Test {
 protected:
  static Scalar zero() { return scalar::integer_constant(DType::int64, 0); }
  Scalar load(BufferId buffer, const Expr& place) const { return scalar::load(DType::int64, buffer, {Expr(n), place}); }
  Scalar is_first() const { return scalar::binary(ScalarOp::equal, scalar::index(Expr(i)), zero()); }
  Scalar before(int64_t distance) const { return scalar::select(is_first(), zero(), load(1, Expr(i) - distance)); }
  std::optional<RunningFold> fold_of(const Scalar& value) const {
    return as_running_fold(i, 1, {Expr(n), Expr(i)}, value);
  }

  const Symbol n = Symbol::axis("n", 3), i = Symbol::axis("i", 9);
};

TEST_F(AsRunningFold, FindsStartAndElement) {
  const std::optional<RunningFold> sum = fold_of(before(1) + load(0, Expr(i)));
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->op, ScalarOp::add);
  EXPECT_EQ(to_string(sum->start), "0");
  EXPECT_EQ(to_string(sum->element), "b0[n, i]");
  EXPECT_EQ(fold_of(before(1) * load(0, Expr(i)))->op, ScalarOp::multiply);
}

TEST_F(AsRunningFold, NotOfAnotherElementOperatorOrOrder) {
  EXPECT_FALSE(fold_of(before(2) + load(0, Expr(i))));
  EXPECT_FALSE(fold_of(before(1) - load(0, Expr(i))));
  EXPECT_FALSE(fold_of(load(0, Expr(i)) + before(1)));
  EXPECT_FALSE(fold_of(load(1, Expr(i) - 1) + load(0, Expr(i))));
}

TEST_F(AsRunningFold, NotWhereTheElementReadsTheResult) {
  EXPECT_FALSE(fold_of(before(1) + load(1, Expr(i) - 1)));
  EXPECT_FALSE(as_running_fold(n, 1, {Expr(n), Expr(i)}, before(1) + load(0, Expr(i))));
}

TEST(NeutralElement, OfEachOperator) {
  EXPECT_EQ(to_string(neutral_element(ScalarOp::add, DType::int64)), "0");
  EXPECT_EQ(to_string(neutral_element(ScalarOp::multiply, DType::int64)), "1");
}

}  // namespace
}  // namespace onnxc
