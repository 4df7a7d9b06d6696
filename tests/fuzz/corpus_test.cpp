// Every input of tests/fuzz/corpus through its harnesses: seeds, and what fuzzing found before it was mended.
#include <gtest/gtest.h>

#include <filesystem>

#include "fuzz/harnesses.h"
#include "support/safe_file.h"

namespace onnxc::fuzz {
namespace {

class Corpus : public testing::TestWithParam<Harness> {};

TEST_P(Corpus, RunsThroughItsHarness) {
  const std::filesystem::path folder = std::filesystem::path(ONNXC_FUZZ_CORPUS) / GetParam().corpus;
  int count = 0, accepted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    const auto file = map_file(entry.path());
    EXPECT_NO_THROW(accepted += GetParam().run(file->text()) ? 1 : 0);
    ++count;
  }
  EXPECT_GE(count, 3);
  EXPECT_GE(accepted, 1);
  EXPECT_LT(accepted, count) << "some seeds are there to be refused";
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(harnesses().begin(), harnesses().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Harnesses, AreFoundByName) {
  EXPECT_EQ(find_harness("no such harness"), nullptr);
  ASSERT_NE(find_harness("expression"), nullptr);
  EXPECT_TRUE(find_harness("expression")->run("N + 1"));
  EXPECT_FALSE(find_harness("expression")->run("9223372036854775808"));
}

}  // namespace
}  // namespace onnxc::fuzz
