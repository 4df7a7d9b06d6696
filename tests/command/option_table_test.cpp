#include "command/option_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::StrEq, testing::ThrowsMessage;

// A small command: what its words give.
struct Command {
  CLI::App app{"a command", "command"};
  OptionTable table{app};
  std::string model, output, kind = "plain";
  std::optional<std::string> report;
  std::optional<int> count;
  std::vector<std::string> names, sizes;
  bool is_json = false;

  Command() {
    table.option("MODEL", model, "a model");
    table.option("-o,--output", output, "a file").word("FILE");
    table.option("--name", names, "a name").repeated();
    table.option("--size", sizes, "sizes").with_commas().without({"MODEL"});
    table.group("Reports", {"--output"});
    table.option("--report", report, "a report").without_value("-").word("[=FILE]");
    table.option("--count", count, "a count").without_value("10", true).between(1, 20);
    table.option("--kind", kind, "a kind").one_of({"plain", "rich"}).shows_default();
    table.flag("--json", is_json, "as JSON").with({"--kind=rich"});
  }

  void read(std::vector<std::string> words) {
    table.parse(words);
    table.check_effects();
  }
};

auto refused(std::vector<std::string> words) {
  return [=] { Command().read(words); };
}

TEST(OptionTable, ReadsWhatTheRowsSay) {
  Command command;
  command.read({"--name", "a", "--name", "b", "m", "-o", "f", "--report", "--count", "7", "--kind", "rich", "--json"});
  EXPECT_EQ(command.model, "m");
  EXPECT_EQ(command.output, "f");
  EXPECT_EQ(command.report, "-");
  EXPECT_EQ(command.count, 7);
  EXPECT_THAT(command.names, ElementsAre("a", "b"));
  EXPECT_TRUE(command.is_json);
}

TEST(OptionTable, AValueMayBeLeftOutOrJoined) {
  Command command;
  command.read({"-o", "f", "--report=r.html", "--count", "--size", "1,2"});
  EXPECT_EQ(command.report, "r.html");
  EXPECT_EQ(command.count, 10);
  EXPECT_THAT(command.sizes, ElementsAre("1", "2"));
}

TEST(OptionTable, ConditionsAreThoseOfTheRowAndOfItsGroup) {
  EXPECT_THAT(refused({"m", "--report"}),
              ThrowsMessage<UsageError>(StrEq("--report has an effect only with --output; give that as well, or leave "
                                              "out --report")));
  EXPECT_THAT(refused({"m", "-o", "f", "--json"}),
              ThrowsMessage<UsageError>(StrEq("--json has an effect only with --kind rich; give that as well, or leave "
                                              "out --json")));
  EXPECT_THAT(refused({"m", "--size", "1"}),
              ThrowsMessage<UsageError>(StrEq("--size has no effect with MODEL; leave out one of them")));
}

TEST(OptionTable, ValuesAreChecked) {
  EXPECT_THAT(refused({"-o", "f", "--count", "21"}), ThrowsMessage<UsageError>(HasSubstr("21 not in range")));
  EXPECT_THAT(refused({"-o", "f", "--kind", "odd"}),
              ThrowsMessage<UsageError>(HasSubstr("must be one of: plain rich; found 'odd'")));
}

TEST(OptionTable, HelpHasTheHeadingsAndTheWords) {
  const std::string help = Command().app.help();
  EXPECT_THAT(help, HasSubstr("-o,--output FILE"));
  EXPECT_THAT(help.substr(help.find("Reports")), HasSubstr("--report [=FILE]"));
}

}  // namespace
}  // namespace onnxc
