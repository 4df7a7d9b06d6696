#include "frontend/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& graph, int opset = 18) { return import_error(parse_graph(graph, opset)); }

TEST(Signature, NumberOfInputs) {
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Relu(x, x) }"), "node 'y' (Relu): expected 1 input, found 2");
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Relu() }"), "node 'y' (Relu): expected 1 input, found 0");
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Conv(x) }"),
            "node 'y' (Conv): expected 2 to 3 inputs, found 1");
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Concat <axis = 0> () }"),
            "node 'y' (Concat): expected at least 1 input, found 0");
}

TEST(Signature, NumberOfOutputs) {
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y, z = Relu(x) }"), "node 'y' (Relu): expected 1 output, found 2");
}

TEST(Signature, InputsThatAreNotOptionalMustBeThere) {
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Conv(x, , x) }"), "node 'y' (Conv): input 1 (W) is missing");
}

TEST(Signature, TypesOfInputs) {
  EXPECT_EQ(error_of("(float[1] x, int64[1] i) => (float[1] y) { y = Add(x, i) }"),
            "node 'y' (Add): input 1 (B) 'i' must have the same type as the inputs before it, tensor(float); found "
            "tensor(int64)");
  EXPECT_EQ(error_of("(bool[1] b) => (float[1] y) { y = Exp(b) }"),
            "node 'y' (Exp): input 0 (input) 'b' must be of one of the types tensor(bfloat16), tensor(double), "
            "tensor(float), tensor(float16); found tensor(bool)");
  EXPECT_THAT(error_of("(float[1] x, float[1] i) => (float[1] y) { y = Concat <axis = 0> (x, i, x) z = Shape(y) }"),
              "no error");
  EXPECT_THAT(error_of("(float[1] x, int32[1] i) => (float[1] y) { y = Concat <axis = 0> (x, x, i) }"),
              HasSubstr("input 2 (inputs) 'i' must have the same type"));
}

TEST(Signature, TypesAreFollowedThroughNodes) {
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { s = Shape(x) t = Cast <to = 11> (x) y = Add(s, t) }"),
            "node 'y' (Add): input 1 (B) 't' must have the same type as the inputs before it, tensor(int64); found "
            "tensor(double)");
}

TEST(Signature, HalfTypesStandWhereFloatDoes) {
  EXPECT_EQ(error_of("(bfloat16[1, 1, 3] x, bfloat16[1, 1, 3] w) => (bfloat16[1, 1, 1] y) { y = Conv(x, w) }", 18),
            "no error");
}

TEST(Attributes, MustBeKnownAndOfTheRightType) {
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = LeakyRelu <slope = 1.0> (x) }"),
            "node 'y' (LeakyRelu): LeakyRelu has no attribute 'slope' (since version 16)");
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = LeakyRelu <alpha = 1> (x) }"),
            "node 'y' (LeakyRelu): its attribute 'alpha' must be of type FLOAT, found INT");
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Concat(x, x) }"),
            "node 'y' (Concat): its attribute 'axis' is required");
  EXPECT_EQ(error_of("(float[1] x) => (float[1] y) { y = Relu <__note = \"kept\"> (x) }"), "no error");
}

TEST(Attributes, WithoutATypeAreKnownByTheirField) {
  auto model = parse_graph("(float[1] x) => (float[1] y) { y = LeakyRelu <alpha = 0.5> (x) }", 1, 1);
  auto* attribute = model.mutable_graph()->mutable_node(0)->mutable_attribute(0);
  attribute->clear_type();
  EXPECT_EQ(std::get<float>(*import_graph(model)->nodes().front()->find_attribute("alpha")), 0.5f);
  attribute->clear_f();
  attribute->set_s("half");
  EXPECT_THAT(import_error(model), HasSubstr("must be of type FLOAT, found STRING"));
}

TEST(Attributes, TensorsAreReadByTheOneReader) {
  auto model = parse_graph("(int64[2] s) => (float[?, ?] y) { y = ConstantOfShape <value = float[1] {7.0}> (s) }");
  EXPECT_EQ(std::get<Tensor>(*import_graph(model)->nodes().front()->find_attribute("value")).as_double()[0], 7.0);
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t()->add_dims(2);
  EXPECT_EQ(import_error(model),
            "node 'y' (ConstantOfShape): its attribute 'value': shape [1, 2] needs 2 elements of data, found 1");
}

TEST(Attributes, ReferencesOutsideAFunctionAreLeftOut) {
  auto model = parse_graph("(float[1] x) => (float[1] y) { y = LeakyRelu <alpha: float = @nothing> (x) }");
  EXPECT_EQ(std::get<float>(*import_graph(model)->nodes().front()->find_attribute("alpha")), 0.01f)
      << "the operator's default";
}

}  // namespace
}  // namespace onnxc
