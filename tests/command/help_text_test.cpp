#include "command/help_text.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

TEST(HelpText, LongLinesGoOnInTheColumnOfTheDescription) {
  EXPECT_EQ(wrapped("Usage: onnxc [OPTIONS]\n\n  -o,--output FILE  the file to write, and more\n", 30),
            "Usage: onnxc [OPTIONS]\n\n"
            "  -o,--output FILE  the file\n"
            "                    to write,\n"
            "                    and more\n");
}

TEST(HelpText, LinesThatFitStayAsTheyAre) {
  const std::string text = "  a  b\n\n  -q  errors  only\nlast";
  EXPECT_EQ(wrapped(text, 18), text);
}

TEST(HelpText, OtherLinesGoOnAtTheirIndent) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("    one two three", 11), "    one two\n    three");
}

TEST(HelpText, AWordThatIsLongerThanALineStaysWhole) {
  EXPECT_EQ(wrapped("unbreakable is", 4), "unbreakable\nis");
  EXPECT_EQ(wrapped("  --option  unbreakable", 15), "  --option  unbreakable");
}

}  // namespace
}  // namespace onnxc
