#include "frontend/model_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

onnx::ModelProto chain() { return parse_graph("(float[1] x) => (float[1] y) { a = Exp(x) b = Relu(a) y = Tanh(b) }"); }

TEST(CheckModel, VersionsMustBeKnown) {
  auto model = chain();
  model.clear_ir_version();
  EXPECT_EQ(import_error(model), "the model has the IR version 0; versions start at 1");
  model.set_ir_version(1000);
  EXPECT_THAT(import_error(model), StartsWith("the model has IR version 1000, and the newest known is"));

  model = chain();
  model.clear_opset_import();
  EXPECT_EQ(import_error(model), "the model imports no operator set (opset_import), or is cut short");
  model.add_opset_import()->set_version(0);
  EXPECT_EQ(import_error(model), "the model imports version 0 of the operator set ai.onnx; versions start at 1");
  model.mutable_opset_import(0)->set_version(1000);
  EXPECT_THAT(import_error(model),
              StartsWith("the model imports version 1000 of the operator set ai.onnx, and the newest"));
  model.mutable_opset_import(0)->set_version(18);
  model.add_opset_import()->set_version(18);
  EXPECT_EQ(import_error(model), "no error") << "skl2onnx writes the same one twice";
  model.mutable_opset_import(1)->set_version(17);
  EXPECT_EQ(import_error(model),
            "the model imports the operator set ai.onnx twice, as version 18 and as version 17; one is expected");
  model.mutable_opset_import(1)->set_domain("ai.onnx");
  EXPECT_THAT(import_error(model), HasSubstr("the operator set ai.onnx twice"));
}

TEST(CheckModel, ADomainMustBeImported) {
  auto model = chain();
  model.mutable_graph()->mutable_node(1)->set_domain("elsewhere");
  EXPECT_EQ(import_error(model),
            "node 'b' (Relu): the model imports no operator set for the domain elsewhere (opset_import)");
}

TEST(CheckModel, InputsMustBeMadeBefore) {
  auto model = chain();
  model.mutable_graph()->mutable_node(1)->set_input(0, "nowhere");
  EXPECT_EQ(
      import_error(model),
      "node 'b' (Relu): its input 'nowhere' is not made by a node, and is not an input or initializer of the graph");
}

TEST(CheckModel, CyclesAreShown) {
  auto model = chain();
  model.mutable_graph()->mutable_node(0)->set_input(0, "b");
  EXPECT_EQ(import_error(model), "the graph: a cycle of 2 nodes: node 'b' (Relu) -> node 'a' (Exp) -> node 'b' (Relu)");
  model.mutable_graph()->mutable_node(0)->set_input(0, "a");
  EXPECT_EQ(import_error(model), "the graph: a cycle of 1 node: node 'a' (Exp) -> node 'a' (Exp)");
}

TEST(CheckModel, NamesMustDiffer) {
  auto model = chain();
  model.mutable_graph()->mutable_node(1)->set_output(0, "a");
  EXPECT_EQ(import_error(model),
            "node 'a' (Relu): its output 'a' has the name of another value; every value is made once");
  model.mutable_graph()->mutable_node(1)->set_output(0, "x");
  EXPECT_THAT(import_error(model), HasSubstr("its output 'x' has the name of another value"));

  model = chain();
  *model.mutable_graph()->add_input() = model.graph().input(0);
  EXPECT_EQ(import_error(model), "the graph: the name 'x' is given to two values");
  model = chain();
  *model.mutable_graph()->add_output() = model.graph().output(0);
  EXPECT_EQ(import_error(model), "the graph: the name 'y' is given to two values");

  model = parse_graph("(float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }");
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  EXPECT_EQ(import_error(model), "the graph: the name 'w' is given to two values");
}

TEST(CheckModel, NamesMustBeThere) {
  auto model = chain();
  model.mutable_graph()->mutable_input(0)->clear_name();
  EXPECT_EQ(import_error(model), "the graph has an input without a name");
  model = chain();
  model.mutable_graph()->mutable_node(0)->clear_op_type();
  EXPECT_EQ(import_error(model), "the graph: node 'a' has no operator type");
  model = chain();
  model.mutable_graph()->mutable_node(0)->add_attribute();
  EXPECT_EQ(import_error(model), "node 'a' (Exp) has an attribute without a name");
}

TEST(CheckModel, OutputsMustBeMade) {
  auto model = chain();
  model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_EQ(import_error(model), "the graph: its output 'z' is made by no node");
  model.mutable_graph()->clear_output();
  EXPECT_EQ(import_error(model), "the graph has no outputs");
}

TEST(CheckModel, AttributesMustDiffer) {
  auto model = parse_graph("(float[1] x) => (float[1] y) { y = LeakyRelu <alpha = 0.5> (x) }");
  auto* node = model.mutable_graph()->mutable_node(0);
  *node->add_attribute() = node->attribute(0);
  EXPECT_EQ(import_error(model), "node 'y' (LeakyRelu) has the attribute 'alpha' twice");
}

TEST(CheckModel, LooksIntoSubgraphsAndFunctions) {
  auto model = parse_graph(
      "(float[1] x, bool c) => (float[1] y) { y = If (c) <then_branch = g1 () => (float[1] a) { a = Relu(lost) },"
      " else_branch = g2 () => (float[1] b) { b = Abs(x) }> }");
  EXPECT_EQ(
      import_error(model),
      "node 'a' (Relu): its input 'lost' is not made by a node, and is not an input or initializer of the subgraph "
      "'then_branch' of node 'y' (If)");

  EXPECT_EQ(
      import_error(parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                                    "g (float[1] x) => (float[1] y) { y = local.f(x) } "
                                    "<domain: \"local\", opset_import: [\"\": 18]> f (x) => (z) { z = Exp(lost) }")),
      "node 'z' (Exp): its input 'lost' is not made by a node, and is not an input or initializer of function 'f'");
  const std::string function = "<domain: \"local\", opset_import: [\"\": 18]> f (x) => (z) { z = Exp(x) } ";
  EXPECT_EQ(import_error(parse_text_model("<ir_version: 8, opset_import: [\"\": 18, \"local\": 1]> "
                                          "g (float[1] x) => (float[1] y) { y = local.f(x) } " +
                                          function + function)),
            "function 'f' of domain local is defined twice");
}

TEST(CheckModel, HoldsToTheLimits) {
  ImportOptions options;
  options.limits.max_nodes = 2;
  EXPECT_EQ(import_error(chain(), options), "the model has more than 2 nodes (--max-nodes)");

  std::string nested = "a0 = Exp(x)";
  for (int i = 1; i <= 5; ++i) {
    const std::string n = std::to_string(i), inner = std::to_string(i - 1);
    nested = "a" + n + " = If (c) <then_branch = t" + n + " () => (float[1] a" + inner + ") { " + nested +
             " }, else_branch = e" + n + " () => (float[1] b" + n + ") { b" + n + " = Abs(x) }>";
  }
  const auto model = parse_graph("(float[1] x, bool c) => (float[1] a5) { " + nested + " }");
  options = {};
  options.limits.max_nesting = 4;
  EXPECT_THAT(import_error(model, options), HasSubstr("nests deeper than 4 levels"));
}

}  // namespace
}  // namespace onnxc
