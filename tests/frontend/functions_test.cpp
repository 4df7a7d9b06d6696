#include "frontend/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

std::string names_of_values(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += (text.empty() ? "" : " ") + node->outputs[0]->name;
  return text;
}

TEST(LocalFunctions, AreInlinedUnderTheNameOfTheCall) {
  const auto graph = import_graph(
      parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                       "g (float[1] x) => (float[1] y) { a = local.twice(x) y = local.twice(a) } "
                       "<domain: \"local\", opset_import: [\"\": 18]> twice (x) => (z) { t = Exp(x) z = Relu(t) }"));
  EXPECT_EQ(node_types(*graph), "Exp Relu Exp Relu");
  EXPECT_EQ(names_of_values(*graph), "a/t a y/t y");
  EXPECT_EQ(graph->nodes().front()->origin.name, "a/t");
}

TEST(LocalFunctions, NamesThatMeetAreKeptApart) {
  const auto graph = import_graph(
      parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                       "g (float[1] x) => (float[1] y) { \"y/t\" = Tanh(x) y = local.f(\"y/t\") } "
                       "<domain: \"local\", opset_import: [\"\": 18]> f (x) => (z) { t = Exp(x) z = Relu(t) }"));
  EXPECT_EQ(names_of_values(*graph), "y/t y/t#2 y");
}

TEST(LocalFunctions, SeeTheAttributesOfTheCallAndTheirOwnDefaults) {
  const std::string function =
      " <domain: \"local\", opset_import: [\"\": 18]> f <axis, keepdims: int = 0> (x) => (z) "
      "{ z = ArgMax <axis: int = @axis, keepdims: int = @keepdims> (x) }";
  const std::string header = "<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> ";
  auto attribute = [](const Graph& graph, std::string_view name) {
    return std::get<int64_t>(*graph.nodes().front()->find_attribute(name));
  };
  const auto given = import_graph(
      parse_text_model(header + "g (float[2, 3] x) => (int64[2] y) { y = local.f <axis = 1> (x) }" + function));
  EXPECT_EQ(attribute(*given, "axis"), 1);
  EXPECT_EQ(attribute(*given, "keepdims"), 0);
  // One that the call leaves out falls back to the operator's own default.
  const auto absent = import_graph(
      parse_text_model(header + "g (float[2, 3] x) => (int64[2] y) { y = local.f <keepdims = 1> (x) }" + function));
  EXPECT_EQ(attribute(*absent, "axis"), 0);
  EXPECT_EQ(attribute(*absent, "keepdims"), 1);
}

TEST(LocalFunctions, KeepTheirOwnOperatorSetVersions) {
  const auto graph =
      import_graph(parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                                    "g (float[1, 2] x) => (float[1, 2] y) { a = local.f(x) y = Softmax(a) } "
                                    "<domain: \"local\", opset_import: [\"\": 11]> f (x) => (z) { z = Softmax(x) }"));
  EXPECT_EQ(graph->nodes().front()->origin.version, 11);
  EXPECT_EQ(graph->nodes().back()->origin.version, 18);
}

TEST(LocalFunctions, CallOneAnotherAndPassInputsThrough) {
  const auto graph =
      import_graph(parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                                    "g (float[1] x) => (float[1] y) { a, b = local.outer(x) y = Add(a, b) } "
                                    "<domain: \"local\", opset_import: [\"\": 18, \"local\": 1]> outer (x) => (p, q) { "
                                    "p = local.same(x) q = Exp(p) } "
                                    "<domain: \"local\", opset_import: [\"\": 18]> same (x) => (x) { }"));
  EXPECT_EQ(node_types(*graph), "Exp Add");
  EXPECT_EQ(graph->nodes().back()->inputs[0], graph->inputs[0]);
}

TEST(LocalFunctions, MissingInputsAreAbsentInTheBody) {
  const auto graph = import_graph(parse_text_model(
      "<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
      "g (float[1] x) => (float[1] y) { y = local.f(x) } "
      "<domain: \"local\", opset_import: [\"\": 18]> f (x, low, high) => (z) { z = Clip(x, low, high) }"));
  EXPECT_EQ(graph->nodes().front()->inputs.size(), 1u);
}

TEST(LocalFunctions, ThatCallThemselvesAreRefused) {
  const std::string error = import_error(
      parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                       "g (float[1] x) => (float[1] y) { y = local.f(x) } "
                       "<domain: \"local\", opset_import: [\"\": 18, \"local\": 1]> f (x) => (z) { z = local.f(x) }"));
  EXPECT_THAT(error, HasSubstr("function 'f' nests deeper than 64 levels; does it call itself?"));
}

// 2^40 nodes from 40 functions: refused by the limit, at once.
TEST(LocalFunctions, ThatGrowExponentiallyAreRefused) {
  std::string text =
      "<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> g (float[1] x) => (float[1] y) { y = local.f0(x) } ";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "Exp" : "local.f" + std::to_string(i + 1);
    text += "<domain: \"local\", opset_import: [\"\": 18, \"local\": 1]> f" + std::to_string(i) +
            " (x) => (z) { t = " + next + "(x) z = " + next + "(t) } ";
  }
  ImportOptions options;
  options.limits.max_nodes = 1000;
  EXPECT_EQ(import_error(parse_text_model(text), options),
            "the model has more than 1000 nodes once its functions are inlined (--max-nodes)");
}

TEST(LocalFunctions, MoreInputsOrOutputsThanTheyHaveAreRefused) {
  const std::string header = "<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> ";
  const std::string function = " <domain: \"local\", opset_import: [\"\": 18]> f (x) => (z) { z = Exp(x) }";
  EXPECT_EQ(import_error(parse_text_model(header + "g (float[1] x) => (float[1] y) { y = local.f(x, x) }" + function)),
            "node 'y' (f): function 'f' has 1 input, and 2 are given");
  EXPECT_EQ(import_error(parse_text_model(header + "g (float[1] x) => (float[1] y) { y, u = local.f(x) }" + function)),
            "node 'y' (f): function 'f' has 1 output, and 2 are wanted");
}

TEST(SchemaFunctions, ExpandOperatorsWithoutARow) {
  // NegativeLogLikelihoodLoss has a body that depends on its attributes and inputs.
  auto graph = import_graph(parse_graph(
      "(float[2, 3] x, int64[2] t) => (float y) { y = NegativeLogLikelihoodLoss <reduction = \"mean\"> (x, t) }"));
  EXPECT_THAT(node_types(*graph), HasSubstr("GatherElements"));
  EXPECT_EQ(graph->outputs[0]->name, "y");
  EXPECT_THAT(graph->nodes().front()->outputs[0]->name, testing::StartsWith("y/"));
}

}  // namespace
}  // namespace onnxc
