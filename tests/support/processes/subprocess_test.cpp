#include "support/processes/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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

TEST(RunProcess, EndsAProgramAtTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result =
      run_process({"sh", "-c", "echo begun; sleep 100"}, {.deadline = start + std::chrono::milliseconds(300)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(result.output, "begun\n");
  EXPECT_FALSE(run_process({"true"}, {.deadline = start + std::chrono::hours(1)}).timed_out);
}

TEST(RunProcess, LimitsTheMemoryOfAProgram) {
  const std::vector<std::string> command{"python3", "-c", "import time; time.sleep(0.2); x = bytearray(1 << 29)"};
  EXPECT_NE(run_process(command, {.memory = int64_t{1} << 28}).exit_code, 0);
  EXPECT_EQ(run_process(command, {.memory = int64_t{1} << 31}).exit_code, 0);
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
