#include "frontend/file/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "frontend/model_helpers.h"

namespace onnxc {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// One of everything: initializers in two fields, a function, a subgraph, a sparse tensor, metadata.
onnx::ModelProto rich_model() {
  auto model = parse_text_model(
      "<ir_version: 8, opset_import: [\"\": 18, \"local\": 1], producer_name: \"test\">"
      "g (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1.5, -2, 0.25}, bool c = {1}> {"
      "  t = local.f <alpha = 0.5> (x)"
      "  u = Add(t, w)"
      "  v = If (c) <then_branch = g1 () => (float[N, 3] a) { a = Relu(u) },"
      "              else_branch = g2 () => (float[N, 3] b) { b = Abs(u) }>"
      "  k = Constant <value_floats = [0.5, 0.25, 1.0]> ()"
      "  y = Mul(v, k) }"
      "<domain: \"local\", opset_import: [\"\": 18]> f <alpha> (x) => (z) { z = LeakyRelu <alpha: float = @alpha> (x) "
      "}");
  auto* sparse = model.mutable_graph()->add_sparse_initializer();
  sparse->add_dims(4);
  sparse->mutable_values()->set_name("sparse");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(0);
  auto* entry = model.add_metadata_props();
  entry->set_key("key");
  entry->set_value("value");
  return model;
}

TEST(ModelFile, OtherKindsOfFilesAreNamed) {
  ModelFolder folder;
  EXPECT_EQ(folder.error_of_bytes(""), "the file is empty");
  EXPECT_THAT(folder.error_of_bytes("hello"), HasSubstr("it is not an ONNX model"));
  EXPECT_THAT(folder.error_of_bytes(std::string(1000, '\0')), HasSubstr("it is not an ONNX model"));
  EXPECT_THAT(folder.error_of_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:0"),
              HasSubstr("it is a Git LFS pointer"));
  EXPECT_THAT(folder.error_of_bytes(std::string("PK\x03\x04rest")), HasSubstr("it is a zip archive"));
  EXPECT_THAT(folder.error_of_bytes(std::string("\x1f\x8b\x08rest")), HasSubstr("it is compressed by gzip"));
  // A message with no field that we know.
  EXPECT_EQ(folder.error_of_bytes("\xfa\x3e\x01x"), "it is not an ONNX model, or is cut short: it holds no graph");
}

TEST(ModelFile, AMissingFileIsNamed) {
  try {
    import_model("/no/such/model.onnx");
    FAIL() << "a missing file was read";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot open '/no/such/model.onnx': No such file or directory"));
  }
}

// Cut anywhere, a model is an error of the user's or, if only what nothing needs is lost, still a model.
TEST(ModelFile, TruncatedAtAnyByte) {
  ModelFolder folder;
  const std::string whole = rich_model().SerializeAsString();
  ASSERT_EQ(folder.error_of_bytes(whole), "no error");
  size_t accepted = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string error = folder.error_of_bytes(whole.substr(0, size));  // any other exception fails the test
    accepted += error == "no error" ? 1 : 0;
  }
  EXPECT_LE(accepted, 1u) << "the metadata at the end is all that can be lost unseen";
}

// Any byte changed: an error or a model, but never a crash, an exception of another kind or memory without bound.
TEST(ModelFile, DamagedAtAnyByte) {
  ModelFolder folder;
  const std::string whole = rich_model().SerializeAsString();
  std::mt19937 random(1);
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int flip : {1, static_cast<int>(random() % 255 + 1)}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      refused += folder.error_of_bytes(damaged) != "no error";
    }
  }
  EXPECT_GT(refused, whole.size());
}

TEST(ModelFile, NestingBeyondProtobufsLimitIsRefused) {
  onnx::ModelProto model = parse_graph("(float[1] x) => (float[1] y) { y = Relu(x) }");
  onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 200; ++i) {
    auto* attribute = graph->mutable_node(0)->add_attribute();
    attribute->set_name("deeper");
    graph = attribute->mutable_g();
    graph->add_node()->set_op_type("Relu");
  }
  EXPECT_THAT(import_error(model), HasSubstr("protobuf cannot parse"));
}

// Names that have been used to break out of generated text come through unchanged, and stand escaped in errors.
TEST(ModelFile, HostileNames) {
  const std::vector<std::string> names = {"*/ int x = system(\"id\"); /*",
                                          "a\nb",
                                          "\"",
                                          "\\",
                                          "?"
                                          "?/",
                                          "%s{}",
                                          std::string(10000, 'x'),
                                          "\xff",
                                          std::string("a\0b", 3),
                                          "../../etc/passwd",
                                          "gr\xc3\xbc\xc3\x9f"};
  for (const std::string& name : names) {
    auto model = parse_graph("(float[1] x) => (float[1] y) { y = Relu(x) }");
    auto* graph = model.mutable_graph();
    graph->mutable_input(0)->set_name(name);
    graph->mutable_node(0)->set_input(0, name);
    graph->mutable_node(0)->set_name(name);
    const auto imported = import_graph(model);
    EXPECT_EQ(imported->inputs[0]->name, name);
    EXPECT_EQ(imported->nodes().front()->origin.name, name);

    graph->mutable_node(0)->set_op_type(name);
    const std::string error = import_error(model);
    EXPECT_THAT(error, StartsWith("1 node cannot be compiled:\n"));
    EXPECT_EQ(std::ranges::count(error, '\n'), 1) << "the line that we break";
    EXPECT_TRUE(std::ranges::all_of(error, [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= ' '; }));
    EXPECT_LT(error.size(), 1000u);
  }
}

}  // namespace
}  // namespace onnxc
