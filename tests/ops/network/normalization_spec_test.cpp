#include "ops/network/normalization_spec.h"

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

template <class Resolve>
std::string error_of(const OneNode& node, const Resolve& resolve) {
  try {
    resolve(NodeReader(node.node()));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

InstanceNormalizationSpec instance(const OneNode& node) {
  return resolve_instance_normalization(NodeReader(node.node()));
}
LayerNormalizationSpec layer(const OneNode& node) { return resolve_layer_normalization(NodeReader(node.node())); }

TEST(NormalizationSpec, InstanceHasAGroupForEachChannel) {
  const auto spec = instance(OneNode("InstanceNormalization").input(DType::float32, {2, 6, 3}));
  EXPECT_TRUE(spec.groups.is_constant(6));
  EXPECT_TRUE(spec.channels_per_group().is_constant(1));
  EXPECT_FALSE(spec.has_parameters_by_group);
  EXPECT_EQ(spec.epsilon, 1e-5F);
}

TEST(NormalizationSpec, GroupsHaveParametersUntilVersion20) {
  for (int version : {18, 20, 21, 22}) {
    OneNode node("GroupNormalization", version);
    node.input(DType::float32, {2, 6, 3}).attribute("num_groups", int64_t{2}).attribute("epsilon", 0.25F);
    const auto spec = instance(node);
    EXPECT_TRUE(spec.groups.is_constant(2));
    EXPECT_TRUE(spec.channels_per_group().is_constant(3));
    EXPECT_EQ(spec.has_parameters_by_group, version < 21) << version;
    EXPECT_EQ(spec.epsilon, 0.25F);
  }
}

TEST(NormalizationSpec, RefusesGroupsThatAreNone) {
  OneNode node("GroupNormalization", 21);
  node.input(DType::float32, {2, 6, 3});
  EXPECT_THAT(error_of(node, resolve_instance_normalization), HasSubstr("attribute 'num_groups' is missing"));
  node.attribute("num_groups", int64_t{0});
  EXPECT_THAT(error_of(node, resolve_instance_normalization),
              HasSubstr("'node1' (GroupNormalization): attribute 'num_groups' must be positive, found 0"));
}

TEST(NormalizationSpec, LayersAreAllAxesFromOneOn) {
  for (const char* type : {"LayerNormalization", "RMSNormalization"}) {
    const int version = 23;
    const auto spec = layer(OneNode(type, version).input(DType::float32, {2, 6, 3}));
    EXPECT_EQ(spec.first_axis, 2U);
    EXPECT_EQ(spec.epsilon, 1e-5F);
    EXPECT_EQ(spec.subtracts_mean, std::string(type) == "LayerNormalization");
    OneNode first(type, version), wrong(type, version);
    first.input(DType::float32, {2, 6, 3}).attribute("axis", int64_t{-3});
    EXPECT_EQ(layer(first).first_axis, 0U);
    wrong.input(DType::float32, {2, 6, 3}).attribute("axis", int64_t{3});
    EXPECT_THAT(error_of(wrong, resolve_layer_normalization),
                HasSubstr("axis 3 is out of range for a tensor of rank 3"));
  }
}

TEST(NormalizationSpec, KnowsItsNodes) {
  EXPECT_TRUE(is_instance_normalization(OneNode("GroupNormalization").node()));
  EXPECT_FALSE(is_instance_normalization(OneNode("LayerNormalization").node()));
  EXPECT_TRUE(is_layer_normalization(OneNode("LayerNormalization").node()));
  EXPECT_FALSE(is_layer_normalization(OneNode("BatchNormalization").node()));
}

}  // namespace
}  // namespace onnxc
