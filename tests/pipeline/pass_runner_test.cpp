// A pass that fails: what the message says, and that what it says to do repeats the failure.
#include "pipeline/pass_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "passes/graph_text.h"
#include "passes/lowering/text_target.h"
#include "passes/program_text.h"
#include "pipeline/run_pass.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

constexpr const char* before = R"(b0 input float32 [N, 4] "x"
b1 constant float32 [100] "weights"
b2 temporary float32 [N, 4] "conv"
b3 output float32 [N, 4] "y"
inputs b0
outputs b3
# "conv" Conv-22
kernel conv 3x3x3  b2 = b0, b1
  epilogue [i, j] acc0
nest relu  axes i<N, j<4
  b3[i, j] = max(b2[i, j], 0.0)
)";

// Temporary files of a test go to a folder of its own.
class FailingPass : public testing::Test {
 protected:
  FailingPass() { setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~FailingPass() override { unsetenv("TMPDIR"); }

  std::string message_of(const ProgramPass& pass) {
    Program program = parse_program(before);
    try {
      PassRunner(Options(), ignore_message).run(pass, program, text_target());
    } catch (const InternalError& error) {
      return error.what();
    }
    return "no error";
  }

  std::vector<std::filesystem::path> kept() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) paths.push_back(entry.path());
    return paths;
  }

  TemporaryFolder folder_{"test"};
};

TEST_F(FailingPass, KeepsTheProgramThatItWasGiven) {
  const std::string message = message_of({"fuse_nests", When::always, [](Program& program, const Target&) {
                                            program.steps.clear();  // the input stays as it was
                                            internal_error("it went wrong");
                                          }});
  ASSERT_EQ(kept().size(), 1u);
  const std::filesystem::path file = kept()[0];
  EXPECT_EQ(map_file(file)->text(), before);
  EXPECT_TRUE(message.starts_with("pass fuse_nests: ")) << message;
  EXPECT_THAT(message, HasSubstr("it went wrong\nIts input is kept; repeat with:\nonnxc --run-pass fuse_nests '" +
                                 file.string() + "'"));
}

TEST_F(FailingPass, KeepsTheProgramAlsoWhereTheVerifierRefusesTheResult) {
  const std::string message =
      message_of({"eliminate_copies", When::always, [](Program& program, const Target&) { program.steps.pop_back(); }});
  EXPECT_THAT(message, HasSubstr("output b3 is never written"));
  ASSERT_EQ(kept().size(), 1u);
  EXPECT_EQ(map_file(kept()[0])->text(), before);
}

// An error of the library is a bug of ours as well.
TEST_F(FailingPass, IsNamedWhateverItThrows) {
  const std::string message =
      message_of({"place_stores", When::always, [](Program& program, const Target&) { program.buffer(99); }});
  EXPECT_TRUE(message.starts_with("pass place_stores: ")) << message;
}

TEST_F(FailingPass, LeavesNothingWhereItDoesNotFail) {
  EXPECT_EQ(message_of({"fuse_nests", When::always, [](Program&, const Target&) {}}), "no error");
  EXPECT_TRUE(kept().empty());
}

TEST_F(FailingPass, SaysSoWhereItsInputCannotBeKept) {
  setenv("TMPDIR", "/nonexistent", 1);
  const std::string message =
      message_of({"fuse_nests", When::always, [](Program&, const Target&) { internal_error("it went wrong"); }});
  EXPECT_THAT(message, HasSubstr("it went wrong\nIts input could not be kept: cannot make a temporary folder"));
}

TEST_F(FailingPass, OfAGraphIsRepeatedFromTheModel) {
  const std::unique_ptr<Graph> graph = read_shaped_graph("(float[2] x) => (y) { y = Neg(x) }");
  Options options;
  options.model = "unet.onnx";
  try {
    PassRunner(options, ignore_message)
        .run({"simplify", When::always, [](Graph&, const Limits&) { internal_error("it went wrong"); }}, *graph);
    ADD_FAILURE() << "no error";
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("it went wrong\nIt works on the graph, which has no text that is read back; "
                                        "repeat with the same options and:\nonnxc 'unet.onnx' --dump-ir=simplify"));
  }
  EXPECT_TRUE(kept().empty());
}

// Each pass of programs takes the kept text.
TEST_F(FailingPass, TheKeptTextIsRead) {
  message_of({"fuse_epilogues", When::always, [](Program&, const Target&) { internal_error("it went wrong"); }});
  ASSERT_EQ(kept().size(), 1u);
  Options options;
  options.model = kept()[0];
  options.run_pass = "fuse_epilogues";
  std::string shown;
  run_pass(options, [&](MessageKind, std::string_view text) { shown += text; });
  EXPECT_THAT(shown, HasSubstr("kernel conv 3x3x3  b3 = b0, b1\n  epilogue [i, j] max(acc0, 0.0)\n"));
}

}  // namespace
}  // namespace onnxc
