#include <limits>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

struct ActivationCase {
  const char* name;
  double (*expected)(double x);
  std::vector<NamedAttribute> attributes = {};
};

// The formulas in double precision, as textbooks have them.
const ActivationCase cases[] = {
    {"Relu", [](double x) { return x > 0 ? x : 0; }},
    {"LeakyRelu", [](double x) { return x < 0 ? 0.25 * x : x; }, {{"alpha", 0.25F}}},
    {"ThresholdedRelu", [](double x) { return x > 1.5 ? x : 0; }, {{"alpha", 1.5F}}},
    {"Elu", [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }, {{"alpha", 2.0F}}},
    {"Selu",
     [](double x) { return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * std::expm1(x)); }},
    {"Celu", [](double x) { return std::max(0.0, x) + std::min(0.0, 2 * std::expm1(x / 2)); }, {{"alpha", 2.0F}}},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"HardSigmoid", [](double x) { return std::max(0.0, std::min(1.0, double(0.2F) * x + 0.5)); }},
    {"HardSwish", [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); }},
    {"Softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"Swish", [](double x) { return x / (1 + std::exp(-2 * x)); }, {{"alpha", 2.0F}}},
    {"Mish", [](double x) { return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))); }},
    {"Gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"Gelu",
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
     {{"approximate", std::string("tanh")}}},
};

class Activation : public testing::TestWithParam<ActivationCase> {};

// Elementwise relative errors, so that small results count as well as large ones.
TEST_P(Activation, AgreesWithTheFormulaInDoublePrecision) {
  const ActivationCase& test = GetParam();
  std::vector<float> x{-80, -20, -6, -3, -1.5, -1, -0.25, 0, 0.125, 0.5, 1, 1.5, 2, 3, 7, 21, 80};
  Tensor random = random_float32s({31});
  x.insert(x.end(), random.values<float>().begin(), random.values<float>().end());
  OneNode node(test.name, 24);
  node.input(float32s({static_cast<int64_t>(x.size())}, x));
  for (const NamedAttribute& attribute : test.attributes) node.attribute(attribute.name, attribute.value);
  std::vector<double> y = numbers(node.run());
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = test.expected(x[i]);
    // 1 + erf and 1 + tanh cancel far below zero, when the result is next to nothing; e^x - 1 does near zero.
    EXPECT_NEAR(y[i], expected, 2e-6 * std::abs(expected) + 3e-7) << test.name << " of " << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Formulas, Activation, testing::ValuesIn(cases),
                         [](const auto& info) { return fmt::format("{}{}", info.param.name, info.index); });

TEST(Activations, GoToTheirLimits) {
  Tensor x = float32s({3}, {infinity, -infinity, nan});
  expect_close(OneNode("Sigmoid").input(x).run(), {1, 0, nan});
  expect_close(OneNode("Softplus").input(x).run(), {infinity, 0, nan});
  expect_close(OneNode("Elu").input(x).run(), {infinity, -1, nan});
  expect_close(OneNode("Relu").input(x).run(), {infinity, 0, nan});
  expect_close(OneNode("HardSigmoid").input(x).run(), {1, 0, nan});
  // 0 * infinity, as in PyTorch.
  expect_close(OneNode("Mish").input(x).run(), {infinity, nan, nan});
}

TEST(Activations, KeepSmallResultsOfSoftplus) {
  // log(1 + e^-30) is e^-30 to seven digits, and 0 if 1 + e^-30 is rounded first.
  EXPECT_NEAR(numbers(OneNode("Softplus").input(float32s({}, {-30})).run())[0], std::exp(-30.0), 1e-19);
}

TEST(Activations, SelusFirstVersionHasShorterDefaults) {
  EXPECT_FLOAT_EQ(OneNode("Selu", 1).input(float32s({}, {1})).run().values<float>()[0], 1.0507F);
}

TEST(Activations, RefuseAnUnknownApproximation) {
  EXPECT_THAT(OneNode("Gelu").input(DType::float32, {2}).attribute("approximate", std::string("fast")).error(),
              HasSubstr("attribute 'approximate' must be \"none\" or \"tanh\", found \"fast\""));
}

TEST(PRelu, BroadcastsItsSlope) {
  Tensor x = float32s({1, 2, 2}, {-1, 2, -3, -4});
  EXPECT_THAT(numbers(OneNode("PRelu").input(x).input(float32s({2, 1}, {10, 100})).run()),
              ElementsAre(-10, 2, -300, -400));
  // Until version 6 a slope of rank 1 is for channels, later for the last axis.
  EXPECT_THAT(numbers(OneNode("PRelu", 6).input(x).input(float32s({2}, {10, 100})).run()),
              ElementsAre(-10, 2, -300, -400));
  EXPECT_THAT(numbers(OneNode("PRelu").input(x).input(float32s({2}, {10, 100})).run()), ElementsAre(-10, 2, -30, -400));
  EXPECT_THAT(numbers(OneNode("PRelu", 6).input(x).input(float32s({1}, {10})).run()), ElementsAre(-10, 2, -30, -40));
  EXPECT_THAT(OneNode("PRelu").input(DType::float32, {1, 2}).input(DType::float32, {3}).error(),
              HasSubstr("3 and 2 differ"));
}

}  // namespace
}  // namespace onnxc
