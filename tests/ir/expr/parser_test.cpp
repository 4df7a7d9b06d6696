#include "ir/expr/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

class ExprParserTest : public testing::Test {
 protected:
  Expr parse(std::string_view text) {
    return parse_expr(text, [&](std::string_view name) -> Expr {
      auto [found, added] = symbols.try_emplace(std::string(name), Symbol::dim(std::string(name)));
      return found->second;
    });
  }

  std::string error(std::string_view text) {
    try {
      parse(text);
    } catch (const UserError& caught) {
      return caught.what();
    }
    return "no error";
  }

  std::map<std::string, Symbol> symbols;
};

TEST_F(ExprParserTest, Expressions) {
  const std::pair<const char*, const char*> cases[] = {
      {"16", "16"},
      {"D", "D"},
      {"  16*D ", "16*D"},
      {"16*(((D - 1)//16)) + 16", "16*((D + 15)//16)"},
      {"2*D + 2*E - 1", "2*D + 2*E - 1"},
      {"-D//2", "-((D + 1)//2)"},  // the sign binds tighter than //
      {"-(D//2)", "-(D//2)"},
      {"- -D", "D"},
      {"+D", "D"},
      {"20 - D - 3", "-D + 17"},
      {"2*D//3", "(2*D)//3"},
      {"D//2*3", "3*(D//2)"},
      {"D % 4 * 2", "2*(D % 4)"},
      {"Mod(D, 4)", "D % 4"},
      {"PythonMod(D, 4)", "D % 4"},
      {"ModularIndexing(D, 2, 3)", "(D//2) % 3"},
      {"Max(1, s0)", "max(s0, 1)"},
      {"max(D, 3, E)", "max(D, E, 3)"},
      {"Min(D, Max(E, 2))", "min(D, max(E, 2))"},
      {"min(D)", "D"},
      {"FloorDiv(D, 2)", "D//2"},
      {"CeilDiv(D, 2)", "(D + 1)//2"},
      {"CeilToInt(D/2)", "(D + 1)//2"},
      {"ceiling(D/2 - 1/2)", "D//2"},
      {"floor(D/2 + 1/2)", "(D + 1)//2"},
      {"FloorToInt(IntTrueDiv(D, 2))", "D//2"},
      {"(4*D + 8)/4", "D + 2"},
      {"CleanDiv(D*E, E)", "D"},
      {"D**2*E", "D*D*E"},
      {"2**10", "1024"},
      {"D**0", "1"},
  };
  for (auto [text, expected] : cases) EXPECT_EQ(parse(text).to_string(), expected) << text;
}

TEST_F(ExprParserTest, OtherTextIsOneName) {
  for (const char* text :
       {"batch size", "N.1", "unk__0", "?",  "D +",   "*D",      "(D",     "D)",      "D, E", "f(D)", "min()",
        "Mod(D)",     "16D", "1.5*D",  "D$", "Größe", "min(D,)", "D == E", "2**3**2", "D\n",  "()",   ""}) {
    symbols.clear();
    Expr expr = parse(text);
    ASSERT_EQ(symbols.size(), 1u) << text;
    EXPECT_EQ(symbols.begin()->first, text);
    EXPECT_EQ(expr.to_string(), printable(text));
  }
}

TEST_F(ExprParserTest, NamesAreAskedForOnce) {
  EXPECT_EQ(parse("D + D"), 2 * parse("D"));
  EXPECT_EQ(symbols.size(), 1u);
}

TEST_F(ExprParserTest, Errors) {
  EXPECT_EQ(error("D/2"), "the dim `D/2`: D divided by 2 is not always an integer; write // if rounding down is meant");
  EXPECT_EQ(error("D // 0"), "the dim `D // 0` divides by zero");
  EXPECT_THAT(error("D % 0"), testing::HasSubstr("by zero"));
  EXPECT_EQ(error("9999999999999999999"), "the dim `9999999999999999999`: 9999999999999999999 does not fit in 64 bits");
  EXPECT_THAT(error("9223372036854775807*2"), testing::HasSubstr("64 bits"));
  EXPECT_EQ(error("D**E"), "the dim `D**E`: the exponent E is not a number from 0 to 16");
  EXPECT_EQ(error("D**-1"), "no error") << "a sign after ** is no expression of ours, so that this is a name";
}

TEST_F(ExprParserTest, HostileTextEndsSoon) {
  EXPECT_THAT(error(std::string(1000, '(')), testing::HasSubstr("nests more than 60 deep"));
  EXPECT_THAT(error(std::string(1000, '-') + "D"), testing::HasSubstr("nests more than 60 deep"));
  EXPECT_THAT(error(std::string(1000000, 'D')), testing::HasSubstr("has 1000000 characters"));
  EXPECT_THAT(error("(A+B+C+1)**16*(D+E+F+1)**16"), testing::HasSubstr("terms"));
  std::string sum = "D";
  while (sum.size() < 1900) sum += "+D";
  EXPECT_EQ(parse(sum).to_string(), std::to_string((sum.size() + 1) / 2) + "*D");
}

}  // namespace
}  // namespace onnxc
