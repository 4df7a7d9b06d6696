#include "toolchain/build_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onnxc {
namespace {

TEST(BuildCommands, ReadsTheLastCommandThatTheDriverShows) {
  const std::string shown =
      "clang version 19\nTarget: x\n \"cc1\" \"-c\"\n \"ld\" \"a b\" \"c\\\"\\\\\\$\" \"\" \"-o\"\n";
  EXPECT_THAT(command_of_dry_run(shown), testing::ElementsAre("ld", "a b", "c\"\\$", "", "-o"));
  EXPECT_THAT(command_of_dry_run("a wrapper that shows nothing\n"), testing::IsEmpty());
}

}  // namespace
}  // namespace onnxc
