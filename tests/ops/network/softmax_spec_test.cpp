#include "ops/network/softmax_spec.h"

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

SoftmaxSpec resolve(const OneNode& node) { return resolve_softmax(NodeReader(node.node())); }
SoftmaxSpec resolve(const char* type, int version) {
  return resolve(OneNode(type, version).input(DType::float32, {2, 3, 5}));
}
SoftmaxSpec resolve(const char* type, int version, int64_t axis) {
  return resolve(OneNode(type, version).input(DType::float32, {2, 3, 5}).attribute("axis", axis));
}

void expect_axes(const SoftmaxSpec& spec, size_t first, size_t end) {
  EXPECT_EQ(spec.first_axis, first);
  EXPECT_EQ(spec.end_axis, end);
}

TEST(SoftmaxSpec, IsOneAxisSinceVersion13) {
  expect_axes(resolve("Softmax", 13), 2, 3);
  expect_axes(resolve("Softmax", 13, 1), 1, 2);
  expect_axes(resolve("LogSoftmax", 22, -3), 0, 1);
}

TEST(SoftmaxSpec, IsAllAxesFromOneOnBefore) {
  expect_axes(resolve("Softmax", 12), 1, 3);
  expect_axes(resolve("Softmax", 1, 0), 0, 3);
  expect_axes(resolve("Hardmax", 11, -1), 2, 3);
}

TEST(SoftmaxSpec, KnowsRows) {
  EXPECT_TRUE(resolve("Softmax", 13).is_of_rows());
  EXPECT_TRUE(resolve("Softmax", 12).is_of_rows());
  EXPECT_FALSE(resolve("Softmax", 13, 1).is_of_rows());
}

TEST(SoftmaxSpec, KnowsTheKind) {
  EXPECT_EQ(resolve("Softmax", 13).kind, SoftmaxKind::softmax);
  EXPECT_TRUE(resolve("LogSoftmax", 13).takes_logarithm());
  EXPECT_EQ(resolve("Hardmax", 13).kind, SoftmaxKind::hardmax);
  EXPECT_TRUE(is_softmax(OneNode("LogSoftmax", 13).node()));
  EXPECT_FALSE(is_softmax(OneNode("Hardmax", 13).node()));
}

TEST(SoftmaxSpec, RefusesAnAxisOutOfRange) {
  for (int version : {11, 13}) {
    try {
      resolve("Softmax", version, 3);
      ADD_FAILURE() << "version " << version;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("'node1' (Softmax): axis 3 is out of range for a tensor of rank 3"));
    }
  }
}

}  // namespace
}  // namespace onnxc
