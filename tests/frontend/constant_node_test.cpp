#include "frontend/constant_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/model_helpers.h"
#include "onnx/defs/schema.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int newest_opset = 26;

// The tensor of a model whose only node besides an Add is a Constant with these attributes.
Tensor constant(const std::string& attributes, int opset) {
  const auto graph = import_graph(
      parse_graph("(float[2] x) => (float[2] y) { c = Constant <" + attributes + "> () y = Unknown_or_not(x, c) }",
                  opset),
      {.keep_unsupported = true});
  EXPECT_EQ(graph->nodes().size(), 1u) << "a Constant becomes a value, not a node";
  return *graph->nodes().front()->inputs[1]->constant;
}

TEST(Constant, ValueInEveryOperatorSet) {
  for (int opset = 1; opset <= newest_opset; ++opset) {
    const Tensor tensor = constant("value = float[2] {1.5, -2.0}", opset);
    EXPECT_THAT(tensor.dims(), ElementsAre(2));
    EXPECT_THAT(tensor.values<float>(), ElementsAre(1.5f, -2.0f));
  }
}

TEST(Constant, NumbersAndListsSinceVersionTwelve) {
  for (int opset = 12; opset <= newest_opset; ++opset) {
    EXPECT_THAT(constant("value_int = 7", opset).values<int64_t>(), ElementsAre(7));
    EXPECT_TRUE(constant("value_int = 7", opset).dims().empty());
    EXPECT_THAT(constant("value_ints = [7, -8, 9]", opset).values<int64_t>(), ElementsAre(7, -8, 9));
    EXPECT_THAT(constant("value_ints = [7, -8, 9]", opset).dims(), ElementsAre(3));
    EXPECT_THAT(constant("value_float = 0.5", opset).values<float>(), ElementsAre(0.5f));
    EXPECT_TRUE(constant("value_float = 0.5", opset).dims().empty());
    EXPECT_THAT(constant("value_floats = [0.5, 0.25]", opset).values<float>(), ElementsAre(0.5f, 0.25f));
  }
  EXPECT_THAT(import_error(parse_graph("(float x) => (float y) { c = Constant <value_int = 7> () y = Add(x, c) }", 11)),
              HasSubstr("Constant has no attribute 'value_int' (since version 11)"));
}

TEST(Constant, SparseValueSinceVersionEleven) {
  for (int opset = 11; opset <= newest_opset; ++opset) {
    auto model = parse_graph("(float[4] x) => (float[4] y) { c = Constant() y = Add(x, c) }", opset);
    auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name("sparse_value");
    attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
    auto* sparse = attribute->mutable_sparse_tensor();
    sparse->add_dims(4);
    sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    sparse->mutable_values()->add_dims(1);
    sparse->mutable_values()->add_float_data(5);
    sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    sparse->mutable_indices()->add_dims(1);
    sparse->mutable_indices()->add_int64_data(2);
    const auto graph = import_graph(model);
    EXPECT_THAT(graph->nodes().front()->inputs[1]->constant->values<float>(), ElementsAre(0, 0, 5, 0));
  }
}

TEST(Constant, StringsSinceVersionTwelve) {
  for (int opset = 12; opset <= newest_opset; ++opset) {
    EXPECT_EQ(constant("value_string = \"text\"", opset).dtype(), DType::string);
    EXPECT_TRUE(constant("value_string = \"text\"", opset).dims().empty());
    EXPECT_THAT(constant("value_strings = [\"b\", \"\", \"b\"]", opset).values<int64_t>(), ElementsAre(1, 0, 1));
  }
}

TEST(Constant, ExactlyOneValue) {
  const auto error = [](const std::string& attributes) {
    return import_error(parse_graph("(float x) => (float y) { c = Constant <" + attributes + "> () y = Add(x, c) }"));
  };
  EXPECT_THAT(error("value_int = 7, value_float = 0.5"), HasSubstr("node 'c' (Constant): exactly one of value"));
  EXPECT_THAT(import_error(parse_graph("(float x) => (float y) { c = Constant() y = Add(x, c) }")),
              HasSubstr("must be given, found 0"));
}

// Clip's bounds were attributes until version 6 and are inputs since 11; Slice's limits until 1 and since 10.
TEST(AttributeForms, ClipInEveryOperatorSet) {
  for (int opset = 1; opset <= newest_opset; ++opset) {
    const auto graph = import_graph(
        opset < 11 ? parse_graph("(float[2] x) => (float[2] y) { y = Clip <min = -1.0, max = 2.0> (x) }", opset)
                   : parse_graph("(float[2] x) => (float[2] y) { a = Constant <value = float {-1.0}> ()"
                                 " b = Constant <value = float {2.0}> () y = Clip(x, a, b) }",
                                 opset));
    const Node& node = *graph->nodes().front();
    EXPECT_NE(node.op, nullptr) << opset;
    if (opset < 11) {
      EXPECT_EQ(std::get<float>(*node.find_attribute("min")), -1.0f);
      EXPECT_EQ(std::get<float>(*node.find_attribute("max")), 2.0f);
    } else {
      EXPECT_EQ(node.inputs.at(1)->constant->as_double()[0], -1.0);
      EXPECT_EQ(node.inputs.at(2)->constant->as_double()[0], 2.0);
    }
  }
  // The defaults of version 6 are the largest finite numbers, which the row then need not know.
  const auto graph = import_graph(parse_graph("(float[2] x) => (float[2] y) { y = Clip(x) }", 6));
  EXPECT_EQ(std::get<float>(*graph->nodes().front()->find_attribute("max")), std::numeric_limits<float>::max());
}

TEST(AttributeForms, SliceInEveryOperatorSet) {
  for (int opset = 1; opset <= newest_opset; ++opset) {
    const auto graph = import_graph(
        opset < 10
            ? parse_graph("(float[4, 5] x) => (float[?, ?] y) { y = Slice <axes = [1], starts = [1], ends = [3]> (x) }",
                          opset)
            : parse_graph("(float[4, 5] x) => (float[?, ?] y) <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {1}>"
                          " { y = Slice(x, s, e, a) }",
                          opset));
    const Node& node = *graph->nodes().front();
    EXPECT_NE(node.op, nullptr) << opset;
    if (opset < 10) {
      EXPECT_THAT(std::get<std::vector<int64_t>>(*node.find_attribute("ends")), ElementsAre(3));
    } else {
      ASSERT_EQ(node.inputs.size(), 4u);
      EXPECT_THAT(node.inputs[2]->constant->values<int64_t>(), ElementsAre(3));
    }
  }
}

}  // namespace
}  // namespace onnxc
