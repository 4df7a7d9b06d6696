#include "support/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/diagnostics.h"
#include "support/safe_file.h"
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

TEST(RunProcess, AddsToTheEnvironmentAndReplacesThere) {
  setenv("ONNXC_TEST_OLD", "old", 1);
  setenv("ONNXC_TEST_OTHER", "other", 1);
  const ProcessOptions options{.environment = {"ONNXC_TEST_OLD=new", "ONNXC_TEST_ADDED=a=b"}};
  EXPECT_EQ(run_process({"sh", "-c", "echo $ONNXC_TEST_OLD $ONNXC_TEST_OTHER $ONNXC_TEST_ADDED"}, options).output,
            "new other a=b\n");
  EXPECT_EQ(run_process({"sh", "-c", "env | grep -c ^ONNXC_TEST_OLD"}, options).output, "1\n");
}

TEST(FindProgram, OnThePathAndExecutable) {
  EXPECT_TRUE(find_program("sh").has_value());
  EXPECT_EQ(find_program("no-such-program-19"), std::nullopt);
  const TemporaryFolder folder("test");
  write_file(folder.path() / "plain-file", "");
  const std::string path = std::string(getenv("PATH")) + ":" + folder.path().string();
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(find_program("plain-file"), std::nullopt);
}

TEST(RunProcess, NamesAMissingProgramAndWhatInstallsIt) {
  try {
    run_process({"no-such-compiler-19"}, {.install_hint = "install it with: apt-get install clang-19"});
    FAIL() << "a program that is not there was run";
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "cannot run 'no-such-compiler-19': No such file or directory; install it with: apt-get install clang-19");
  }
}

}  // namespace
}  // namespace onnxc
