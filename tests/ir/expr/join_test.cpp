#include "ir/expr/join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>

namespace onnxc {
namespace {

class JoinTest : public testing::Test {
 protected:
  Symbol n = Symbol::dim("N"), x = Symbol::dim("X"), y = Symbol::dim("Y");
  Expr N = n, X = x, Y = y;
};

#define EXPECT_TEXT(expression, text) EXPECT_EQ((expression).to_string(), text) << #expression

TEST_F(JoinTest, QuotientAndRemainder) {
  EXPECT_TEXT(7 * floor_div(X, 7) + mod(X, 7), "X");
  EXPECT_TEXT(14 * N * floor_div(X, 7) + 2 * N * mod(X, 7), "2*N*X");
  EXPECT_TEXT(X - mod(X, 7), "7*(X//7)");
  EXPECT_TEXT(X * Y - Y * mod(X, 7), "7*Y*(X//7)");
  EXPECT_TEXT(2 * X - mod(X, 7), "X + 7*(X//7)");
  EXPECT_TEXT(X - 2 * mod(X, 7), "7*(X//7) - X % 7");
  EXPECT_TEXT(X + mod(X, 7), "X + X % 7");
  EXPECT_TEXT(X + Y - mod(X + Y, 7), "7*((X + Y)//7)");
  EXPECT_TEXT(X - mod(X + Y, 7), "X - (X + Y) % 7");
}

TEST_F(JoinTest, PaddedSizes) {
  EXPECT_TEXT(X + mod(7 - mod(X, 7), 7), "7*((X + 6)//7)");
  EXPECT_TEXT(X + mod(X, 2), "2*((X + 1)//2)");
  EXPECT_TEXT(X + mod(X + 1, 2), "2*(X//2) + 1");
  EXPECT_TEXT(X + Y + mod(X + Y, 2), "2*((X + Y + 1)//2)");
  EXPECT_TEXT(X + mod(X, 3), "X + X % 3");
}

TEST_F(JoinTest, PartsOfASize) {
  EXPECT_TEXT(X - max(0, X - 7), "min(X, 7)");
  EXPECT_TEXT(X - min(X, 3), "max(0, X - 3)");
  EXPECT_TEXT(X + Y - max(X, 5), "Y + min(0, X - 5)");
  EXPECT_TEXT(2 * X - min(X, 3), "2*X - min(X, 3)");
  EXPECT_TEXT(min(X, 3) + max(0, X - 3), "X");
  EXPECT_TEXT(N * min(X, Y) + N * max(X + 2, Y + 2), "N*X + N*Y + 2*N");
  EXPECT_TEXT(2 * min(X, 3) + max(0, X - 3), "X + min(X, 3)");
  EXPECT_TEXT(min(X, 3) + max(0, X - 4), "min(X, 3) + max(0, X - 4)");
}

// How Swin transformers pad a size, shift it, cut it into windows and halve it.
TEST_F(JoinTest, WindowsOfEachStage) {
  Expr size = X;
  for (int stage = 0; stage < 8; ++stage) {
    const Expr padded = size + mod(7 - mod(size, 7), 7);
    EXPECT_EQ(padded, 7 * floor_div(padded, 7));
    EXPECT_EQ(min(padded, 3) + max(0, padded - 3), padded);
    const Expr even = size + mod(size, 2);
    EXPECT_EQ(ceil_div(even, 2), ceil_div(even - min(even, 1), 2));
    size = ceil_div(even, 2);
  }
  EXPECT_TEXT(size, "(X + 255)//256");
}

// Sums of what the rules join and what is near to it, against the same with plain integers.
class Sums {
 public:
  explicit Sums(uint32_t seed) : random_(seed) {}

  struct Sample {
    Expr expr;
    std::function<int64_t()> value;
  };

  int64_t draw(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }

  Sample sum() {
    Sample sum{0, [] { return int64_t{0}; }};
    const Sample size = draw(0, 1) == 0 ? symbol() : plus(symbol(), symbol());
    for (int64_t parts = draw(2, 5); parts > 0; --parts) sum = plus(sum, times(factor(), part(size)));
    return sum;
  }

  std::map<Symbol, int64_t> values(int64_t a, int64_t b, int64_t c) {
    values_ = {a, b, c};
    std::map<Symbol, int64_t> result;
    for (size_t i = 0; i < symbols_.size(); ++i) result[symbols_[i]] = values_[i];
    return result;
  }

 private:
  static Sample plus(const Sample& a, const Sample& b) {
    return {a.expr + b.expr, [f = a.value, g = b.value] { return f() + g(); }};
  }

  static Sample times(const Sample& a, const Sample& b) {
    return {a.expr * b.expr, [f = a.value, g = b.value] { return f() * g(); }};
  }

  static Sample number(int64_t value) {
    return {value, [value] { return value; }};
  }

  Sample symbol() {
    const auto i = static_cast<size_t>(draw(0, 2));
    return {symbols_[i], [this, i] { return values_[i]; }};
  }

  Sample factor() {
    const Sample sign = number(std::array{-2, -1, 1, 1, 3}[static_cast<size_t>(draw(0, 4))]);
    return draw(0, 3) == 0 ? times(sign, symbol()) : sign;
  }

  Sample part(const Sample& size) {
    const Sample x = draw(0, 2) == 0 ? plus(size, number(draw(-3, 6))) : size;
    const int64_t b = draw(0, 1) == 0 ? 2 : draw(2, 4), kind = draw(0, 4);
    if (kind == 0) return x;
    if (kind == 1) return {mod(x.expr, b), [f = x.value, b] { return ((f() % b) + b) % b; }};
    if (kind == 2) return {b * floor_div(x.expr, b), [f = x.value, b] { return f() - ((f() % b) + b) % b; }};
    const Sample y = draw(0, 2) == 0 ? symbol() : number(draw(-1, 4));
    if (kind == 3) return {min(x.expr, y.expr), [f = x.value, g = y.value] { return std::min(f(), g()); }};
    return {max(x.expr, y.expr), [f = x.value, g = y.value] { return std::max(f(), g()); }};
  }

  std::mt19937 random_;
  std::vector<Symbol> symbols_ = {Symbol::dim("D"), Symbol::dim("W"), Symbol::index("i")};
  std::vector<int64_t> values_;
};

TEST(JoinRandomTest, EverySmallSizeKeepsItsValue) {
  Sums sums(6);
  for (int round = 0; round < 3000; ++round) {
    const Sums::Sample sum = sums.sum();
    for (int64_t a = 0; a < 6; ++a)
      for (int64_t b = 0; b < 5; ++b)
        for (const int64_t c : {-3, 0, 2}) {
          const auto values = sums.values(a, b, c);
          ASSERT_EQ(sum.expr.evaluate(values), sum.value()) << sum.expr.to_string();
          ASSERT_LE(sum.expr.bounds().minimum, sum.value()) << sum.expr.to_string();
          ASSERT_GE(sum.expr.bounds().maximum, sum.value()) << sum.expr.to_string();
        }
  }
}

}  // namespace
}  // namespace onnxc
