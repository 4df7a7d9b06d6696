#include "ir/expr/facts.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

class FactsTest : public testing::Test {
 protected:
  const Expr a = Symbol::dim("a"), b = Symbol::dim("b"), c = Symbol::dim("c");
  const Symbol index = Symbol::index("j");
  Facts facts;
};

TEST_F(FactsTest, WhatIsSaid) {
  EXPECT_FALSE(facts.prove_at_least(a, 1));
  facts.at_least(a, b + 2);
  EXPECT_TRUE(facts.prove_at_least(a, b + 2));
  EXPECT_TRUE(facts.prove_at_least(3 * a, 3 * b + 5));
  EXPECT_TRUE(facts.prove_at_least(a, 2));
  EXPECT_FALSE(facts.prove_at_least(a, b + 3));
  EXPECT_FALSE(facts.prove_at_least(b, 1));
}

TEST_F(FactsTest, TwoTogether) {
  facts.at_least(a, b + 1);
  facts.equal(b, c + 1);
  EXPECT_TRUE(facts.prove_at_least(a, c + 2));
  EXPECT_FALSE(facts.prove_at_least(a, c + 3));
}

TEST_F(FactsTest, ThePartsOfAProduct) {
  facts.at_least(min(min(a, b), 1) * max(a, b) * c, 1);
  for (const Expr& part : {a, b, c, a * b * c}) {
    facts.narrow_symbols({});
    EXPECT_TRUE(facts.prove_at_least(part, 1)) << part.to_string();
  }
  EXPECT_FALSE(facts.prove_at_least(a, 2));
}

TEST_F(FactsTest, OfADivisionAndOfAMaximum) {
  facts.at_least(floor_div(a, 3), 2);
  EXPECT_TRUE(facts.prove_at_least(a, 6));
  EXPECT_FALSE(facts.prove_at_least(a, 7));
  facts.at_least(max(2 * b - 2, 0), 1);
  facts.narrow_symbols({});
  EXPECT_TRUE(facts.prove_at_least(b, 2));
  EXPECT_FALSE(facts.prove_at_least(b, 3));
}

TEST_F(FactsTest, AMinimumThatTheOtherFactsSettle) {
  facts.at_least(a, min(b * c, 1));
  facts.at_least(b, 1);
  EXPECT_FALSE(facts.prove_at_least(a, 1));
  facts.at_least(c, 1);
  facts.narrow_symbols({});
  EXPECT_TRUE(facts.prove_at_least(a, 1));
}

TEST_F(FactsTest, AxesOfNarrowerDims) {
  const Symbol i = Symbol::axis("i", a * b);
  facts.at_least(a, 2);
  facts.at_least(b, 3);
  facts.narrow_symbols({i});
  EXPECT_TRUE(facts.prove_at_least(a * b, 6));
  EXPECT_TRUE(facts.prove_at_least(a * b, Expr(i) + 1));
  EXPECT_FALSE(facts.prove_at_least(a * b, Expr(i) + 2));
}

TEST_F(FactsTest, WhatExcludesItselfProvesAll) {
  facts.at_least(a + b, 0);
  facts.equal(a + b, 0);
  EXPECT_FALSE(facts.prove_at_least(c, 1));
  facts.at_least(a, 1);
  EXPECT_TRUE(facts.prove_at_least(c, 1));
}

TEST_F(FactsTest, AnyIntegerIsNoMoreThanSaid) {
  facts.at_least(index, 0);
  EXPECT_TRUE(facts.prove_at_least(2 * Expr(index), 0));
  EXPECT_FALSE(facts.prove_at_least(a, index));
}

}  // namespace
}  // namespace onnxc
