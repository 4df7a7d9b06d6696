// Random expressions, built both as Expr and as a tree that computes with plain integers: normal form, bounds and
// proofs must agree with the tree for every value of the symbols.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/expr/expr.h"
#include "ir/expr/parser.h"

namespace onnxc {
namespace {

enum class Operation { leaf, add, subtract, multiply, floor_div, ceil_div, mod, min, max };

using Values = std::map<Symbol, int64_t>;

// The oracle: the operations as written, one by one.
struct Tree {
  Operation operation = Operation::leaf;
  std::optional<Symbol> symbol;
  int64_t value = 0;
  std::unique_ptr<Tree> left, right;

  // Nothing if the tree divides by zero.
  std::optional<int64_t> evaluate(const Values& values) const {
    if (operation == Operation::leaf) return symbol ? values.at(*symbol) : value;
    auto a = left->evaluate(values), b = right->evaluate(values);
    if (!a || !b) return std::nullopt;
    bool divides = operation == Operation::floor_div || operation == Operation::ceil_div || operation == Operation::mod;
    if (divides && *b == 0) return std::nullopt;
    auto floor = [](int64_t x, int64_t y) { return static_cast<int64_t>(std::floor(double(x) / double(y))); };
    switch (operation) {
      case Operation::add:
        return *a + *b;
      case Operation::subtract:
        return *a - *b;
      case Operation::multiply:
        return *a * *b;
      case Operation::floor_div:
        return floor(*a, *b);
      case Operation::ceil_div:
        return -floor(-*a, *b);
      case Operation::mod:
        return *a - *b * floor(*a, *b);
      case Operation::min:
        return std::min(*a, *b);
      case Operation::max:
        return std::max(*a, *b);
      case Operation::leaf:
        break;
    }
    return std::nullopt;
  }
};

struct Sample {
  Expr expr;
  std::unique_ptr<Tree> tree;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t draw(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }

  const std::vector<Symbol>& symbols() const { return symbols_; }

  // Values within the bounds and below the extents of axes; the edges are drawn often.
  Values values() {
    Values values;
    for (const Symbol& symbol : symbols_) {
      const SymbolInfo& info = symbol.info();
      int64_t least = std::max<int64_t>(info.bounds.minimum, -9);
      int64_t most = std::min<int64_t>(info.bounds.maximum, 12);
      if (info.extent) most = info.extent->evaluate(values) - 1;
      if (most < least) return this->values();  // an axis over an empty extent has no value
      values[symbol] = draw(0, 2) == 0 ? std::min(least + draw(0, 1), most) : draw(least, most);
    }
    return values;
  }

  Sample sample(int depth) {
    if (depth == 0 || draw(0, 5) == 0) return leaf();
    // A ceil division by what may be negative is not (a + b - 1)//b: divisors of that one are positive constants.
    auto operation = static_cast<Operation>(draw(1, 8));
    Sample a = sample(depth - 1);
    bool by_constant = operation == Operation::ceil_div || (operation >= Operation::floor_div && draw(0, 1) == 0);
    Sample b = by_constant ? constant(draw(1, 9)) : sample(depth - 1);
    bool divides = operation == Operation::floor_div || operation == Operation::mod;
    if (divides && b.expr.is_constant(0)) b = constant(-4);
    auto tree = std::make_unique<Tree>(operation, std::nullopt, 0, std::move(a.tree), std::move(b.tree));
    return {apply(operation, a.expr, b.expr), std::move(tree)};
  }

 private:
  static Expr apply(Operation operation, const Expr& a, const Expr& b) {
    switch (operation) {
      case Operation::add:
        return a + b;
      case Operation::subtract:
        return a - b;
      case Operation::multiply:
        return a * b;
      case Operation::floor_div:
        return floor_div(a, b);
      case Operation::ceil_div:
        return ceil_div(a, b);
      case Operation::mod:
        return mod(a, b);
      case Operation::min:
        return min(a, b);
      case Operation::max:
        return max(a, b);
      case Operation::leaf:
        break;
    }
    return {};
  }

  Sample leaf() {
    if (draw(0, 2) == 0) return constant(draw(-5, 16));
    const Symbol& symbol = symbols_[static_cast<size_t>(draw(0, std::ssize(symbols_) - 1))];
    return {symbol, std::make_unique<Tree>(Operation::leaf, symbol, 0, nullptr, nullptr)};
  }

  static Sample constant(int64_t value) {
    return {value, std::make_unique<Tree>(Operation::leaf, std::nullopt, value, nullptr, nullptr)};
  }

  std::mt19937 random_;
  Symbol d_ = Symbol::dim("D"), w_ = Symbol::dim("W");
  std::vector<Symbol> symbols_ = {d_,
                                  w_,
                                  Symbol::dim("P", {1, Bounds::infinity}),
                                  Symbol::dim("S", {2, 5}),
                                  Symbol::index("i"),
                                  Symbol::axis("x", 4),
                                  Symbol::axis("w", w_),
                                  Symbol::axis("dw", Expr(d_) * w_)};
};

// Sanitizers make a round ten times as long, and look for other faults than a wrong value.
constexpr int rounds(int usual) {
#if __has_feature(address_sanitizer)
  return usual / 10;
#else
  return usual;
#endif
}

TEST(ExprRandomTest, NormalFormKeepsTheValue) {
  Generator generator(1);
  for (int round = 0; round < rounds(20000); ++round) {
    Sample sample = generator.sample(4);
    for (int point = 0; point < 6; ++point) {
      Values values = generator.values();
      auto expected = sample.tree->evaluate(values);
      if (!expected) continue;
      ASSERT_EQ(sample.expr.evaluate(values), *expected) << sample.expr.to_string();
      Bounds bounds = sample.expr.bounds();
      ASSERT_LE(bounds.minimum, *expected) << sample.expr.to_string();
      ASSERT_GE(bounds.maximum, *expected) << sample.expr.to_string();
    }
  }
}

TEST(ExprRandomTest, SubstitutionKeepsTheValue) {
  Generator generator(2);
  for (int round = 0; round < rounds(5000); ++round) {
    Sample sample = generator.sample(3);
    Values values = generator.values();
    auto expected = sample.tree->evaluate(values);
    if (!expected) continue;
    std::map<Symbol, Expr> replacements;
    for (const auto& [symbol, value] : values) replacements[symbol] = value;
    ASSERT_EQ(sample.expr.substitute(replacements).constant(), expected) << sample.expr.to_string();
  }
}

TEST(ExprRandomTest, TextParsesBack) {
  Generator generator(4);
  auto resolve = [&](std::string_view name) -> Expr {
    for (const Symbol& symbol : generator.symbols())
      if (symbol.name() == name) return symbol;
    ADD_FAILURE() << "asked for " << name;
    return 0;
  };
  for (int round = 0; round < rounds(10000); ++round) {
    Expr expr = generator.sample(4).expr;
    std::string text = expr.to_string();
    if (text.size() > 1000) continue;
    ASSERT_EQ(parse_expr(text, resolve), expr) << text << "\nagainst\n" << parse_expr(text, resolve).to_string();
  }
}

TEST(ExprRandomTest, WhatIsProvenHolds) {
  Generator generator(3);
  int proven = 0;
  for (int round = 0; round < rounds(20000); ++round) {
    Sample a = generator.sample(3), b = generator.sample(2);
    bool at_least = proven_at_least(a.expr, b.expr);
    bool less = proven_less(a.expr, b.expr);
    bool equal = proven_equal(a.expr, b.expr);
    bool different = proven_different(a.expr, b.expr);
    proven += at_least + less;
    for (int point = 0; point < 6; ++point) {
      Values values = generator.values();
      auto x = a.tree->evaluate(values), y = b.tree->evaluate(values);
      if (!x || !y) continue;
      std::string text = a.expr.to_string() + " and " + b.expr.to_string();
      if (at_least) ASSERT_GE(*x, *y) << text;
      if (less) ASSERT_LT(*x, *y) << text;
      if (equal) ASSERT_EQ(*x, *y) << text;
      if (different) ASSERT_NE(*x, *y) << text;
    }
  }
  EXPECT_GT(proven, rounds(4000)) << "a prover that proves nothing is sound, too";
}

}  // namespace
}  // namespace onnxc
