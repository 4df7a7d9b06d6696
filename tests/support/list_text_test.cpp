#include "support/list_text.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace onnxc {
namespace {

std::vector<std::string> numbers(size_t count) {
  std::vector<std::string> result;
  for (size_t i = 1; i <= count; ++i) result.push_back(std::to_string(i));
  return result;
}

TEST(ListText, TenEntriesAndACount) {
  EXPECT_EQ(list_text(std::vector<std::string>()), "");
  EXPECT_EQ(list_text(std::vector<int64_t>{-1, 2}), "-1, 2");
  EXPECT_EQ(list_text(numbers(1)), "1");
  EXPECT_EQ(list_text(numbers(10)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
  EXPECT_EQ(list_text(numbers(11)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 1 more");
  EXPECT_EQ(list_text(numbers(100'000)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 99990 more");
}

TEST(ListText, ALineForEach) {
  EXPECT_EQ(list_text(numbers(12), "\n  "), "1\n  2\n  3\n  4\n  5\n  6\n  7\n  8\n  9\n  10\n  and 2 more");
}

TEST(ListText, TheNearestWord) {
  const std::array<std::string, 3> known = {"--report", "--dim", "--march"};
  EXPECT_EQ(nearest_word("--reprot", known), "--report");
  EXPECT_EQ(nearest_word("--mar", known), "--march");
  EXPECT_EQ(nearest_word("--dimension", known), "--dim");
  EXPECT_EQ(nearest_word("--xyzzy", known), "");
}

}  // namespace
}  // namespace onnxc
