#include "ir/expr/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnxc {
namespace {

using Values = std::map<Symbol, int64_t>;
using Sizes = std::vector<int64_t>;

class SolveTest : public testing::Test {
 protected:
  Symbol n = Symbol::dim("N"), d = Symbol::dim("D"), e = Symbol::dim("E", {1, Bounds::infinity});
  Symbol few = Symbol::dim("F", {2, 5});
  Expr N = n, D = d, E = e, F = few;

  // Dims of one input "x".
  static std::vector<InputDim> dims_of(const Shape& shape) {
    std::vector<InputDim> dims;
    for (int axis = 0; axis < std::ssize(shape); ++axis)
      dims.push_back({"x", 0, axis, shape[static_cast<size_t>(axis)]});
    return dims;
  }

  // The model's work at entry: the symbols' values, or nothing when a check refuses the sizes.
  static std::optional<Values> enter(const DimSolution& solution, const Sizes& sizes) {
    Values values;
    for (const Binding& binding : solution.bindings) {
      values.insert_or_assign(solution.observed, sizes[static_cast<size_t>(binding.axis)]);
      int64_t value = binding.value.evaluate(values);
      const Bounds& bounds = binding.symbol.info().bounds;
      if (value < bounds.minimum || value > bounds.maximum) return std::nullopt;
      values[binding.symbol] = value;
    }
    for (const DimCheck& check : solution.checks)
      if (check.expected.evaluate(values) != sizes[static_cast<size_t>(check.axis)]) return std::nullopt;
    values.erase(solution.observed);
    return values;
  }

  static Sizes evaluate(const Shape& shape, const Values& values) {
    Sizes sizes;
    for (const Expr& dim : shape) sizes.push_back(dim.evaluate(values));
    return sizes;
  }

  // Calls `visit` for every combination of values with each in [0, most].
  template <class Visit>
  static void for_each(size_t count, int64_t most, Visit visit) {
    Sizes values(count, 0);
    for (;;) {
      visit(values);
      size_t i = 0;
      while (i < count && values[i] == most) values[i++] = 0;
      if (i == count) return;
      ++values[i];
    }
  }

  // Checks by brute force: the sizes that some values of the symbols give are taken, with values that give them; no
  // others are.
  static void expect_right(const Shape& shape, int64_t most) {
    DimSolution solution = solve_dims(dims_of(shape));
    EXPECT_THAT(solution.errors, testing::IsEmpty()) << to_string(shape);
    std::set<Symbol> symbols;
    for (const Expr& dim : shape) symbols.merge(dim.symbols());
    std::set<Sizes> legal;
    for_each(symbols.size(), 3 * most, [&](const Sizes& drawn) {
      Values values;
      for (const Symbol& symbol : symbols) values[symbol] = drawn[values.size()];
      for (const auto& [symbol, value] : values)
        if (value < symbol.info().bounds.minimum || value > symbol.info().bounds.maximum) return;
      legal.insert(evaluate(shape, values));
    });
    int taken = 0;
    for_each(shape.size(), most, [&](const Sizes& sizes) {
      auto values = enter(solution, sizes);
      ASSERT_EQ(values.has_value(), legal.contains(sizes)) << to_string(shape) << testing::PrintToString(sizes);
      if (!values) return;
      ++taken;
      EXPECT_EQ(evaluate(shape, *values), sizes) << to_string(shape);
    });
    EXPECT_GT(taken, 0) << to_string(shape);
  }
};

TEST_F(SolveTest, EverySmallSize) {
  expect_right({D}, 20);
  expect_right({D, D}, 10);
  expect_right({E}, 20);
  expect_right({F}, 20);
  expect_right({3, D}, 10);
  expect_right({2 * D + 1}, 20);
  expect_right({2 * E + 1}, 20);
  expect_right({3 * F - 1}, 20);
  expect_right({10 - D}, 20);
  expect_right({10 - 3 * D}, 20);
  expect_right({4 * floor_div(D - 1, 4) + 4}, 30);
  expect_right({4 * floor_div(E - 1, 4) + 4}, 30);
  expect_right({4 * floor_div(F, 4)}, 30);
  expect_right({floor_div(D, 2)}, 20);
  expect_right({floor_div(E, 3)}, 20);
  expect_right({floor_div(3 * D + 1, 4)}, 20);
  expect_right({floor_div(2 * D + 1, 5) + 1}, 20);
  expect_right({12 - 2 * floor_div(D + 1, 3)}, 20);
  expect_right({max(D, 3)}, 20);
  expect_right({min(D, 3)}, 20);
  expect_right({max(2 * D, 3)}, 20);
  expect_right({min(2 * D, 3)}, 20);
  expect_right({2 * max(floor_div(D, 2), 2)}, 20);
  expect_right({D, D + E}, 12);
  expect_right({N * E, E}, 12);
  expect_right({N * D, D}, 12);
  expect_right({N, 2 * N * D + N}, 12);
  expect_right({2 * floor_div(D + 1, 2), D}, 12);
  expect_right({3 * floor_div(D, 3), 2 * D + 1}, 12);
  expect_right({D, floor_div(E + D, 2)}, 12);
  expect_right({N, 1, D}, 5);
}

TEST_F(SolveTest, TheSurestDimIsTaken) {
  Shape shape = {16 * ceil_div(D, 16), 2 * D + 1, D};
  DimSolution solution = solve_dims(dims_of(shape));
  ASSERT_EQ(solution.bindings.size(), 1u);
  EXPECT_EQ(solution.bindings[0].axis, 2);
  EXPECT_EQ(solution.bindings[0].value, solution.observed);
  EXPECT_EQ(solution.checks.size(), 2u);
  solution = solve_dims(dims_of({shape[0], shape[1]}));
  ASSERT_EQ(solution.bindings.size(), 1u);
  EXPECT_EQ(solution.bindings[0].axis, 1);
  EXPECT_EQ(solution.bindings[0].value.to_string(), "(size + 1)//2 - 1");
}

TEST_F(SolveTest, ValuesReadNaturally) {
  auto value = [](const Expr& dim) { return solve_dims({{"x", 0, 0, dim}}).bindings.at(0).value.to_string(); };
  EXPECT_EQ(value(16 * D), "size//16");
  EXPECT_EQ(value(16 * floor_div(D - 1, 16) + 16), "16*(size//16)");
  EXPECT_EQ(value(max(D, 1)), "size");
  EXPECT_EQ(value(20 - D), "-size + 20");
}

TEST_F(SolveTest, TwoInputs) {
  DimSolution solution = solve_dims({{"a", 0, 0, 2 * N}, {"b", 1, 0, N}, {"b", 1, 1, 7}});
  ASSERT_EQ(solution.bindings.size(), 1u);
  EXPECT_EQ(solution.bindings[0].input, 1);
  ASSERT_EQ(solution.checks.size(), 2u);
  EXPECT_EQ(solution.checks[0].expected, 2 * N);
  EXPECT_EQ(solution.checks[0].input, 0);
  EXPECT_EQ(solution.checks[1].expected, 7);
}

TEST_F(SolveTest, WhatCannotBeSolvedIsNamed) {
  auto errors = [](const Shape& shape) { return solve_dims(dims_of(shape)).errors; };
  EXPECT_THAT(errors({3, D * D}),
              testing::ElementsAre("input `x`, dim 1: D cannot be computed from the size, which the model gives as "
                                   "`D*D`, nor from another dim; give it a value with --dim D=..."));
  EXPECT_EQ(errors({N * D}).size(), 2u);
  EXPECT_EQ(errors({N + D, N - D}).size(), 2u);
  EXPECT_EQ(errors({D + floor_div(D, 2)}).size(), 1u);
  EXPECT_EQ(errors({mod(D, 4)}).size(), 1u);
  EXPECT_THAT(errors({mod(D, 4), D}), testing::IsEmpty());
}

}  // namespace
}  // namespace onnxc
