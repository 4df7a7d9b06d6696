#include "ir/expr/effort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "ir/expr/expr.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

TEST(EffortTest, BelongsToTheOutermostOperation) {
  Effort::spend(int64_t{1} << 40);
  EXPECT_FALSE(Effort::is_spent()) << "outside of an operation";
  {
    const Effort outer;
    EXPECT_FALSE(Effort::is_spent());
    {
      const Effort inner;
      Effort::spend(int64_t{1} << 40);
    }
    EXPECT_TRUE(Effort::is_spent());
  }
  const Effort next;
  EXPECT_FALSE(Effort::is_spent());
}

// If nothing more may be proven, an expression is larger, and right.
TEST(EffortTest, WithoutItValuesStay) {
  const Symbol x = Symbol::dim("X"), y = Symbol::dim("Y", {1, Bounds::infinity});
  const auto make = [&] {
    const Expr padded = Expr(x) + mod(7 - mod(x, 7), 7);
    return min(padded, 3) + max(padded - 3, 0) + floor_div(padded * y + mod(x, y), y) + mod(max(padded, y), 7);
  };
  const Expr usual = make();
  const Effort spent;
  Effort::spend(int64_t{1} << 40);
  const Expr longer = make();
  EXPECT_GT(longer.to_string().size(), usual.to_string().size());
  EXPECT_FALSE(proven_at_least(Expr(x) * y - min(Expr(x) * y, 5), 0)) << "nothing is proven but by bounds";
  for (int64_t a = 0; a < 20; ++a)
    for (int64_t b = 1; b < 9; ++b)
      ASSERT_EQ(longer.evaluate({{x, a}, {y, b}}), usual.evaluate({{x, a}, {y, b}})) << a << " " << b;
}

// Sizes that are padded, divided, cut and joined: each proof asks for proofs about the parts. Without a limit six steps
// take seconds and eight more than a minute. The proof under way when the allowance is used up ends first.
TEST(EffortTest, ProofsWithinProofsEnd) {
  const std::array<Symbol, 6> symbols{Symbol::dim("a"), Symbol::dim("b"), Symbol::dim("c"),
                                      Symbol::dim("d"), Symbol::dim("e"), Symbol::dim("f")};
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const auto other = [&] { return Expr(symbols[static_cast<size_t>(draw(0, 5))]); };
  int64_t most_spent = 0;
  const auto counted = [&](const auto& operation, const Expr& a, const Expr& b) {
    const Effort effort;
    const Expr result = operation(a, b);
    most_spent = std::max(most_spent, Effort::spent());
    return result;
  };
  const auto remainder = [](const Expr& a, const Expr& b) { return mod(a, b); };
  const auto quotient = [](const Expr& a, const Expr& b) { return floor_div(a, b); };
  const auto lesser = [](const Expr& a, const Expr& b) { return min(a, b); };
  const auto greater = [](const Expr& a, const Expr& b) { return max(a, b); };
  constexpr std::array<int64_t, 5> windows{2, 3, 5, 7, 11};
  for (int chain = 0; chain < 2; ++chain) {
    Expr size = other();
    try {
      for (int step = 0; step < 10; ++step) {
        const int64_t window = windows[static_cast<size_t>(draw(0, 4))], kind = draw(0, 2);
        if (kind == 0) size = counted(std::plus<>(), size, counted(remainder, draw(1, 3) * size, window));
        if (kind == 1)
          size = counted(quotient, counted(std::plus<>(), size, counted(remainder, size, window)), draw(2, 3));
        if (kind == 2) {
          const Expr cut = counted(lesser, size, other());
          size = counted(std::plus<>(), cut, counted(greater, other(), size - other()));
        }
      }
    } catch (const UserError&) {  // too large
    }
  }
  EXPECT_GT(most_spent, Effort::allowance) << "no operation came to the limit";
  EXPECT_LT(most_spent, 2 * Effort::allowance);
}

}  // namespace
}  // namespace onnxc
