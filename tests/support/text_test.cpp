#include "support/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

namespace onnxc {
namespace {

// The texts in model files that were made to break out of the place where such text is written.
const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> texts = {
      "",
      "*/ int x = system(\"id\"); /*",
      "\"; system(\"id\"); //",
      "a\nb\r\nc",
      "ends in a backslash\\",
      "?"
      "?/",
      "?"
      "?/\n#include </etc/passwd>",
      "/*",
      "//",
      "%s%n%p{}{0}",
      "\x1b[31mred\x1b[0m\x07",
      std::string("with\0zero", 9),
      "\xff\xfe invalid UTF-8 \xc3",
      "Gr\xc3\xb6\xc3\x9f"
      "e \xe5\xa4\xa7",
      "\xe2\x80\xae"
      "reversed",
      "../../etc/passwd",
      "/absolute",
      "-o",
      ".",
      "..",
      "1234",
      "int",
      "\\u0022",
      std::string(10000, 'x'),
      std::string(10000, '*'),
      std::string(10000, '\xff'),
  };
  return texts;
}

TEST(Identifier, KeepsLettersAndDigitsOfTheHint) {
  EXPECT_EQ(identifier("t", 17), "t17");
  EXPECT_EQ(identifier("k", 3, "conv"), "k3_conv");
  EXPECT_EQ(identifier("k", 3, "/layer1/conv.weight"), "k3_layer1_conv_weight");
  EXPECT_EQ(identifier("k", 3, "int"), "k3_int");
  EXPECT_EQ(identifier("k", 3, "***"), "k3");
  EXPECT_EQ(identifier("k", 3,
                       "Gr\xc3\xb6\xc3\x9f"
                       "e"),
            "k3_Gr_e");
}

TEST(Identifier, IsAnIdentifierWhateverTheHint) {
  for (const std::string& text : hostile_texts()) {
    const std::string result = identifier("k", 3, text);
    EXPECT_TRUE(std::regex_match(result, std::regex("k3(_[A-Za-z0-9]+)*"))) << result;
    EXPECT_LE(result.size(), 43u);
  }
}

// Reads a string literal by the rules of C: the oracle of c_string_literal.
std::string read_literal(const std::string& literal) {
  EXPECT_GE(literal.size(), 2u);
  EXPECT_EQ(literal.front(), '"');
  EXPECT_EQ(literal.back(), '"');
  std::string result;
  for (size_t i = 1; i + 1 < literal.size(); ++i) {
    char c = literal[i];
    EXPECT_TRUE(c >= ' ' && c <= '~' && c != '"') << literal;
    if (c != '\\') {
      result += c;
      continue;
    }
    c = literal.at(++i);
    if (c < '0' || c > '7') {
      EXPECT_NE(std::string("\"\\?").find(c), std::string::npos);
      result += c;
      continue;
    }
    int value = 0, digits = 0;
    for (; digits < 3 && literal.at(i) >= '0' && literal[i] <= '7'; ++digits, ++i)
      value = value * 8 + (literal[i] - '0');
    --i;
    result += static_cast<char>(value);
  }
  return result;
}

TEST(StringLiteral, ReadsBackAsTheSameBytes) {
  EXPECT_EQ(c_string_literal("a\"b\\c\n1"), "\"a\\\"b\\\\c\\0121\"");
  for (const std::string& text : hostile_texts()) EXPECT_EQ(read_literal(c_string_literal(text)), text);
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  EXPECT_EQ(read_literal(c_string_literal(every_byte)), every_byte);
}

TEST(StringLiteral, HoldsNoTrigraph) { EXPECT_EQ(c_string_literal("?\?/"), "\"\\?\\?/\""); }

TEST(CommentText, LeavesOrdinaryNamesReadable) {
  EXPECT_EQ(comment_text("/layer1/layer1.0/conv1/Conv"), "/layer1/layer1.0/conv1/Conv");
  EXPECT_EQ(comment_text("gr\xc3\xb6\xc3\x9f"
                         "e"),
            "gr%C3%B6%C3%9Fe");
  EXPECT_EQ(comment_text("100%"), "100%25");
  EXPECT_EQ(comment_text("[N, 16*D]"), "[N, 16*D]");
  EXPECT_EQ(comment_text("a*/b*"), "a%2A/b%2A");
}

TEST(CommentText, CannotEndOrContinueAComment) {
  for (const std::string& text : hostile_texts()) {
    const std::string result = comment_text(text);
    EXPECT_LE(result.size(), 60u);
    EXPECT_TRUE(std::ranges::all_of(result, [](char c) { return c >= ' ' && c <= '~'; })) << result;
    EXPECT_EQ(result.find_first_of("\\?"), std::string::npos) << result;
    EXPECT_EQ((result + "/").find("*/"), std::string::npos) << result;
  }
}

TEST(CommentText, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(comment_text(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(comment_text(std::string(61, 'x')), std::string(57, 'x') + "...");
  EXPECT_EQ(comment_text("xx" + std::string(60, '?')).substr(53), "%3F...");  // 18 whole escapes, none cut in two
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // the one-character form of ESC [
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "x"),
            "\\xe2\\x80\\xaex");  // right-to-left override
  EXPECT_EQ(printable("gr\xc3\xb6\xc3\x9f"
                      "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong '/'
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(quote("a"), "'a'");
}

TEST(Printable, CutsLongText) {
  EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(printable(std::string(201, 'x')), std::string(200, 'x') + "...");
  EXPECT_LE(printable(std::string(10000, '\xff')).size(), 203u);
}

TEST(Printable, MessageKeepsItsLines) {
  EXPECT_EQ(printable_message("a\n\tb\x1b" + std::string(1000, 'x')), "a\n\tb\\x1b" + std::string(1000, 'x'));
}

TEST(SafeFileName, KeepsWhatTheDesignAllows) {
  EXPECT_EQ(safe_file_name("layer1.0_out-2"), "layer1.0_out-2");
  EXPECT_EQ(safe_file_name("a/b c"), "a_b_c");
}

TEST(SafeFileName, StaysInItsFolder) {
  for (const std::string& text : hostile_texts()) {
    const std::string result = safe_file_name(text);
    EXPECT_TRUE(std::regex_match(result, std::regex("[A-Za-z0-9._-]*"))) << result;
    EXPECT_LE(result.size(), 100u);
  }
}

TEST(SafeFileName, LongNamesThatDifferStayApart) {
  EXPECT_EQ(safe_file_name(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_NE(safe_file_name(std::string(200, 'x') + "a"), safe_file_name(std::string(200, 'x') + "b"));
}

}  // namespace
}  // namespace onnxc
