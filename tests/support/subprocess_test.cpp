#include "support/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/diagnostics.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

TEST(RunProcess, CapturesOutputErrorsAndExitCode) {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(result.describe(), "exit code 3");
}

TEST(RunProcess, PassesArgumentsWithoutAShell) {
  EXPECT_EQ(run_process({"printf", "%s|", "$HOME", "a b", "`id`", ";", "*"}).output, "$HOME|a b|`id`|;|*|");
}

TEST(RunProcess, ReportsASignal) {
  const ProcessResult result = run_process({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(result.signal, 9);
  EXPECT_FALSE(result.succeeded());
  EXPECT_THAT(result.describe(), testing::HasSubstr("signal 9"));
}

TEST(RunProcess, DrainsMoreThanAPipeHoldsOnBothStreams) {
  const ProcessResult result =
      run_process({"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"});
  EXPECT_EQ(result.output.size(), 600000u);
  EXPECT_EQ(result.errors.size(), 300000u);
  EXPECT_TRUE(result.succeeded());
}

TEST(RunProcess, GivesAnEmptyInput) { EXPECT_EQ(run_process({"cat"}).output, ""); }

TEST(RunProcess, RunsInTheFolderItIsTold) {
  TemporaryFolder folder("test");
  EXPECT_EQ(run_process({"pwd", "-P"}, {.folder = folder.path(), .install_hint = ""}).output,
            std::filesystem::canonical(folder.path()).string() + "\n");
}

TEST(RunProcess, NamesAMissingProgramAndWhatInstallsIt) {
  try {
    run_process({"no-such-compiler-19"}, {.folder = {}, .install_hint = "install it with: apt-get install clang-19"});
    FAIL() << "a program that is not there was run";
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "cannot run 'no-such-compiler-19': No such file or directory; install it with: apt-get install clang-19");
  }
}

}  // namespace
}  // namespace onnxc
