#include "fuzz/model_changes.h"

#include <gtest/gtest.h>

#include <set>

#include "frontend/model_helpers.h"
#include "fuzz/harnesses.h"

namespace onnxc::fuzz {
namespace {

std::string small_model() {
  return parse_graph(
             "(float[N, 3, 4] x) => (float[N, 3, 4] y) <float[3, 1] w = {1, 2, 3}> {"
             "  t = Mul(x, w)"
             "  u = Concat<axis = 1>(t, x)"
             "  y = Softmax<axis = 2>(t)"
             "}")
      .SerializeAsString();
}

bool is_model(const std::string& bytes) {
  onnx::ModelProto model;
  return model.ParseFromString(bytes) && !model.graph().node().empty();
}

TEST(ModelChanges, AreModelsAndManyAreAccepted) {
  const std::string before = small_model();
  ASSERT_TRUE(find_harness("model")->run(before));
  std::set<std::string> made;
  int accepted = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const std::optional<std::string> after = change_model(before, seed);
    ASSERT_TRUE(after && is_model(*after));
    made.insert(*after);
    EXPECT_EQ(change_model(before, seed), after) << "a seed makes one change";
    accepted += find_harness("model")->run(*after) ? 1 : 0;
  }
  EXPECT_GT(made.size(), 290u);
  EXPECT_GT(accepted, 60) << "most of what a fuzzer tries must not end in the reader";
  EXPECT_LT(accepted, 290);
}

TEST(ModelChanges, JoinTwoModels) {
  const std::string first = small_model();
  const std::string second =
      parse_graph("(float[2, 3] x) => (float[2, 3] y) { t = Relu(x) y = Add(t, x) }").SerializeAsString();
  int accepted = 0;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const std::optional<std::string> joined = join_models(first, second, seed);
    ASSERT_TRUE(joined && is_model(*joined));
    onnx::ModelProto model;
    model.ParseFromString(*joined);
    EXPECT_EQ(model.graph().node_size(), 5);
    EXPECT_EQ(model.graph().output_size(), 2);
    accepted += find_harness("model")->run(*joined) ? 1 : 0;
  }
  EXPECT_GT(accepted, 10);
}

TEST(ModelChanges, OfWhatIsNoModelThereAreNone) {
  EXPECT_EQ(change_model("no model", 1), std::nullopt);
  EXPECT_EQ(change_model("", 1), std::nullopt);
  EXPECT_EQ(join_models(small_model(), "", 1), std::nullopt);
}

}  // namespace
}  // namespace onnxc::fuzz
