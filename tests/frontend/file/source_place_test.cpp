#include "frontend/file/source_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

// As PyTorch 2.13 writes it for a network of MONAI.
constexpr const char* trace =
    "File \"/home/user/venv/lib/python3.11/site-packages/monai/networks/nets/dynunet.py\", line 269, in forward\n"
    "    out = self.skip_layers(x)\n"
    "  File \"/home/user/venv/lib/python3.11/site-packages/monai/networks/blocks/dynunet_block.py\", line 171, in "
    "forward\n"
    "    out = self.conv1(inp)\n"
    "  File \"/home/user/venv/lib/python3.11/site-packages/torch/nn/modules/container.py\", line 253, in forward\n"
    "    input = module(input)\n"
    "  File \"/home/user/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py\", line 735, in forward\n"
    "    return self._conv_forward(input, self.weight, self.bias)";

TEST(SourcePlace, OfAStackIsTheInnermostLineOutsideOfPyTorch) {
  const SourcePlace place = place_of_stack_trace(trace);
  EXPECT_EQ(place.line, "monai/networks/blocks/dynunet_block.py:171");
  EXPECT_EQ(place.code, "out = self.conv1(inp)");
}

TEST(SourcePlace, OfAFileOutsideOfPackagesIsTheFileAndItsFolder) {
  EXPECT_EQ(place_of_stack_trace("File \"/home/user/study/nets/model.py\", line 7, in forward\n  y = x + 1").line,
            "nets/model.py:7");
  EXPECT_EQ(place_of_stack_trace("File \"model.py\", line 7, in forward").line, "model.py:7");
  EXPECT_EQ(place_of_stack_trace("File \"model.py\", line 7, in forward").code, "");
}

TEST(SourcePlace, OfPyTorchAloneIsItsInnermostLine) {
  const std::string only = "  File \"/x/site-packages/torch/nn/modules/conv.py\", line 735, in forward\n    return y";
  EXPECT_EQ(place_of_stack_trace(only).line, "torch/nn/modules/conv.py:735");
}

TEST(SourcePlace, OfTextThatIsNoStackIsUnknown) {
  for (const char* text : {"", "File \"", "File \"a\", line", "File \"a\" 7", "\n\n", "nothing"})
    EXPECT_EQ(place_of_stack_trace(text).code, "") << text;
  EXPECT_FALSE(place_of_stack_trace("File \"model.py\" line 7").is_known());
  EXPECT_LT(place_of_stack_trace("File \"" + std::string(10000, 'x') + "\", line 7, in f").line.size(), 400u);
}

TEST(SourcePlace, ModulesAreTheLastScopeButTheNodeItself) {
  EXPECT_EQ(module_of_scopes("['', 'skip_layers', 'skip_layers.upsample', 'conv3d']"), "skip_layers.upsample");
  EXPECT_EQ(module_of_scopes("['', \"it's\", 'add']"), "it's");
  EXPECT_EQ(module_of_scopes("['', 'a\\'b', 'add']"), "a'b");
  for (const char* text : {"", "[]", "['add']", "['', 'add']", "['open"}) EXPECT_EQ(module_of_scopes(text), "") << text;
}

TEST(SourcePlace, ModulesOfTheOlderExporterAreInTheName) {
  EXPECT_EQ(module_of_name("/down/conv/Conv"), "down.conv");
  EXPECT_EQ(module_of_name("/model/model.1/submodule/submodule.0/conv/Conv_1"), "model.1.submodule.0.conv");
  for (const char* name : {"", "conv", "/Conv", "a/b/Conv", "/"}) EXPECT_EQ(module_of_name(name), "") << name;
}

TEST(SourcePlace, IsTheLineTheModuleOrBoth) {
  EXPECT_EQ((SourcePlace{"down.conv", "net.py:7", "y = x"}).describe(), "net.py:7 in down.conv");
  EXPECT_EQ((SourcePlace{"down.conv", "", ""}).describe(), "module down.conv");
  EXPECT_EQ((SourcePlace{"", "net.py:7", ""}).describe(), "net.py:7");
  EXPECT_EQ((SourcePlace{"a\x1b[31m", "", ""}).describe(), "module a\\x1b[31m");
  EXPECT_EQ(SourcePlace().describe(), "");
}

void annotate(onnx::NodeProto& node, const std::string& key, const std::string& value) {
  auto* entry = node.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

onnx::ModelProto annotated(const std::string& graph) {
  auto model = parse_graph(graph);
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    annotate(node, "pkg.torch.onnx.stack_trace", trace);
    annotate(node, "pkg.torch.onnx.name_scopes", "['', 'skip_layers.downsample', 'conv3d']");
  }
  return model;
}

TEST(SourcePlace, StandsInMessages) {
  const auto graph = import_graph(annotated("(float[N, 3] x) => (float[N, 3] y) { [first] y = Relu(x) }"));
  EXPECT_EQ(graph->nodes().front()->describe(),
            "node 'first' (Relu, monai/networks/blocks/dynunet_block.py:171 in skip_layers.downsample)");
  EXPECT_THAT(import_error(annotated("(float[N, 3] x) => (float[N, 3] y) { [first] y = Strange(x) }")),
              HasSubstr("'first': Strange of ai.onnx version 18, monai/networks/blocks/dynunet_block.py:171 in "
                        "skip_layers.downsample: "));
  EXPECT_THAT(import_error(annotated("(float[N, 3] x) => (float[N, 3] y) { [first] y = Relu(z) }")),
              HasSubstr("node 'first' (Relu, monai/networks/blocks/dynunet_block.py:171 in skip_layers.downsample)"));
}

TEST(SourcePlace, OfACallIsThatOfTheFunctionsNodes) {
  auto model = parse_text_model(
      "<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]>"
      "g (float[N, 3] x) => (float[N, 3] y) { [call] y = local.f(x) }"
      "<domain: \"local\", opset_import: [\"\": 18]> f (x) => (z) { z = Relu(x) }");
  annotate(*model.mutable_graph()->mutable_node(0), "pkg.torch.onnx.stack_trace", trace);
  const auto graph = import_graph(model);
  EXPECT_EQ(graph->nodes().front()->origin.place.line, "monai/networks/blocks/dynunet_block.py:171");
}

TEST(SourcePlace, IsOneLineWhateverTheFileSays) {
  auto model = parse_graph("(float[N, 3] x) => (float[N, 3] y) { [first] y = Relu(x) }");
  annotate(*model.mutable_graph()->mutable_node(0), "pkg.torch.onnx.name_scopes", "['', 'a\nb\tc', 'relu']");
  EXPECT_EQ(import_graph(model)->nodes().front()->origin.place.module, "a b c");
}

}  // namespace
}  // namespace onnxc
