#include "support/count_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace onnxc {
namespace {

TEST(CountText, HasTheSingular) {
  EXPECT_EQ(counted(1, "window"), "1 window");
  EXPECT_EQ(counted(0, "window"), "0 windows");
  EXPECT_EQ(counted(size_t{2}, "window"), "2 windows");
  EXPECT_EQ(counted(int64_t{-1}, "element"), "-1 elements");
  EXPECT_EQ(counted(1, "more warning"), "1 more warning");
}

TEST(CountText, HasThePluralsOfItsNouns) {
  EXPECT_EQ(counted(2, "axis"), "2 axes");
  EXPECT_EQ(counted(1, "spatial axis"), "1 spatial axis");
  EXPECT_EQ(counted(3, "class"), "3 classes");
  EXPECT_EQ(counted(3, "leaf"), "3 leaves");
}

TEST(CountText, HasTheVerb) {
  EXPECT_EQ(counted_are(1, "axis"), "1 axis is");
  EXPECT_EQ(counted_are(4, "axis"), "4 axes are");
}

TEST(CountText, OfAnExpression) {
  EXPECT_EQ(counted(std::string("1"), "channel"), "1 channel");
  EXPECT_EQ(counted(std::string("2*N"), "channel"), "2*N channels");
}

}  // namespace
}  // namespace onnxc
