#include "ir/expr/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/checked.h"

namespace onnxc {
namespace {

class ExprTest : public testing::Test {
 protected:
  Symbol n = Symbol::dim("N"), d = Symbol::dim("D"), e = Symbol::dim("E"), h = Symbol::dim("H"), w = Symbol::dim("W");
  Symbol positive = Symbol::dim("P", {1, Bounds::infinity});
  Symbol small = Symbol::dim("S", {1, 8});
  Symbol i = Symbol::index("i");
  Expr N = n, D = d, E = e, H = h, W = w, P = positive, S = small, I = i;
};

#define EXPECT_TEXT(expression, text) EXPECT_EQ((expression).to_string(), text) << #expression

TEST_F(ExprTest, SumsHaveOneForm) {
  EXPECT_TEXT(Expr(), "0");
  EXPECT_TEXT(Expr(-7), "-7");
  EXPECT_TEXT(D + 2 * Expr(1) - 3 + 1, "D");
  EXPECT_TEXT(D - D, "0");
  EXPECT_TEXT(2 * D + 1, "2*D + 1");
  EXPECT_TEXT(4 - D, "-D + 4");
  EXPECT_TEXT(E - D, "-D + E");
  EXPECT_TEXT(N * D - 3, "D*N - 3");
  EXPECT_TEXT((D + 1) * (D - 1), "D*D - 1");
  EXPECT_TEXT(3 + D + D * H, "D*H + D + 3");
  EXPECT_TEXT(product({2, D, 3, N}), "6*D*N");
  EXPECT_TEXT(product({}), "1");
  EXPECT_TEXT(D * 0, "0");
  EXPECT_EQ(D + E, E + D);
  EXPECT_NE(D, E);
}

TEST_F(ExprTest, SymbolsOfOneNameStayApart) {
  Expr other = Symbol::dim("D");
  EXPECT_NE(D, other);
  EXPECT_LT(D, other) << "the earlier symbol sorts first";
  EXPECT_FALSE(proven_equal(D, other));
}

TEST_F(ExprTest, DivisionByConstants) {
  EXPECT_TEXT(floor_div(7, 2), "3");
  EXPECT_TEXT(floor_div(-7, 2), "-4");
  EXPECT_TEXT(floor_div(D, 1), "D");
  EXPECT_TEXT(floor_div(D + 1, 2), "(D + 1)//2");
  EXPECT_TEXT(floor_div(D - 1, 2) + 1, "(D + 1)//2");
  EXPECT_TEXT(ceil_div(D, 16) * 16, "16*((D + 15)//16)");
  EXPECT_TEXT(16 * floor_div(D - 1, 16) + 16, "16*((D + 15)//16)");
  EXPECT_TEXT(floor_div(16 * D + 5, 16), "D");
  EXPECT_TEXT(floor_div(32 * D + E, 16), "2*D + E//16");
  EXPECT_TEXT(floor_div(4 * D + 7, 16), "(D + 1)//4");
  EXPECT_TEXT(floor_div(floor_div(D, 2), 3), "D//6");
  EXPECT_TEXT(floor_div(floor_div(D + 1, 2) + 1, 2), "(D + 3)//4");
  EXPECT_TEXT(floor_div(-D, 2), "-((D + 1)//2)");
  EXPECT_TEXT(floor_div(D, -2), "-((D + 1)//2)");
  EXPECT_TEXT(ceil_div(D, -2), "-(D//2)");
  EXPECT_TEXT(floor_div(S, 9), "0");
  EXPECT_TEXT(floor_div(S + 16, 9), "(S + 7)//9 + 1");
  EXPECT_TEXT(floor_div(S + 18, 9), "2");
  EXPECT_TEXT(D - floor_div(D, 2), "D - D//2");
  EXPECT_TEXT(floor_div(D, 2) * H, "H*(D//2)");
  EXPECT_TEXT(floor_div(3 * D, 2), "(3*D)//2");
  EXPECT_TEXT(floor_div(floor_div(D, int64_t{1} << 40), int64_t{1} << 40), "(D//1099511627776)//1099511627776");
}

TEST_F(ExprTest, RemaindersByConstants) {
  EXPECT_TEXT(mod(-7, 4), "1");
  EXPECT_TEXT(mod(7, -4), "-1");
  EXPECT_TEXT(mod(D, 1), "0");
  EXPECT_TEXT(mod(16 * D + E + 17, 16), "(E + 1) % 16");
  EXPECT_TEXT(mod(4 * D + 3, 16), "4*(D % 4) + 3");
  EXPECT_TEXT(mod(S, 9), "S");
  EXPECT_TEXT(mod(mod(D, 32), 16), "D % 16");
  EXPECT_TEXT(mod(-D, 16), "-((D + 15) % 16) + 15");
  EXPECT_TEXT(floor_div(mod(D, 32), 16), "(D//16) % 2");
  EXPECT_TEXT(floor_div(D + mod(D, 2), 2), "(D + 1)//2");
  EXPECT_TEXT(floor_div(D + mod(D, 2) - 3, 2), "(D + 1)//2 - 2");
  EXPECT_TEXT(floor_div(floor_div(D, 4) + mod(floor_div(D, 4), 2) + 1, 2), "(D + 4)//8");
  EXPECT_TEXT(16 * floor_div(D, 16) + mod(D, 16), "D");
  EXPECT_TEXT(32 * floor_div(D, 16) + 2 * mod(D, 16) + 1, "2*D + 1");
  EXPECT_TEXT(32 * floor_div(D, 16) + mod(D, 16), "D + 16*(D//16)");
  EXPECT_TEXT(H * W * floor_div(D, W) + H * mod(D, W), "D*H");
  EXPECT_TEXT(2 * floor_div(D, 32) + mod(floor_div(D, 16), 2), "D//16");
}

TEST_F(ExprTest, SymbolicDivisors) {
  EXPECT_TEXT(floor_div(P, P), "1");
  EXPECT_TEXT(floor_div(D, D), "D//D");  // D may be 0
  EXPECT_TEXT(floor_div(16 * D * P, 16 * P), "D");
  EXPECT_TEXT(floor_div(16 * D * P, 8 * P * P), "(2*D)//P");
  EXPECT_TEXT(floor_div(D * P + P, P), "D + 1");
  EXPECT_TEXT(floor_div((D + 1) * (H + 2), D + 1), "H + 2");
  EXPECT_TEXT(floor_div(D, D + 1), "0");
  EXPECT_TEXT(mod(D, D + 1), "D");
  EXPECT_TEXT(mod(D * P + 3, P), "3 % P");
  EXPECT_TEXT(floor_div(floor_div(D, P), 2), "D//(2*P)");
  EXPECT_TEXT(floor_div(D, E), "D//E");
  EXPECT_EQ(exact_quotient(N * D * H, D), N * H);
  EXPECT_EQ(exact_quotient(N * D + D * D + N + D, N + D), D + 1);
  EXPECT_EQ(exact_quotient(N * D + 1, D), std::nullopt);
  EXPECT_EQ(exact_quotient(D, 0), std::nullopt);
}

TEST_F(ExprTest, LoopIndices) {
  Expr channels = 48;
  Expr co = Symbol::axis("co", 3), ci = Symbol::axis("ci", 16);
  EXPECT_EQ(floor_div(co * 16 + ci, 16), co);
  EXPECT_EQ(mod(co * 16 + ci, 16), ci);
  EXPECT_EQ(floor_div(co * 16 + ci, channels), 0);
  EXPECT_EQ(floor_div(co * 32 + ci, 32), co);
  EXPECT_EQ(floor_div(Expr(co) * 16 + ci, 8).to_string(), "2*co + ci//8");

  Expr an = Symbol::axis("n", N), ad = Symbol::axis("d", D), ah = Symbol::axis("h", H), aw = Symbol::axis("w", W);
  Expr flat = ((an * D + ad) * H + ah) * W + aw;
  EXPECT_EQ(mod(flat, W), aw);
  EXPECT_EQ(mod(floor_div(flat, W), H), ah);
  EXPECT_EQ(floor_div(mod(flat, H * W), W), ah);
  EXPECT_EQ(mod(floor_div(flat, H * W), D), ad);
  EXPECT_EQ(floor_div(flat, D * H * W), an);
  EXPECT_EQ(floor_div(aw, W), 0);
  EXPECT_EQ(floor_div(ah * W + aw, 2 * W), floor_div(ah, 2));
  EXPECT_TRUE(proven_less(flat, N * D * H * W));
  EXPECT_FALSE(proven_less(flat + 1, N * D * H * W));
  EXPECT_FALSE(proven_less(flat, N * D * H)) << "W may be 2";

  Expr x = Symbol::axis("x", 10), c = Symbol::axis("c", 4);
  EXPECT_EQ(floor_div(4 * x + c, 16), floor_div(x, 4));
  EXPECT_EQ(mod(4 * x + c, 16), 4 * mod(x, 4) + c);
}

TEST_F(ExprTest, MinimaAndMaxima) {
  EXPECT_TEXT(max(D, 0), "D");
  EXPECT_TEXT(max(0, D), "D");
  EXPECT_TEXT(min(D, 0), "0");
  EXPECT_TEXT(max(D, 1), "max(D, 1)");
  EXPECT_TEXT(min(E, D), "min(D, E)");
  EXPECT_TEXT(min(min(D, 3), min(5, E)), "min(D, E, 3)");
  EXPECT_TEXT(max(D, D + 1), "D + 1");
  EXPECT_TEXT(min(D, std::numeric_limits<int64_t>::max()), "D");
  EXPECT_TEXT(max(D, std::numeric_limits<int64_t>::min()), "D");
  EXPECT_TEXT(max(D + std::numeric_limits<int64_t>::min(), -1), "-1");
  EXPECT_TEXT(max(max(D - 1, 1) - 1, 1), "max(D - 2, 1)");
  EXPECT_TEXT(min(D, D * P), "D");
  EXPECT_TEXT(max(S, 9), "9");
  EXPECT_TEXT(max(floor_div(D, 2), D), "D");
}

TEST_F(ExprTest, Proofs) {
  EXPECT_TRUE(proven_at_least(D, 0));
  EXPECT_FALSE(proven_at_least(D, 1));
  EXPECT_TRUE(proven_less(S, 9));
  EXPECT_FALSE(proven_less(S, 8));
  EXPECT_TRUE(proven_at_least(D * P, D));
  EXPECT_FALSE(proven_at_least(D * E, D));
  EXPECT_TRUE(proven_at_least(16 * ceil_div(D, 16), D));
  EXPECT_TRUE(proven_at_least(D, 16 * floor_div(D, 16)));
  EXPECT_TRUE(proven_at_least(D, D - mod(D, 16)));
  EXPECT_TRUE(proven_equal(D - mod(D, 16), 16 * floor_div(D, 16)));
  EXPECT_TRUE(proven_equal(max(D - 3, 0), max(D, 3) - 3));
  EXPECT_TRUE(proven_at_least(max(D, E), min(D, E)));
  EXPECT_FALSE(proven_equal(D, E));
  EXPECT_FALSE(proven_different(D, E));
  EXPECT_TRUE(proven_different(D, D + 1));
  EXPECT_TRUE(proven_different(2 * D, 2 * E + 1));
  EXPECT_TRUE(proven_different(S, 0));
  EXPECT_FALSE(proven_different(D, 0));
}

TEST_F(ExprTest, BoundsSaturate) {
  EXPECT_EQ((S * 2 + 1).bounds(), (Bounds{3, 17}));
  EXPECT_EQ((D + 1).bounds(), (Bounds{1, Bounds::infinity}));
  EXPECT_EQ((-D).bounds(), (Bounds{Bounds::minus_infinity, 0}));
  EXPECT_EQ((D * I).bounds(), Bounds{});
  EXPECT_EQ((S - D).bounds(), (Bounds{Bounds::minus_infinity, 8}));
  Expr big = Symbol::dim("B", {0, int64_t{1} << 62});
  EXPECT_EQ((big * big).bounds(), (Bounds{0, Bounds::infinity}));
  EXPECT_EQ((-big * big).bounds(), (Bounds{Bounds::minus_infinity, 0}));
  EXPECT_EQ(mod(I, 5).bounds(), (Bounds{0, 4}));
  EXPECT_EQ(floor_div(S, P).bounds(), (Bounds{0, 8}));
}

TEST_F(ExprTest, SubstituteAndEvaluate) {
  Expr expr = floor_div(D + 1, 2) * N + max(E - 1, 0);
  EXPECT_EQ(expr.evaluate({{d, 4}, {n, 3}, {e, 0}}), 6);
  EXPECT_TEXT(expr.substitute({{d, 2 * H + 1}, {e, 3}}), "H*N + N + 2");
  EXPECT_EQ(expr.symbols(), (std::set<Symbol>{d, e, n}));
  EXPECT_EQ(Expr(d).as_symbol(), d);
  EXPECT_EQ((D + 1).as_symbol(), std::nullopt);
  EXPECT_EQ((D - D + 3).constant(), 3);
  EXPECT_EQ(D.constant(), std::nullopt);
  EXPECT_EQ(constant_dims({1, 2}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(constant_dims({1, D}), std::nullopt);
  EXPECT_EQ(to_string(Shape{1, D, 2 * D + 1}), "[1, D, 2*D + 1]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(short_text(Shape{1, D, 2 * D + 1}), "[1, D, 2*D + 1]");
  const Expr long_name = Symbol::dim(std::string(130, 'N'));
  EXPECT_EQ(short_text(Shape{D, long_name}), "[D, " + std::string(120, 'N') + "...]");
}

TEST_F(ExprTest, Errors) {
  EXPECT_THROW(floor_div(D, 0), UserError);
  EXPECT_THROW(mod(D, 0), UserError);
  EXPECT_THROW(ceil_div(D, 0), UserError);
  EXPECT_THROW(floor_div(D, E).evaluate({{d, 1}, {e, 0}}), UserError);
  EXPECT_THROW(D.evaluate({}), InternalError);
  EXPECT_THROW((D * D).evaluate({{d, int64_t{1} << 32}}), UserError);
  Expr most = std::numeric_limits<int64_t>::max();
  EXPECT_THROW(most + 1, UserError);
  EXPECT_THROW(most * D * 2, UserError);
}

// A hostile model cannot make the compiler work for ever.
TEST_F(ExprTest, LargeExpressionsAreRefused) {
  Expr power = D + E + 1;
  EXPECT_THROW(for (int k = 0; k < 20; ++k) power *= power, UserError);
  Expr nested = D;
  EXPECT_THROW(for (int k = 0; k < 1000; ++k) nested = floor_div(nested * 3 + 1, 7), UserError);
  Expr doubled = D;
  EXPECT_THROW(for (int k = 0; k < 1000; ++k) doubled = min(doubled * doubled, E + k), UserError);
}

TEST_F(ExprTest, ShapesThatDifferInAxesOfOne) {
  using Axes = std::vector<std::optional<size_t>>;
  EXPECT_EQ(axes_but_ones({D, E, 3}, {1, D, 1, E, 3, 1}), (Axes{1, 3, 4}));
  EXPECT_EQ(axes_but_ones({1, D, 1, 3}, {D, 3}), (Axes{{}, 0, {}, 1}));
  EXPECT_EQ(axes_but_ones({1}, {}), (Axes{{}}));
  EXPECT_EQ(axes_but_ones({D, 3}, {3, D}), std::nullopt);
  EXPECT_EQ(axes_but_ones({D, 3}, {3 * D}), std::nullopt);
  EXPECT_EQ(axes_but_ones({D}, {D, 3}), std::nullopt);
}

TEST_F(ExprTest, LongSumsAreFast) {
  Expr sum;
  for (int k = 0; k < 2000; ++k) sum += Symbol::dim("s" + std::to_string(k));
  EXPECT_EQ(sum.terms().size(), 2000u);
  EXPECT_EQ(floor_div(2 * sum + 1, 2), sum);
  EXPECT_FALSE(proven_equal(sum, D));
}

// Its reader may choose what the dims are.
TEST_F(ExprTest, WhatIsTooLargeSaysWhatWouldMakeItShorter) {
  Expr nested = D;
  try {
    for (int k = 0; k < 300; ++k) nested = floor_div(nested + E, P);
    FAIL() << nested.to_string().size();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("nests 201 deep"));
    EXPECT_THAT(error.what(), testing::HasSubstr("(--dim N=4, --dim N=1..8)"));
  }
}

}  // namespace
}  // namespace onnxc
