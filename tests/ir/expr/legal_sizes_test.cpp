#include "ir/expr/legal_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace onnxc {
namespace {

const Symbol d = Symbol::dim("D");
const Expr D = d;

std::string zeros(const Expr& expr) {
  std::optional<LegalSizes> sizes = legal_sizes(expr, Condition::zero, d);
  return sizes ? sizes->to_string() : "unknown";
}

std::string nonnegatives(const Expr& expr) {
  std::optional<LegalSizes> sizes = legal_sizes(expr, Condition::nonnegative, d);
  return sizes ? sizes->to_string() : "unknown";
}

TEST(LegalSizes, OfSkipConnections) {
  EXPECT_EQ(zeros(16 * floor_div(D + 15, 16) - D), "16*n");
  EXPECT_EQ(zeros(2 * ceil_div(D, 2) - D), "2*n");
  EXPECT_EQ(zeros(2 * floor_div(D - 1, 2) + 1 - D), "2*n + 1");
  EXPECT_EQ(zeros(2 * ceil_div(D, 4) - ceil_div(D, 2)), "4*n or 4*n + 3");
  EXPECT_EQ(zeros(mod(D, 6) * mod(D, 4)), "12*n or 12*n + 4 or 12*n + 6 or 12*n + 8");
}

TEST(LegalSizes, OfEqualities) {
  EXPECT_EQ(zeros(30720 * D - 30720), "1");
  EXPECT_EQ(zeros(3 * D - 7), "none");
  EXPECT_EQ(zeros(D + 5), "none");
  EXPECT_EQ(zeros(floor_div(D, 2) - 32), "unknown");  // 64 and 65
  EXPECT_EQ(zeros(mod(D, 4) - 4), "none");
}

// (a - 1)*(a - b): a broadcast's "equal or 1", whose 1 holds only for a few sizes.
TEST(LegalSizes, OfAdditionsOfASkip) {
  const auto broadcast = [](const Expr& a, const Expr& b) { return (a - 1) * (a - b); };
  EXPECT_EQ(zeros(broadcast(D, 8 * ceil_div(D, 8))), "8*n");
  EXPECT_EQ(zeros(broadcast(ceil_div(D, 4), 2 * ceil_div(D, 8))), "8*n or 8*n + 5 or 8*n + 6 or 8*n + 7");
  EXPECT_EQ(zeros(broadcast(D, ceil_div(D, 2))), "unknown");  // only 1
  EXPECT_EQ(zeros(D * mod(D, 3)), "3*n");
}

TEST(LegalSizes, OfInequalities) {
  EXPECT_EQ(nonnegatives(D - 9), "at least 9");
  EXPECT_EQ(nonnegatives(floor_div(D - 3, 2)), "at least 3");
  EXPECT_EQ(nonnegatives(9 - D), "unknown");
  EXPECT_EQ(nonnegatives(2 - mod(D, 4)), "4*n or 4*n + 1 or 4*n + 2");
  EXPECT_EQ(nonnegatives(floor_div(D, 3) - floor_div(D, 5) - 1), "unknown");  // 3 and 4 are, 5 is not
}

// The guards of a convolution whose first frame is repeated, by the size min(D, 1).
TEST(LegalSizes, OfWhatNeverFalls) {
  EXPECT_EQ(nonnegatives(D + 2 * min(D, 1) - 3), "at least 1");
  EXPECT_EQ(nonnegatives(D + 4 * max(0, min(min(D, 3 * D - 2), 1)) - 10), "at least 6");
  EXPECT_EQ(nonnegatives(min(D, 100) - 100), "at least 100");
  EXPECT_EQ(nonnegatives(max(D, 5) - 5), "any");
  EXPECT_EQ(nonnegatives(floor_div(min(D, 64), 4) - 7), "at least 28");
  EXPECT_EQ(nonnegatives(min(D, 100) - 101), "unknown");  // no size
  EXPECT_EQ(nonnegatives(min(D, 4) - mod(D, 5)), "unknown");
  EXPECT_EQ(nonnegatives(min(D, 4) - D), "unknown");  // falls
}

// Nearest upsampling by an Expand of what a Slice left: only an empty dim differs.
TEST(LegalSizes, OfAllButAnEmptyDim) {
  EXPECT_EQ(zeros(2 * D - 2 * max(0, D - 1) - 2), "at least 1");
  EXPECT_EQ(zeros(D * min(D, 1) - D), "any");
  EXPECT_EQ(nonnegatives(min(D, 1) * D - 1), "at least 1");
  EXPECT_EQ(zeros(max(0, D - 2) - D + 2), "unknown");  // 1 differs too
}

TEST(LegalSizes, OfWhatDoesNotGrowEvenly) {
  EXPECT_EQ(zeros(D * D - 33 * D + 32), "unknown");
  EXPECT_EQ(zeros(max(D, 5) - 5), "unknown");
  EXPECT_EQ(zeros(mod(D, 1 << 20)), "unknown");
}

TEST(LegalSizes, StayWithinTheBoundsOfTheSymbol) {
  const Symbol some = Symbol::dim("E", {20, 40});
  EXPECT_EQ(legal_sizes(mod(some, 16), Condition::zero, some)->to_string(), "16*n, at least 20, at most 40");
  EXPECT_EQ(legal_sizes(Expr(some) - 50, Condition::zero, some)->to_string(), "none");
}

TEST(LegalSizes, Intersect) {
  const LegalSizes even{2, {0}, {0, Bounds::infinity}}, thirds{3, {0, 1}, {5, 100}};
  const LegalSizes both = *intersect(even, thirds);
  EXPECT_EQ(both.to_string(), "6*n or 6*n + 4, at least 5, at most 100");
  EXPECT_TRUE(intersect(even, {2, {1}, {0, 10}})->empty());
}

// Every answer against trying out.
TEST(LegalSizes, AgreeWithEvaluation) {
  for (int64_t kernel = 1; kernel <= 5; ++kernel) {
    for (int64_t stride = 1; stride <= 4; ++stride) {
      const Expr down = floor_div(D + kernel / 2, stride) + 1;
      const Expr up = stride * down - kernel;
      for (const Expr& expr : {up - D, D - up, mod(up, 3), down - 2 * mod(D, 2)}) {
        for (Condition condition : {Condition::zero, Condition::nonnegative}) {
          std::optional<LegalSizes> sizes = legal_sizes(expr, condition, d);
          if (!sizes) continue;
          for (int64_t value = 0; value < 100; ++value) {
            const int64_t result = expr.evaluate({{d, value}});
            const bool holds = condition == Condition::zero ? result == 0 : result >= 0;
            const bool legal = value >= sizes->bounds.minimum && value <= sizes->bounds.maximum &&
                               std::ranges::count(sizes->residues, value % sizes->period) == 1;
            EXPECT_EQ(holds, legal) << expr.to_string() << " at " << value;
          }
        }
      }
    }
  }
}

TEST(LegalSizes, QuotientsPrintAsTheirDividends) {
  const Expr q = Symbol::quotient(d, 16, 0), r = Symbol::quotient(d, 6, 1);
  EXPECT_EQ((16 * q).to_string(), "D");
  EXPECT_EQ((32 * q + 1).to_string(), "2*D + 1");
  EXPECT_EQ((8 * q).to_string(), "D//2");
  EXPECT_EQ((24 * q).to_string(), "3*(D//2)");
  EXPECT_EQ((256 * q * q).to_string(), "D*D");
  EXPECT_EQ(floor_div(q, 3).to_string(), "D//48");
  EXPECT_EQ((6 * r + 1).to_string(), "D");
  EXPECT_EQ((2 * r).to_string(), "D//3");
  EXPECT_EQ(Expr(Symbol::quotient(*q.as_symbol(), 2, 1)).to_string(), "D//32");
}

TEST(LegalSizes, BoundsOfQuotients) {
  const Symbol some = Symbol::dim("E", {20, 64});
  EXPECT_EQ(Symbol::quotient(some, 16, 0).info().bounds, (Bounds{2, 4}));
  EXPECT_EQ(Symbol::quotient(some, 16, 5).info().bounds, (Bounds{1, 3}));
  EXPECT_EQ(Symbol::quotient(d, 16, 5).info().bounds, (Bounds{0, Bounds::infinity}));
}

}  // namespace
}  // namespace onnxc
