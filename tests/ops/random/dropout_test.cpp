#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Dropout, DropsNothing) {
  Tensor x = float32s({3}, {1, -2, 3});
  std::vector<Tensor> now = OneNode("Dropout").input(x).outputs(2).run_all();
  EXPECT_THAT(numbers(now.at(0)), ElementsAre(1, -2, 3));
  EXPECT_EQ(now.at(1).dtype(), DType::boolean);
  EXPECT_THAT(numbers(now.at(1)), ElementsAre(1, 1, 1));
  EXPECT_EQ(OneNode("Dropout", 7).input(x).outputs(2).run_all().at(1).dtype(), DType::float32);
}

TEST(Dropout, TrainsWithARatioBelowOne) {
  Tensor ratio = float32s({}, {0.5});
  OneNode training("Dropout");
  training.input(DType::float32, {3}).constant(float32s({}, {1})).constant(booleans({}, {1}));
  EXPECT_THAT(training.error(), HasSubstr("a ratio in [0, 1) is expected, found 1"));
  OneNode inference("Dropout");
  inference.input(DType::float32, {3}).constant(ratio).constant(booleans({}, {0}));
  EXPECT_EQ(inference.error(), "");
}

}  // namespace
}  // namespace onnxc
