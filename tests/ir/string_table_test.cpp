#include "ir/string_table.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

TEST(StringTable, HandlesCountFromTheEmptyString) {
  StringTable strings;
  EXPECT_EQ(strings.size(), 1);
  EXPECT_EQ(strings.handle(""), 0);
  EXPECT_EQ(strings.handle("b"), 1);
  EXPECT_EQ(strings.handle(std::string_view("b\0", 2)), 2);
  EXPECT_EQ(strings.handle("b"), 1);
  EXPECT_EQ(strings.text(2).size(), 2u);
  EXPECT_EQ(strings.bytes(), 3);
}

TEST(StringTable, ManyStringsKeepTheirTexts) {
  StringTable strings;
  for (int i = 0; i < 5000; ++i) strings.handle(std::to_string(i * 7919 % 5000));
  EXPECT_EQ(strings.size(), 5001);
  for (int64_t i = 1; i < strings.size(); ++i) EXPECT_EQ(strings.handle(strings.text(i)), i);
}

}  // namespace
}  // namespace onnxc
