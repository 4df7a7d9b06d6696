#include "ir/expr/indicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

namespace onnxc {
namespace {

class IndicatorTest : public testing::Test {
 protected:
  Symbol a = Symbol::dim("A"), b = Symbol::dim("B"), c = Symbol::dim("C");
  Symbol positive = Symbol::dim("P", {1, Bounds::infinity}), any = Symbol::index("i");
  Expr A = a, B = b, C = c, P = positive, I = any;
};

#define EXPECT_TEXT(expression, text) EXPECT_EQ((expression).to_string(), text) << #expression

TEST_F(IndicatorTest, SaysWhatTheOtherFactorsDoNot) {
  EXPECT_TEXT(A * min(A, 1), "A");
  EXPECT_TEXT(2 * A * B * min(min(A, B), 1), "2*A*B");
  EXPECT_TEXT(A * min(min(A, B), 1), "A*min(B, 1)");
  EXPECT_TEXT(max(A, B) * min(max(A, B), 1), "max(A, B)");
  EXPECT_TEXT(A * min(max(A, B), 1), "A") << "the maximum is not less";
  EXPECT_TEXT(A * min(A + B, 1), "A");
  EXPECT_TEXT(max(A, B) * min(A, 1), "min(A, 1)*max(A, B)") << "B may be more where A is 0";
  EXPECT_TEXT((A + B) * min(A, 1), "B*min(A, 1) + A");
}

TEST_F(IndicatorTest, TwoOfAProductAreOne) {
  EXPECT_EQ(min(A, 1) * min(B, 1), min(min(A, B), 1));
  EXPECT_EQ(min(A, 1) * min(A, 1), min(A, 1));
  EXPECT_EQ(min(min(A, B), 1) * min(min(B, C), 1) * B, B * min(min(A, C), 1));
}

TEST_F(IndicatorTest, CountsTheFactorsOfAProduct) {
  EXPECT_EQ(min(A * B, 1), min(min(A, B), 1));
  EXPECT_EQ(min(1, 3 * A), min(A, 1));
  EXPECT_EQ(min(A * P, 1), min(A, 1));
  EXPECT_EQ(min(min(min(A, B), 1) * max(A, B), min(C, 1)), min(min(min(A, B), C), 1));
  EXPECT_TEXT(min(A * B, 2), "min(A*B, 2)") << "not only 0 or 1";
  EXPECT_TEXT(min(I * A, 1), "min(A*i, 1)") << "may be negative";
  EXPECT_TEXT(A * min(I, 1), "A*min(i, 1)");
}

TEST_F(IndicatorTest, DivisionFindsWhatWasLeftOut) {
  const Expr broadcast = min(min(A, B), 1) * max(A, B);
  EXPECT_EQ(exact_quotient(A * broadcast, broadcast), A);
  EXPECT_EQ(exact_quotient(A * A * C * broadcast, A * broadcast), A * C);
  EXPECT_EQ(exact_quotient(A * C, broadcast), std::nullopt);
  EXPECT_EQ(exact_quotient(A * max(A, B), broadcast), std::nullopt) << "B may be 0";
  EXPECT_EQ(without_indicators(broadcast), max(A, B));
  EXPECT_EQ(without_indicators(broadcast + 1), broadcast + 1);
}

// Products of dims, maxima and minima with 1, against the same with plain integers.
class Sizes {
 public:
  explicit Sizes(uint32_t seed) : random_(seed) {}

  struct Sample {
    Expr expr;
    std::function<int64_t()> value;
  };

  void draw_values() {
    for (int64_t& value : values_) value = draw(0, 2) == 0 ? 0 : draw(0, 4);
    values_[2] = std::max<int64_t>(values_[2], 1);
  }

  Sample sample(int depth) {
    if (depth == 0) {
      const size_t i = static_cast<size_t>(draw(0, 2));
      return {symbols_[i], [this, i] { return values_[i]; }};
    }
    Sample x = sample(depth - 1);
    const int64_t kind = draw(0, 5);
    if (kind <= 1) return {min(x.expr, 1), [f = x.value] { return std::min<int64_t>(f(), 1); }};
    Sample y = sample(depth - 1);
    if (kind == 2) return {max(x.expr, y.expr), [f = x.value, g = y.value] { return std::max(f(), g()); }};
    if (kind == 3) return {min(x.expr, y.expr), [f = x.value, g = y.value] { return std::min(f(), g()); }};
    return {x.expr * y.expr, [f = x.value, g = y.value] { return f() * g(); }};
  }

  std::map<Symbol, int64_t> values() const {
    std::map<Symbol, int64_t> result;
    for (size_t i = 0; i < symbols_.size(); ++i) result[symbols_[i]] = values_[i];
    return result;
  }

 private:
  int64_t draw(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }

  std::mt19937 random_;
  std::vector<Symbol> symbols_ = {Symbol::dim("D"), Symbol::dim("W"), Symbol::dim("P", {1, Bounds::infinity})};
  std::vector<int64_t> values_ = {0, 0, 1};
};

TEST(IndicatorRandomTest, ValuesStayAndQuotientsAreFound) {
  Sizes sizes(5);
  int found = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    const Sizes::Sample x = sizes.sample(3), y = sizes.sample(2);
    const std::optional<Expr> quotient = exact_quotient(x.expr * y.expr, y.expr);
    found += quotient.has_value();
    for (int point = 0; point < 8; ++point) {
      sizes.draw_values();
      const auto values = sizes.values();
      ASSERT_EQ(x.expr.evaluate(values), x.value()) << x.expr.to_string();
      ASSERT_EQ((x.expr * y.expr).evaluate(values), x.value() * y.value()) << (x.expr * y.expr).to_string();
      if (quotient)
        ASSERT_EQ(quotient->evaluate(values) * y.value(), x.value() * y.value())
            << x.expr.to_string() << " times " << y.expr.to_string();
    }
  }
  EXPECT_GT(found, rounds / 2);
}

// Broadcasting a size again and again.
TEST_F(IndicatorTest, BroadcastSizesDoNotGrow) {
  const auto broadcast = [](const Expr& x, const Expr& y) {
    return min(min(x, y), 1) * max(without_indicators(x), without_indicators(y));
  };
  Expr size = broadcast(A, B);
  for (int layer = 0; layer < 30; ++layer) size = broadcast(broadcast(size, C), layer % 2 == 0 ? A : B);
  EXPECT_EQ(size, min(min(min(A, B), C), 1) * max(max(A, B), C));
}

}  // namespace
}  // namespace onnxc
