#include "onnxc_run/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnxc_run/inputs.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using Dims = std::map<std::string, std::vector<int64_t>>;

std::variant<RunOptions, int> parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "onnxc-run");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return parse_command_line(static_cast<int>(pointers.size()), pointers.data());
}

TEST(CommandLine, ReadsShapesInBothSpellings) {
  Dims shapes;
  parse_shapes("x:1x1x96x96x96", shapes);
  parse_shapes("y:1,3,224,224,z:5,scalar:", shapes);
  parse_shapes("node/a:0:2x3", shapes);
  EXPECT_EQ(
      shapes,
      (Dims{{"x", {1, 1, 96, 96, 96}}, {"y", {1, 3, 224, 224}}, {"z", {5}}, {"scalar", {}}, {"node/a:0", {2, 3}}}));
}

TEST(CommandLine, RefusesShapesThatMeanNothing) {
  for (const char* text :
       {"", "x", "1x2", ":1x2", "x:1xx2", "x:-1", "x:1x2,", "x:N", "x:99999999999999999999", "x:1,x:2"}) {
    Dims shapes;
    EXPECT_THROW(parse_shapes(text, shapes), UsageError) << text;
  }
}

TEST(CommandLine, RefusesAWordTooMany) {
  EXPECT_THAT([] { parse({"model.so", "tests", "other"}); },
              testing::ThrowsMessage<UsageError>(
                  testing::StrEq("'other' is one word too many; an option that begins with a dash is expected")));
}

TEST(CommandLine, ReadsDims) {
  std::map<std::string, int64_t> dims;
  parse_dim("N=4", dims);
  parse_dim("a=b=0", dims);
  EXPECT_EQ(dims, (std::map<std::string, int64_t>{{"N", 4}, {"a=b", 0}}));
  for (const char* text : {"", "N", "=4", "N=", "N=-1", "N=4.5", "N=1..8"})
    EXPECT_THROW(parse_dim(text, dims), UsageError) << text;
}

TEST(CommandLine, ReadsTolerances) {
  std::optional<double> all;
  std::map<std::string, double> by_name;
  parse_tolerance("--rtol", "1e-3,out0:1e-4,a:b:0", all, by_name);
  EXPECT_EQ(all, 1e-3);
  EXPECT_EQ(by_name, (std::map<std::string, double>{{"out0", 1e-4}, {"a:b", 0}}));
  for (const char* text : {"", "x:", "-1", "nan", "1e-3x"})
    EXPECT_THROW(parse_tolerance("--rtol", text, all, by_name), UsageError) << text;
}

TEST(CommandLine, SaysWhatIsAskedOrRefuses) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(std::get<int>(parse({"--help"})), 0);
  EXPECT_EQ(std::get<int>(parse({"--version"})), 0);
  testing::internal::GetCapturedStdout();
  EXPECT_THROW(parse({}), UsageError);
  EXPECT_THROW(parse({"m.so", "--threads", "-2"}), UsageError);
  EXPECT_THROW(parse({"m.so", "--threads", "1025"}), UsageError);
  EXPECT_THROW(parse({"m.so", "--no-such-option"}), UsageError);
  EXPECT_THROW(parse({"m.so", "--device", "cuda"}), UsageError);
  EXPECT_THROW(parse({"m.so", "folder", "--random", "1"}), UsageError);
}

TEST(CommandLine, LeavesThreadsToTheMachineAsPythonDoes) {
  for (const char* text : {"0", "-1"})
    EXPECT_EQ(std::get<RunOptions>(parse({"m.so", "--random", "0", "--threads", text})).threads, 0) << text;
}

TEST(CommandLine, ReadsEverything) {
  RunOptions options =
      std::get<RunOptions>(parse({"m.so", "--input", "x=a.npy", "--input", "y=b.npy", "--output", "out", "--bench",
                                  "--threads", "3", "--json", "--expect", "z=c.npy"}));
  EXPECT_EQ(options.model, "m.so");
  EXPECT_TRUE(options.tests.empty());
  EXPECT_EQ(options.inputs, (std::vector<std::string>{"x=a.npy", "y=b.npy"}));
  EXPECT_EQ(options.expected, std::vector<std::string>{"z=c.npy"});
  EXPECT_EQ(options.benchmark_runs, 10);
  EXPECT_EQ(options.threads, 3);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(std::get<RunOptions>(parse({"m.so", "--bench", "50"})).benchmark_runs, 50);
}

TEST(CommandLine, DevicesHaveNumbers) {
  EXPECT_FALSE(parse_device("cpu").is_gpu);
  for (const std::string kind : {"gpu", "hip"}) {
    EXPECT_TRUE(parse_device(kind).is_gpu);
    EXPECT_EQ(parse_device(kind).index, 0);
    EXPECT_TRUE(parse_device(kind + ":7").is_gpu);
    EXPECT_EQ(parse_device(kind + ":7").index, 7);
    EXPECT_EQ(parse_device(kind + ":7").text, kind + ":7");
  }
  for (const char* text :
       {"", "gpu:", "cuda", "gpu:one", "cpu:0", "hip:", "hip:-1", "hip:1x", "hip1", "hip:99999999999"})
    EXPECT_THROW(parse_device(text), UsageError) << text;
}

TEST(CommandLine, SplitsAssignmentsByTheNamesThereAre) {
  using Pair = std::pair<size_t, std::filesystem::path>;
  EXPECT_EQ(split_assignment("--input", "a=b=c.npy", {"a", "a=b"}), (Pair{1, "c.npy"}));
  EXPECT_EQ(split_assignment("--input", "a=x=c.npy", {"a", "a=b"}), (Pair{0, "x=c.npy"}));
  try {
    split_assignment("--input", "z=c.npy", {"a", "b"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--input z=c.npy: expected NAME=FILE with one of the names 'a', 'b'");
  }
}

TEST(Inputs, RandomValuesAreFixed) {
  Tensor reals = random_tensor(DType::float32, {3, 4}, 1);
  // SplitMix64 with the seed 1 starts with 0x910a2dec89025cc1.
  EXPECT_EQ(reals.as_double()[0],
            static_cast<double>(static_cast<float>(2 * (0x910a2dec89025cc1 >> 11) * 0x1p-53 - 1)));
  for (double value : reals.as_double()) EXPECT_LT(std::abs(value), 1);
  for (int64_t value : random_tensor(DType::int64, {100}, 2).as_int64()) EXPECT_TRUE(value >= 0 && value < 10);
  for (int64_t value : random_tensor(DType::boolean, {100}, 2).as_int64()) EXPECT_TRUE(value == 0 || value == 1);
}

}  // namespace
}  // namespace onnxc
