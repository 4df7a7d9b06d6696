#include "command/command_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "command/command_line.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::ElementsAre, testing::StrEq, testing::ThrowsMessage;

Options options_of(std::vector<std::string> words) { return parse_command_line(words).options; }

TEST(CommandWords, OptionsStandBeforeTheModelOrAfterIt) {
  EXPECT_EQ(options_of({"--dim", "N=1", "m.onnx", "-o", "m.so"}).model, "m.onnx");
  EXPECT_EQ(options_of({"--dim", "N=1", "--dim", "D=2", "m.onnx", "-o", "m.so"}).dims.size(), 2u);
  EXPECT_THAT(options_of({"--outputs", "a,b", "m.onnx", "-o", "m.so"}).outputs, ElementsAre("a", "b"));
  const Options shapes = options_of({"--dump-shapes", "m.onnx"});
  EXPECT_EQ(shapes.model, "m.onnx");
  EXPECT_EQ(shapes.dump_shapes, "");
  EXPECT_EQ(options_of({"--dump-ir", "m.onnx"}).dump_ir, "all");
  EXPECT_EQ(options_of({"m.onnx", "--dump-shapes=s.json"}).dump_shapes, "s.json");
  EXPECT_EQ(options_of({"--dump-shapes", "--", "-odd.onnx"}).model, "-odd.onnx");
}

TEST(CommandWords, ANearMissGetsASuggestion) {
  const auto refused = [](std::vector<std::string> words) { return [=] { options_of(words); }; };
  EXPECT_THAT(refused({"m.onnx", "--dims", "N=1"}),
              ThrowsMessage<UsageError>(StrEq("there is no option '--dims'; did you mean --dim?")));
  EXPECT_THAT(
      refused({"m.onnx", "--dumpshapes=x.json"}),
      ThrowsMessage<UsageError>(StrEq("there is no option '--dumpshapes=x.json'; did you mean --dump-shapes?")));
  EXPECT_THAT(refused({"m.onnx", "--frobnicate"}),
              ThrowsMessage<UsageError>(StrEq("there is no option '--frobnicate'")));
  EXPECT_THAT(refused({"m.onnx", "other", "--report"}),
              ThrowsMessage<UsageError>(StrEq("2 MODELs become one file: give -o FILE")));
}

TEST(CommandWords, AnOptionWithoutEffectIsRefused) {
  const auto refused = [](std::vector<std::string> words) { return [=] { options_of(words); }; };
  EXPECT_THAT(refused({"m.onnx", "-o", "m.so", "--gpu-arch", "gfx942"}),
              ThrowsMessage<UsageError>(StrEq("--gpu-arch has an effect only with --target gpu; give that as well, or "
                                              "leave out --gpu-arch")));
  EXPECT_THAT(refused({"m.onnx", "-o", "m.so", "--keep-float32", "a"}),
              ThrowsMessage<UsageError>(StrEq("--keep-float32 has an effect only with --precision bfloat16 or "
                                              "--precision float16; give that as well, or leave out --keep-float32")));
  EXPECT_THAT(refused({"m.onnx", "-o", "m.so", "--sandbox", "--no-sandbox"}),
              ThrowsMessage<UsageError>(StrEq("--sandbox has no effect with --no-sandbox; leave out one of them")));
  // One word of a list, and a value by default.
  EXPECT_TRUE(options_of({"m.onnx", "-o", "m.so", "--target", "cpu,hip", "--gpu-arch", "gfx942"}).for_gpu());
  EXPECT_EQ(options_of({"m.onnx", "-o", "m.so", "--march", "x86-64-v3"}).marches.front(), "x86-64-v3");
  // Other names.
  EXPECT_EQ(options_of({"m.onnx", "-o", "m.so", "--target", "hip", "--fp32", "tf32"}).target, "gpu");
  EXPECT_EQ(options_of({"m.onnx", "-o", "m.so", "--target", "hip", "--fp32", "tf32"}).fp32, "xf32");
  EXPECT_EQ(options_of({"m.onnx", "-o", "m.so", "--target", "cpu,hip"}).target, "cpu,gpu");
  // The host's part of a model for a GPU is code for a CPU.
  EXPECT_FALSE(options_of({"m.onnx", "-o", "m.so", "--target", "hip", "--march", "x86-64-v3"}).for_cpu());
}

TEST(CommandWords, AValueThatIsNotJoinedIsNoModel) {
  const auto refused = [](std::vector<std::string> words) { return [=] { options_of(words); }; };
  EXPECT_THAT(refused({"m.onnx", "--report", "r.html"}),
              ThrowsMessage<UsageError>(StrEq("--report r.html: a value of --report is joined to it by '=': "
                                              "--report=r.html")));
  EXPECT_THAT(refused({"--dump-ir", "lower", "m.onnx"}),
              ThrowsMessage<UsageError>(testing::HasSubstr("--dump-ir=lower")));
  EXPECT_EQ(options_of({"--report", "m.onnx"}).model, "m.onnx");
}

}  // namespace
}  // namespace onnxc
