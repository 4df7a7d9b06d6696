#include "frontend/unsupported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

TEST(UnsupportedNodes, AreAllReportedAtOnceWithWhatWouldHelp) {
  auto model = parse_text_model(
      "<ir_version: 8, opset_import: [\"\": 13, \"com.microsoft\": 1, \"custom.ops\": 3]> "
      "g (float[1] x, bool c) => (float[1] y) {"
      "  [first] a = Unheard(x)"
      "  b = com.microsoft.GatedRelativePositionBias(a, a)"
      "  d = custom.ops.Fancy(b)"
      "  e = Mish(d)"
      "  f = Upsample <mode = \"nearest\"> (e, e)"
      "  y = If (c) <then_branch = g1 () => (float[1] t) { t = Relu(f) },"
      "              else_branch = g2 () => (float[1] u) { u = Abs(f) }> }");
  EXPECT_EQ(
      import_error(model),
      "5 nodes cannot be compiled:\n"
      "  'first': Unheard of ai.onnx version 13: ONNX has no operator of this name; define it as a function in the "
      "model\n"
      "  'b': GatedRelativePositionBias of com.microsoft version 1: an operator of onnxruntime; export the model "
      "without "
      "onnxruntime's graph optimizations\n"
      "  'd': Fancy of custom.ops version 3: a custom operator; define it as a function in the model, or export the "
      "model without it\n"
      "  'e': Mish of ai.onnx version 13: ONNX has it since version 18; export the model with opset_version 18 or "
      "newer\n"
      "  'f': Upsample of ai.onnx version 13: ONNX removed it in version 10; export the model with an older "
      "opset_version");
}

TEST(UnsupportedNodes, OfALongListTheFirstOfEachOperatorAndACount) {
  std::string nodes = "v0 = Unheard(x)";
  for (int i = 1; i < 100; ++i) {
    const std::string type = i == 50 ? "Unseen" : i == 70 ? "Unfelt" : "Unheard";
    nodes += " v" + std::to_string(i) + " = " + type + "(v" + std::to_string(i - 1) + ")";
  }
  const std::string why =
      " of ai.onnx version 18: ONNX has no operator of this name; define it as a function in the "
      "model\n  ";
  std::string expected = "100 nodes cannot be compiled, of 3 operators:\n  'v0': Unheard" + why + "'v50': Unseen" +
                         why + "'v70': Unfelt" + why;
  for (int i = 1; i <= 7; ++i) expected += "'v" + std::to_string(i) + "': Unheard" + why;
  EXPECT_EQ(import_error(parse_graph("(float[1] x) => (float[1] v99) { " + nodes + " }")), expected + "and 90 more");
}

TEST(UnsupportedNodes, InFunctionsAreNamedByTheCall) {
  EXPECT_THAT(
      import_error(parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                                    "g (float[1] x) => (float[1] y) { y = local.f(x) } "
                                    "<domain: \"local\", opset_import: [\"\": 18]> f (x) => (z) { z = Unheard(x) }")),
      HasSubstr("1 node cannot be compiled:\n  'y/z': Unheard of ai.onnx version 18"));
}

TEST(UnsupportedNodes, OfMapsSayThatThereAreTensorsAlone) {
  EXPECT_THAT(import_error(parse_text_model(
                  "<ir_version: 8, opset_import: [\"\": 18, \"ai.onnx.ml\": 3]> g (float[2, 2] x) => (float[2] y) {"
                  "  z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (x)  y = Relu(z) }")),
              HasSubstr("'z': ZipMap of ai.onnx.ml version 3: it gives a map for each row, and onnxc has only tensors; "
                        "export the model without it"));
}

}  // namespace
}  // namespace onnxc
