#include "frontend/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"
#include "onnx/defs/schema.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

const Node& only_node(const Graph& graph) {
  EXPECT_EQ(graph.nodes().size(), 1u);
  return *graph.nodes().front();
}

TEST(Import, BuildsNodesWithTheirOrigin) {
  auto model = parse_graph("(float[1, 3] x) => (float[1, 3] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_node(0)->set_name("activation");
  const auto graph = import_graph(model);
  const Node& node = only_node(*graph);
  EXPECT_EQ(node.origin.name, "activation");
  EXPECT_EQ(node.origin.type, "Relu");
  EXPECT_EQ(node.origin.domain, "");
  EXPECT_EQ(node.origin.version, 18);
  EXPECT_EQ(node.inputs[0], graph->inputs[0]);
  EXPECT_EQ(node.outputs[0], graph->outputs[0]);
  EXPECT_EQ(graph->inputs[0]->name, "x");
  EXPECT_EQ(graph->inputs[0]->dtype, DType::float32);
  EXPECT_EQ(to_string(*graph->inputs[0]->shape), "[1, 3]");
  EXPECT_EQ(graph->outputs[0]->name, "y");
  EXPECT_EQ(graph->outputs[0]->declared_dtype, DType::float32);
  EXPECT_EQ(to_string(*graph->outputs[0]->declared_shape), "[1, 3]");
  EXPECT_FALSE(graph->outputs[0]->shape.has_value()) << "shapes are inferred, not believed";
}

TEST(Import, ANodeWithoutANameHasThatOfItsFirstOutput) {
  EXPECT_EQ(only_node(*import_graph(parse_graph("(float[1] x) => (float[1] y) { y = Relu(x) }"))).origin.name, "y");
}

TEST(Import, GivesTheFactsOfTheFile) {
  auto model = parse_graph("(float[1] x) => (float[1] y) { y = Relu(x) }", 17, 8);
  model.set_producer_name("pytorch");
  model.set_producer_version("2.13.0");
  auto* entry = model.add_metadata_props();
  entry->set_key("spacing");
  entry->set_value("1.5");
  const ModelFacts facts = ModelFolder().import(model).facts;
  EXPECT_EQ(facts.producer, "pytorch 2.13.0");
  EXPECT_EQ(facts.ir_version, 8);
  EXPECT_THAT(facts.opset_imports, testing::ElementsAre(testing::Pair("", 17)));
  EXPECT_THAT(facts.metadata, testing::ElementsAre(testing::Pair("spacing", "1.5")));
  EXPECT_EQ(facts.sha256.size(), 64u);
  EXPECT_EQ(facts.sha256, ModelFolder().import(model).facts.sha256);
}

TEST(Import, ReadsDimsAsNumbersSymbolsAndExpressions) {
  const auto graph = import_graph(parse_graph("(float[2, N, D, ?] x, float[N, D] z) => (float[N] y) { y = Relu(x) }"));
  EXPECT_EQ(to_string(*graph->inputs[0]->shape), "[2, N, D, x_dim3]");
  EXPECT_EQ((*graph->inputs[0]->shape)[1], (*graph->inputs[1]->shape)[0]);
  EXPECT_EQ((*graph->inputs[0]->shape)[1].bounds().minimum, 0);

  auto model = parse_graph("(float[D, E] x) => (float[D] y) { y = Relu(x) }");
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(1)->set_dim_param("16*((D - 1)//16) + 16");
  const auto with_expression = import_graph(model);
  const Expr d = (*with_expression->inputs[0]->shape)[0];
  EXPECT_EQ((*with_expression->inputs[0]->shape)[1], 16 * floor_div(d - 1, 16) + 16);
}

TEST(Import, UnnamedDimsAreSymbolsOfTheirOwn) {
  auto model = parse_graph("(float[x_dim1, ?, ?] x) => (float[?] y) { y = Relu(x) }");
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(2)
      ->set_dim_param("?");
  EXPECT_EQ(to_string(*import_graph(model)->inputs[0]->shape), "[x_dim1, x_dim1_, x_dim2]");
}

// Two inputs [dim], and one output of them.
ImportedModel import_with_dim_named(const std::string& text, const ImportOptions& options = {}) {
  auto model = parse_graph("(float[N] x, float[N] z) => (float[N] y) { y = Relu(x) }");
  const auto dim_of = [](onnx::ValueInfoProto& value) {
    return value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0);
  };
  for (onnx::ValueInfoProto& input : *model.mutable_graph()->mutable_input()) dim_of(input)->set_dim_param(text);
  dim_of(*model.mutable_graph()->mutable_output(0))->set_dim_param(text);
  return ModelFolder().import(model, options);
}

TEST(Import, TextsThatSayThatADimIsUnknownAreNoNames) {
  for (const char* text : {"", " ", "?", " ?", "-1", " -1 ", "None"}) {
    const ImportedModel model = import_with_dim_named(text);
    EXPECT_EQ(to_string(*model.graph->inputs[0]->shape), "[x_dim0]") << text;
    EXPECT_EQ(to_string(*model.graph->inputs[1]->shape), "[z_dim0]") << text;
    EXPECT_EQ(to_string(*model.graph->outputs[0]->declared_shape), "[?]") << text;
  }
  EXPECT_THAT(import_with_dim_named("-1").warnings,
              testing::ElementsAre("input 'x': its dim 0 is -1; it is treated as dynamic",
                                   HasSubstr("input 'z': its dim 0 is -1")));
  EXPECT_THAT(import_with_dim_named("?").warnings, testing::IsEmpty());
}

TEST(Import, NumbersAsNamesAreSizes) {
  for (const auto& [text, size] : {std::pair("7", "[7]"), {" 7", "[7]"}, {"0", "[0]"}, {"2*3", "[6]"}}) {
    const ImportedModel model = import_with_dim_named(text);
    EXPECT_EQ(to_string(*model.graph->inputs[0]->shape), size);
    EXPECT_EQ(to_string(*model.graph->outputs[0]->declared_shape), size);
    EXPECT_THAT(model.warnings, testing::ElementsAre("input 'x': its dim 0 has the name '" + std::string(text) +
                                                         "', and is taken as this size",
                                                     HasSubstr("input 'z'")));
  }
  EXPECT_THAT(import_with_dim_named("N", {.dims = {{"N", {4, 4}}}}).warnings, testing::IsEmpty());
  for (const char* text : {"-2", "3 - 5"}) {
    try {
      import_with_dim_named(text);
      FAIL() << text;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("input 'x', dim 0: its name is '" + std::string(text) +
                                          "', a negative number; a dim that may change needs a name that is not"));
    }
  }
}

TEST(Import, AnyOtherTextIsTheNameOfADim) {
  for (const char* text : {"größe", "batch size", "1.5", "7a", "--", "none", "nan", "x y z", "'", "N.1"}) {
    const ImportedModel model = import_with_dim_named(text);
    EXPECT_EQ((*model.graph->inputs[0]->shape)[0], (*model.graph->inputs[1]->shape)[0]) << text;
    EXPECT_TRUE((*model.graph->inputs[0]->shape)[0].as_symbol().has_value()) << text;
    EXPECT_THAT(model.warnings, testing::IsEmpty()) << text;
  }
}

TEST(Import, NamesWithinExpressionsAreNotGivenToUnnamedDims) {
  auto model = parse_graph("(float[?] x, float[N] z) => (float[?] y) { y = Relu(x) }");
  model.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("x_dim0 + 1");
  EXPECT_EQ(to_string(*import_graph(model)->inputs[0]->shape), "[x_dim0_]");
}

TEST(Import, AScalarHasRankZero) {
  EXPECT_EQ(to_string(*import_graph(parse_graph("(float x) => (float y) { y = Relu(x) }"))->inputs[0]->shape), "[]");
}

TEST(Import, BindsSymbolsAsTheUserSays) {
  const auto model = parse_graph("(float[N, D] x, float[N] z) => (float[N] y) { y = Relu(x) }");
  const auto graph = import_graph(model, {.dims = {{"N", {4, 4}}, {"D", {1, 8}}}});
  EXPECT_EQ(to_string(*graph->inputs[0]->shape), "[4, D]");
  EXPECT_EQ(to_string(*graph->inputs[1]->shape), "[4]");
  EXPECT_EQ((*graph->inputs[0]->shape)[1].bounds(), (Bounds{1, 8}));
  try {
    import_graph(model, {.dims = {{"M", {4, 4}}}});
    FAIL() << "a dim that is not there was bound";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--dim M: the inputs have no dim of this name; they have: D, N");
  }
}

TEST(Import, SelectsOutputsAndLeavesOutWhatOnlyOthersNeed) {
  const auto model = parse_graph(
      "(float[1] x) => (float[1] a, float[1] b, float[1] c) { t = Relu(x) a = Exp(t) b = Unheard(t) c = Tanh(t) }");
  const auto graph = import_graph(model, {.outputs = {"c", "a"}});
  EXPECT_EQ(node_types(*graph), "Relu Exp Tanh");
  EXPECT_EQ(graph->outputs[0]->name, "c");
  EXPECT_EQ(graph->outputs[1]->name, "a");
  try {
    import_graph(model, {.outputs = {"d"}});
    FAIL() << "an output that is not there was selected";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--outputs: the model has no output 'd'; it has: a, b, c");
  }
}

TEST(Import, LeavesOutWhatNoOutputNeeds) {
  EXPECT_EQ(
      node_types(*import_graph(parse_graph("(float[1] x) => (float[1] y) { t = Exp(x) u = Unheard(t) y = Relu(x) }"))),
      "Relu");
}

TEST(Import, InitializersAreConstantsAlsoWhereTheyAreInputsToo) {
  auto model = parse_graph("(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1.5, -2}> { y = Add(x, w) }", 7, 3);
  const auto graph = import_graph(model);
  ASSERT_EQ(graph->inputs.size(), 1u);
  const Value& weight = *only_node(*graph).inputs[1];
  EXPECT_EQ(weight.name, "w");
  ASSERT_TRUE(weight.constant.has_value());
  EXPECT_THAT(weight.constant->values<float>(), testing::ElementsAre(1.5f, -2.0f));
}

TEST(Import, AbsentOptionalInputsAreNull) {
  auto model = parse_graph("(float[1] x, float m) => (float[1] y) { y = Clip(x, , m) }");
  const auto graph = import_graph(model);
  ASSERT_EQ(only_node(*graph).inputs.size(), 3u);
  EXPECT_EQ(only_node(*graph).inputs[1], nullptr);
  model.mutable_graph()->mutable_node(0)->set_input(2, "");
  EXPECT_EQ(only_node(*import_graph(model)).inputs.size(), 1u) << "absent ones at the end are not there at all";
}

TEST(Import, FillsInTheDefaultsOfAttributes) {
  const auto graph = import_graph(parse_graph(
      "(float[1, 1, 5, 5] x, float[1, 1, 3, 3] w) => (float[1, 1, 3, 3] y) { y = Conv <strides = [2, 1]> (x, w) }"));
  const Node& node = only_node(*graph);
  EXPECT_EQ(std::get<int64_t>(*node.find_attribute("group")), 1);
  EXPECT_EQ(std::get<std::string>(*node.find_attribute("auto_pad")), "NOTSET");
  EXPECT_THAT(std::get<std::vector<int64_t>>(*node.find_attribute("strides")), testing::ElementsAre(2, 1));
  EXPECT_EQ(node.find_attribute("pads"), nullptr) << "it has no default of its own";
}

TEST(Import, DtypesFollowFromSignatures) {
  const auto graph = import_graph(parse_graph(
      "(float[2] x) => (int64[1] s, bool[2] b, float16[2] h) { s = Shape(x) b = Less(x, x) h = Cast <to = 10> (x) }"));
  EXPECT_EQ(graph->outputs[0]->dtype, DType::int64);
  EXPECT_EQ(graph->outputs[1]->dtype, DType::boolean);
  EXPECT_EQ(graph->outputs[2]->dtype, DType::float16);
}

TEST(Import, EveryOutputIsMadeByANode) {
  const auto graph =
      import_graph(parse_graph("(float[1] x) => (float[1] x, float[1] w, float[1] c) <float[1] w = {1}> { c = Constant "
                               "<value_floats = [2.0]> () }"));
  EXPECT_EQ(node_types(*graph), "Identity Identity Identity");
  for (const Value* output : graph->outputs) EXPECT_NE(output->producer, nullptr);
  EXPECT_EQ(graph->outputs[0]->name, "x");
  EXPECT_EQ(graph->outputs[1]->name, "w");
  EXPECT_EQ(graph->outputs[2]->name, "c");
}

TEST(Import, KeepsUnsupportedNodesWhenAsked) {
  const auto model = parse_graph("(float[1] x) => (float[1] y) { t = Relu(x) y = Unheard(t) }");
  const ImportedModel result = ModelFolder().import(model, {.keep_unsupported = true});
  EXPECT_EQ(node_types(*result.graph), "Relu Unheard");
  EXPECT_EQ(result.graph->nodes().back()->op, nullptr);
  EXPECT_THAT(result.facts.unsupported, HasSubstr("1 node cannot be compiled"));
}

TEST(Import, TakesTheBranchOfAConstantCondition) {
  const std::string text =
      "(float[1] x) => (float[1] y) <bool c = {1}> {"
      "  t = Exp(x)"
      "  y = If (c) <then_branch = g1 () => (float[1] a) { u = Relu(t) a = Tanh(u) },"
      "              else_branch = g2 () => (float[1] b) { b = Abs(x) }> }";
  auto model = parse_graph(text);
  auto graph = import_graph(model);
  EXPECT_EQ(node_types(*graph), "Exp Relu Tanh");
  EXPECT_EQ(graph->outputs[0]->name, "y");
  model.mutable_graph()->mutable_initializer(0)->set_int32_data(0, 0);
  graph = import_graph(model);
  EXPECT_EQ(node_types(*graph), "Abs");
}

// Every version of the default operator set, and of each the oldest IR version that allows it.
TEST(Import, ReadsEveryOperatorSet) {
  const int newest = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
  ASSERT_GE(newest, 26);
  for (int opset = 1; opset <= newest; ++opset) {
    const auto graph = import_graph(parse_graph("(float[1] x) => (float[1] y) { y = Relu(x) }", opset, 3));
    EXPECT_EQ(only_node(*graph).origin.version, opset);
  }
}

TEST(Import, BeforeIrVersionThreeTheOperatorSetIsTheFirst) {
  auto model = parse_graph("(float[1] x) => (float[1] y) { y = Relu(x) }", 1, 2);
  model.clear_opset_import();
  EXPECT_EQ(only_node(*import_graph(model)).origin.version, 1);
}

}  // namespace
}  // namespace onnxc
