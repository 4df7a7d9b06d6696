#include "toolchain/toolchain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolchain/build_commands.h"

namespace onnxc {
namespace {

TEST(Toolchain, TheRowsOfMachinesAreWhatTheCompilerSays) {
  for (const CpuMachine& known : cpu_machines()) {
    SCOPED_TRACE(known.march);
    const CpuMachine asked = ask_compiler(known.march);
    EXPECT_EQ(known.march, asked.march);
    EXPECT_EQ(known.lanes(), asked.lanes());
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
