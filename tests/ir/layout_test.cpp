#include "ir/layout.h"

#include <gtest/gtest.h>

#include <map>

namespace onnxc {
namespace {

TEST(Layout, RowMajorOffset) {
  Expr n = Symbol::dim("N"), i = Symbol::dim("i"), j = Symbol::dim("j"), k = Symbol::dim("k");
  Layout layout = Layout::row_major(3);
  EXPECT_EQ(layout.offset({2, n, 5}, {i, j, k}), i * n * 5 + j * 5 + k);
  EXPECT_EQ(layout.element_count({2, n, 5}), n * 10);
  EXPECT_EQ(layout.to_string(), "row-major");
  EXPECT_EQ(Layout::row_major(0).offset({}, {}), Expr(0));
}

TEST(Layout, ChannelsInBlocksAreInnermost) {
  Layout layout = Layout::channel_blocked(3, 4);
  EXPECT_EQ(layout.to_string(), "0 1/4 2 1%4");
  EXPECT_TRUE(layout.is_blocked(1));
  EXPECT_FALSE(layout.is_blocked(2));
  const Shape shape = {2, 6, 3};
  EXPECT_EQ(layout.physical_shape(shape), (Shape{2, 2, 3, 4}));
  EXPECT_EQ(layout.element_count(shape), Expr(48));
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t c = 0; c < 6; ++c)
      for (int64_t x = 0; x < 3; ++x)
        EXPECT_EQ(layout.offset(shape, {n, c, x}), Expr(((n * 2 + c / 4) * 3 + x) * 4 + c % 4));
}

TEST(Layout, BlocksWalkedAsSuchNeedNoDivision) {
  Expr outer = Symbol::axis("co", 5), inner = Symbol::axis("ci", 16), x = Symbol::axis("x", 7);
  Layout layout = Layout::channel_blocked(3, 16);
  EXPECT_EQ(layout.offset({1, 80, 7}, {0, outer * 16 + inner, x}), outer * 112 + x * 16 + inner);
}

TEST(Layout, SymbolicChannelsArePaddedToWholeBlocks) {
  Symbol c = Symbol::dim("C");
  Expr count = Layout::channel_blocked(2, 8).element_count({3, c});
  EXPECT_EQ(count.evaluate({{c, 17}}), 72);
  EXPECT_EQ(count.evaluate({{c, 16}}), 48);
}

}  // namespace
}  // namespace onnxc
