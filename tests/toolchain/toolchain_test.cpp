#include "toolchain/toolchain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolchain/build_commands.h"

namespace onnxc {
namespace {

TEST(Toolchain, LevelsThatItKnowsAreWhatTheCompilerSays) {
  for (const char* march : {"x86-64-v3", "x86-64-v4"}) {
    const CpuArchitecture known = resolve_march(march), asked = ask_compiler(march);
    EXPECT_EQ(known.march, asked.march);
    EXPECT_EQ(known.lanes, asked.lanes);
    EXPECT_EQ(known.features, asked.features);
  }
}

TEST(Toolchain, ReadsTheLastCommandThatTheDriverShows) {
  const std::string shown =
      "clang version 19\nTarget: x\n \"cc1\" \"-c\"\n \"ld\" \"a b\" \"c\\\"\\\\\\$\" \"\" \"-o\"\n";
  EXPECT_THAT(command_of_dry_run(shown), testing::ElementsAre("ld", "a b", "c\"\\$", "", "-o"));
  EXPECT_THAT(command_of_dry_run("a wrapper that shows nothing\n"), testing::IsEmpty());
}

}  // namespace
}  // namespace onnxc
