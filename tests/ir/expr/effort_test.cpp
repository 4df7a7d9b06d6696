#include "ir/expr/effort.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
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

// Where nothing more may be proven, an expression is larger, and right.
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
// take seconds and eight more than a minute.
TEST(EffortTest, ProofsWithinProofsEnd) {
  const std::array<Symbol, 6> symbols{Symbol::dim("a"), Symbol::dim("b"), Symbol::dim("c"),
                                      Symbol::dim("d"), Symbol::dim("e"), Symbol::dim("f")};
  const auto start = std::chrono::steady_clock::now();
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const auto other = [&] { return Expr(symbols[static_cast<size_t>(draw(0, 5))]); };
  constexpr std::array<int64_t, 5> windows{2, 3, 5, 7, 11};
  for (int chain = 0; chain < 6; ++chain) {
    Expr size = other();
    try {
      for (int step = 0; step < 10; ++step) {
        const int64_t window = windows[static_cast<size_t>(draw(0, 4))], kind = draw(0, 2);
        if (kind == 0) size = size + mod(draw(1, 3) * size, window);
        if (kind == 1) size = floor_div(size + mod(size, window), draw(2, 3));
        if (kind == 2) size = min(size, other()) + max(other(), size - other());
      }
    } catch (const UserError&) {  // too large
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 30) << "some two, where nothing else runs";
}

}  // namespace
}  // namespace onnxc
