#include <limits>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// The result of a reduction of the elements that fall together, in double precision.
struct ReductionCase {
  const char* name;
  double (*expected)(const std::vector<double>& x);
};

double fold(const std::vector<double>& x, double start, double (*step)(double, double)) {
  for (double value : x) start = step(start, value);
  return start;
}

const ReductionCase cases[] = {
    {"ReduceSum", [](const auto& x) { return fold(x, 0, [](double a, double b) { return a + b; }); }},
    {"ReduceMean",
     [](const auto& x) { return fold(x, 0, [](double a, double b) { return a + b; }) / double(x.size()); }},
    {"ReduceProd", [](const auto& x) { return fold(x, 1, [](double a, double b) { return a * b; }); }},
    {"ReduceMax", [](const auto& x) { return fold(x, -infinity, [](double a, double b) { return std::max(a, b); }); }},
    {"ReduceMin", [](const auto& x) { return fold(x, infinity, [](double a, double b) { return std::min(a, b); }); }},
    {"ReduceL1", [](const auto& x) { return fold(x, 0, [](double a, double b) { return a + std::abs(b); }); }},
    {"ReduceL2", [](const auto& x) { return std::sqrt(fold(x, 0, [](double a, double b) { return a + b * b; })); }},
    {"ReduceSumSquare", [](const auto& x) { return fold(x, 0, [](double a, double b) { return a + b * b; }); }},
    {"ReduceLogSum", [](const auto& x) { return std::log(fold(x, 0, [](double a, double b) { return a + b; })); }},
    {"ReduceLogSumExp",
     [](const auto& x) { return std::log(fold(x, 0, [](double a, double b) { return a + std::exp(b); })); }},
};

class Reduction : public testing::TestWithParam<ReductionCase> {};

constexpr std::array<int64_t, 4> dims = {2, 3, 5, 4};

// The expected values for a tensor of `dims`, in the order of the kept axes.
std::vector<double> reduce(const ReductionCase& test, const Tensor& x, const std::set<size_t>& axes) {
  std::map<std::vector<int64_t>, std::vector<double>> groups;
  std::vector<double> values = numbers(x);
  for (int64_t flat = 0; flat < x.size(); ++flat) {
    std::vector<int64_t> key;
    int64_t rest = flat;
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
      if (!axes.contains(axis)) key.insert(key.begin(), rest % dims[axis]);
    groups[key].push_back(values[static_cast<size_t>(flat)]);
  }
  std::vector<double> result;
  for (const auto& [key, group] : groups) result.push_back(test.expected(group));
  return result;
}

TEST_P(Reduction, FoldsAnyAxes) {
  const ReductionCase& test = GetParam();
  Tensor x = random_float32s({dims.begin(), dims.end()});
  for (const std::set<size_t>& axes : {std::set<size_t>{0}, {3}, {1, 2}, {0, 3}, {0, 1, 2, 3}}) {
    Tensor y = OneNode(test.name, 11)
                   .input(x)
                   .attribute("axes", std::vector<int64_t>(axes.begin(), axes.end()))
                   .attribute("keepdims", int64_t{0})
                   .run();
    EXPECT_EQ(y.dims().size(), 4 - axes.size());
    expect_close(y, reduce(test, x, axes), 2e-6);
  }
}

TEST_P(Reduction, TakesItsAxesAsAnInput) {
  const ReductionCase& test = GetParam();
  Tensor x = random_float32s({dims.begin(), dims.end()}, 3);
  Tensor y = OneNode(test.name, 18).input(x).constant(int64s({2}, {-3, 3})).run();
  EXPECT_THAT(y.dims(), ElementsAre(2, 1, 5, 1));
  expect_close(y, reduce(test, x, {1, 3}), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Folds, Reduction, testing::ValuesIn(cases), [](const auto& info) { return info.param.name; });

TEST(Reductions, ReduceEverythingWithoutAxesUnlessToldNotTo) {
  Tensor x = float32s({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(OneNode("ReduceSum").input(x).run().dims(), ElementsAre(1, 1));
  EXPECT_THAT(numbers(OneNode("ReduceSum").input(x).constant(int64s({0}, {})).run()), ElementsAre(10));
  Tensor same =
      OneNode("ReduceSum").input(x).constant(int64s({0}, {})).attribute("noop_with_empty_axes", int64_t{1}).run();
  EXPECT_THAT(numbers(same), ElementsAre(1, 2, 3, 4));
}

TEST(Reductions, OfNothingGiveTheNeutralElement) {
  Tensor x = float32s({2, 0}, {});
  auto run = [&](const char* type) {
    return OneNode(type).input(x).constant(int64s({1}, {1})).attribute("keepdims", int64_t{0}).run();
  };
  expect_close(run("ReduceSum"), {0, 0});
  expect_close(run("ReduceProd"), {1, 1});
  expect_close(run("ReduceMax"), {-infinity, -infinity});
  expect_close(run("ReduceMin"), {infinity, infinity});
  expect_close(run("ReduceMean"), {nan, nan});
  expect_close(run("ReduceLogSumExp"), {-infinity, -infinity});
}

TEST(Reductions, SumHalfTypesInSinglePrecision) {
  // 4096 ones: a float16 accumulator stops at 2048.
  Tensor x = Tensor::of(DType::float16, {4096}, std::vector<uint16_t>(4096, 0x3c00));
  EXPECT_THAT(numbers(OneNode("ReduceSum").input(x).run()), ElementsAre(4096));
  // Squares of 300 pass float16's 65504; their root does not.
  Tensor large = Tensor::of(DType::float16, {4}, std::vector<uint16_t>(4, 0x5cb0));
  EXPECT_THAT(numbers(OneNode("ReduceL2").input(large).run()), ElementsAre(600));
}

TEST(Reductions, OfIntegers) {
  Tensor x = int32s({4}, {3, 4, -7, 1});
  EXPECT_THAT(numbers(OneNode("ReduceMean").input(x).run()), ElementsAre(0));
  EXPECT_THAT(numbers(OneNode("ReduceL2").input(int32s({2}, {3, 4})).run()), ElementsAre(5));
  EXPECT_THAT(numbers(OneNode("ReduceMax").input(x).run()), ElementsAre(4));
}

TEST(Reductions, OfBooleans) {
  Tensor x = booleans({2, 2}, {1, 0, 1, 1});
  EXPECT_THAT(numbers(OneNode("ReduceMax").input(x).constant(int64s({1}, {1})).run()), ElementsAre(1, 1));
  EXPECT_THAT(numbers(OneNode("ReduceMin").input(x).constant(int64s({1}, {1})).run()), ElementsAre(0, 1));
  EXPECT_THAT(OneNode("ReduceMax", 18).input(x).error(), HasSubstr("bool inputs are reduced since operator set 20"));
}

TEST(Reductions, LogSumExpDoesNotOverflow) {
  EXPECT_NEAR(numbers(OneNode("ReduceLogSumExp").input(float32s({2}, {1000, 1000})).run())[0], 1000 + std::log(2.0),
              1e-4);
  expect_close(OneNode("ReduceLogSumExp").input(float32s({2}, {-INFINITY, -INFINITY})).run(), {-infinity});
}

TEST(Reductions, MeanOverASymbolicDim) {
  Symbol n = Symbol::dim("N");
  Tensor y = OneNode("ReduceMean")
                 .input(float32s({3, 2}, {1, 2, 3, 4, 5, 9}), {Expr(n), 2})
                 .constant(int64s({1}, {0}))
                 .run({{n, 3}});
  EXPECT_THAT(numbers(y), ElementsAre(3, 5));
}

TEST(Reductions, RefuseAxesOutOfRangeOrTwice) {
  auto error = [](const std::vector<int64_t>& axes) {
    return OneNode("ReduceSum", 11).input(DType::float32, {2, 3}).attribute("axes", axes).error();
  };
  EXPECT_THAT(error({2}), HasSubstr("axis 2 is out of range for a tensor of rank 2"));
  EXPECT_THAT(error({1, -1}), HasSubstr("axis 1 is named twice"));
}

// ----------------------------------------------------------------------------------------------- ArgMax and ArgMin

TEST(Arguments, FindFirstAndLast) {
  Tensor x = float32s({2, 4}, {5, 1, 5, 1, 2, 7, 0, 7});
  auto run = [&](const char* type, int64_t last) {
    return OneNode(type)
        .input(x)
        .attribute("axis", int64_t{-1})
        .attribute("keepdims", int64_t{0})
        .attribute("select_last_index", last)
        .run()
        .as_int64();
  };
  EXPECT_THAT(run("ArgMax", 0), ElementsAre(0, 1));
  EXPECT_THAT(run("ArgMax", 1), ElementsAre(2, 3));
  EXPECT_THAT(run("ArgMin", 0), ElementsAre(1, 2));
  EXPECT_THAT(run("ArgMin", 1), ElementsAre(3, 2));
  EXPECT_THAT(OneNode("ArgMax").input(x).run().dims(), ElementsAre(1, 4));
  EXPECT_THAT(OneNode("ArgMax").input(DType::float32, {0, 2}).error(), HasSubstr("0 is less than 1"));
}

// ------------------------------------------------------------------------------------------- CumSum and CumProd

TEST(Running, SumsAlongAnAxis) {
  Tensor x = float32s({2, 3}, {1, 2, 3, 10, 20, 30});
  auto run = [&](int64_t axis, int64_t exclusive, int64_t reverse) {
    return numbers(OneNode("CumSum")
                       .input(x)
                       .constant(int64s({}, {axis}))
                       .attribute("exclusive", exclusive)
                       .attribute("reverse", reverse)
                       .run());
  };
  EXPECT_THAT(run(1, 0, 0), ElementsAre(1, 3, 6, 10, 30, 60));
  EXPECT_THAT(run(-2, 0, 0), ElementsAre(1, 2, 3, 11, 22, 33));
  EXPECT_THAT(run(1, 1, 0), ElementsAre(0, 1, 3, 0, 10, 30));
  EXPECT_THAT(run(1, 0, 1), ElementsAre(6, 5, 3, 60, 50, 30));
  EXPECT_THAT(run(1, 1, 1), ElementsAre(5, 3, 0, 50, 30, 0));
}

TEST(Running, SumsHalfTypesInSinglePrecision) {
  Tensor x = Tensor::of(DType::float16, {4096}, std::vector<uint16_t>(4096, 0x3c00));
  EXPECT_EQ(numbers(OneNode("CumSum").input(x).constant(int64s({}, {0})).run()).back(), 4096);
}

TEST(Running, MultipliesAlongAnAxis) {
  EXPECT_THAT(numbers(OneNode("CumProd", 26).input(float32s({4}, {2, 3, 4, 5})).constant(int64s({}, {0})).run()),
              ElementsAre(2, 6, 24, 120));
}

}  // namespace
}  // namespace onnxc
