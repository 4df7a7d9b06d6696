#include "expected_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

TEST(ExpectedText, ALiteralThatStandsOnceIsReplaced) {
  const std::string before = "f(R\"(a\n)\", R\"(b\n)\");";
  EXPECT_EQ(with_new_literal(before, "b\n", "c\nd\n"), "f(R\"(a\n)\", R\"(c\nd\n)\");");
  EXPECT_EQ(with_new_literal(before, "b", "c"), std::nullopt);
  EXPECT_EQ(with_new_literal("f(R\"(a)\", R\"(a)\");", "a", "c"), std::nullopt);
}

TEST(ExpectedText, TheSourceIsFoundUnderTheRootWhateverTheCompilerCallsIt) {
  const TemporaryFolder root("test");
  make_folder(root.path() / "tests/passes");
  const std::filesystem::path source = root.path() / "tests/passes/x_test.cpp";
  write_file(source, "expect_text(y, R\"(a\n)\");\n");
  EXPECT_THAT(rewrite_expected(root.path(), "../tests/passes/x_test.cpp", "a\n", "b\n"), HasSubstr("is rewritten"));
  EXPECT_EQ(map_file(source)->text(), "expect_text(y, R\"(b\n)\");\n");
  EXPECT_THAT(rewrite_expected(root.path(), "/elsewhere/tests/passes/x_test.cpp", "a\n", "c\n"), HasSubstr("by hand"));
  EXPECT_EQ(map_file(source)->text(), "expect_text(y, R\"(b\n)\");\n");
}

}  // namespace
}  // namespace onnxc
