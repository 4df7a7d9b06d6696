#include "ir/interpreter/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "ir/program_builder.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

TEST(Interpreter, ConvolutionWithPaddingAndDilation) {
  const int64_t channels = 3, height = 7, width = 5, kernel = 3, dilation = 2, pad = 2, outputs = 4;
  std::vector<float> x = small_integers(channels * height * width, 1);
  std::vector<float> w = small_integers(outputs * channels * kernel * kernel, 2);
  ProgramBuilder builder;
  Operand input = builder.input(DType::float32, {channels, height, width});
  Operand weights = builder.constant(Tensor::of(DType::float32, {outputs, channels, kernel, kernel}, w));
  Operand output = builder.output(DType::float32, {outputs, height, width});
  NestBuilder nest("conv");
  std::vector<Expr> o = nest.parallel(output.shape);
  std::vector<Expr> r = nest.reduce(Shape{channels, kernel, kernel});
  Expr y = o[1] + r[1] * dilation - pad, z = o[2] + r[2] * dilation - pad;
  Scalar inside = both(within(y, height), within(z, width));
  Scalar loaded = scalar::select(inside, input({r[0], y, z}), scalar::constant(DType::float32, 0));
  Scalar sum = nest.accumulate(ReduceKind::sum, loaded * weights({o[0], r[0], r[1], r[2]}));
  nest.store(output, o, sum);
  builder.add(std::move(nest));

  std::vector<float> expected;
  for (int64_t m = 0; m < outputs; ++m)
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        double total = 0;
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t k = 0; k < kernel; ++k)
            for (int64_t l = 0; l < kernel; ++l) {
              const int64_t row = i + k * dilation - pad, column = j + l * dilation - pad;
              if (row < 0 || row >= height || column < 0 || column >= width) continue;
              total += x[static_cast<size_t>((c * height + row) * width + column)] *
                       w[static_cast<size_t>(((m * channels + c) * kernel + k) * kernel + l)];
            }
        expected.push_back(static_cast<float>(total));
      }
  EXPECT_EQ(values<float>(builder.run({Tensor::of(DType::float32, {channels, height, width}, x)})[0]), expected);
}

TEST(Interpreter, SoftmaxOverSymbolicDims) {
  Symbol n = Symbol::dim("N"), d = Symbol::dim("D");
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {n, d}), y = builder.output(DType::float32, {n, d});
  Operand maximum = builder.temporary(DType::float32, {n}), sum = builder.temporary(DType::float32, {n});
  NestBuilder first("softmax_max");
  Expr i = first.parallel(n), k = first.reduce(d);
  first.store(maximum, {i}, first.accumulate(ReduceKind::maximum, x({i, k})));
  builder.add(std::move(first));
  auto exponential = [&](Expr row, Expr column) {
    return scalar::unary(ScalarOp::exponential, x({row, column}) - maximum({row}));
  };
  NestBuilder second("softmax_sum");
  i = second.parallel(n), k = second.reduce(d);
  second.store(sum, {i}, second.accumulate(ReduceKind::sum, exponential(i, k)));
  builder.add(std::move(second));
  builder.elementwise("softmax", y, [&](const std::vector<Expr>& o) { return exponential(o[0], o[1]) / sum({o[0]}); });

  std::vector<float> data = {0.5f, -1.25f, 3.0f, 100.0f, 99.0f, 98.5f};
  std::vector<float> result =
      values<float>(builder.run({Tensor::of(DType::float32, {2, 3}, data)}, {{n, 2}, {d, 3}})[0]);
  for (size_t row = 0; row < 2; ++row) {
    double largest = std::max({data[3 * row], data[3 * row + 1], data[3 * row + 2]}), total = 0;
    for (size_t j = 0; j < 3; ++j) total += std::exp(data[3 * row + j] - largest);
    for (size_t j = 0; j < 3; ++j)
      EXPECT_NEAR(result[3 * row + j], std::exp(data[3 * row + j] - largest) / total, 1e-7);
  }
}

int64_t argument(ReduceKind kind, const std::vector<float>& data) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {static_cast<int64_t>(data.size())});
  Operand y = builder.output(DType::int64, {});
  NestBuilder nest("argument");
  Expr k = nest.reduce(x.shape[0]);
  nest.store(y, {}, nest.accumulate(kind, x({k}), k));
  builder.add(std::move(nest));
  Tensor input = Tensor::of(DType::float32, {static_cast<int64_t>(data.size())}, data);
  return values<int64_t>(builder.run({input})[0])[0];
}

TEST(Interpreter, ArgumentReductionsOnTies) {
  EXPECT_EQ(argument(ReduceKind::argument_maximum, {1, 4, 2, 4, 0}), 1);
  EXPECT_EQ(argument(ReduceKind::last_argument_maximum, {1, 4, 2, 4, 0}), 3);
  EXPECT_EQ(argument(ReduceKind::argument_minimum, {5, -2, 2, -2, 0}), 1);
  EXPECT_EQ(argument(ReduceKind::last_argument_minimum, {5, -2, 2, -2, 0}), 3);
}

TEST(Interpreter, ArgumentReductionsTakeNanForTheExtreme) {
  EXPECT_EQ(argument(ReduceKind::argument_maximum, {1, nan_value, 9, nan_value, 0}), 1);
  EXPECT_EQ(argument(ReduceKind::argument_minimum, {nan_value, 1, nan_value}), 0);
  EXPECT_EQ(argument(ReduceKind::last_argument_maximum, {nan_value, 1, nan_value, 8}), 2);
}

float fold(ReduceKind kind, const std::vector<float>& data) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {static_cast<int64_t>(data.size())});
  Operand y = builder.output(DType::float32, {});
  NestBuilder nest("fold");
  Expr k = nest.reduce(x.shape[0]);
  nest.store(y, {}, nest.accumulate(kind, x({k})));
  builder.add(std::move(nest));
  return values<float>(builder.run({Tensor::of(DType::float32, {static_cast<int64_t>(data.size())}, data)})[0])[0];
}

TEST(Interpreter, ReductionsOverNothingGiveTheirIdentity) {
  EXPECT_EQ(fold(ReduceKind::sum, {}), 0);
  EXPECT_EQ(fold(ReduceKind::product, {}), 1);
  EXPECT_EQ(fold(ReduceKind::maximum, {}), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(fold(ReduceKind::minimum, {}), std::numeric_limits<float>::infinity());
}

TEST(Interpreter, MinimumAndMaximumHandOnNan) {
  EXPECT_TRUE(std::isnan(fold(ReduceKind::maximum, {1, nan_value, 3})));
  EXPECT_TRUE(std::isnan(fold(ReduceKind::minimum, {nan_value, 1, 3})));
  EXPECT_TRUE(std::isnan(fold(ReduceKind::minimum, {1, 3, nan_value})));
}

TEST(Interpreter, SumsInFloatInAscendingOrder) {
  EXPECT_EQ(fold(ReduceKind::sum, {16777216.0f, 1.0f, 1.0f}), 16777216.0f);
  EXPECT_EQ(fold(ReduceKind::sum, {1.0f, 1.0f, 16777216.0f}), 16777218.0f);
}

TEST(Interpreter, CumulativeSumOverAnOrderedAxis) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::int32, {2, 4}), y = builder.output(DType::int32, {2, 4});
  NestBuilder nest("cumulative_sum");
  Expr t = nest.ordered(4);  // named before the parallel axis: still runs inside it
  Expr i = nest.parallel(2);
  Scalar before = scalar::select(less(0, t), y({i, t - 1}), scalar::integer_constant(DType::int32, 0));
  nest.store(y, {i, t}, before + x({i, t}));
  builder.add(std::move(nest));
  Tensor input = Tensor::of<int32_t>(DType::int32, {2, 4}, {1, 2, 3, 4, 10, -20, 30, 40});
  EXPECT_THAT(values<int32_t>(builder.run({input})[0]), ElementsAre(1, 3, 6, 10, 10, -10, 20, 60));
}

TEST(Interpreter, ScatterAddsDuplicates) {
  ProgramBuilder builder;
  Operand index = builder.input(DType::int32, {5}), update = builder.input(DType::float32, {5});
  Operand y = builder.output(DType::float32, {3});
  builder.elementwise("zero", y, [](const auto&) { return scalar::constant(DType::float32, 0); });
  NestBuilder nest("scatter");
  Expr i = nest.ordered(5);
  Expr where = nest.let(index({i}));
  nest.store(y, {where}, update({i}), StoreKind::add, within(where, 3));
  builder.add(std::move(nest));
  std::vector<Tensor> inputs = {Tensor::of<int32_t>(DType::int32, {5}, {2, 0, 2, 7, -1}),
                                Tensor::of<float>(DType::float32, {5}, {1, 2, 4, 8, 16})};
  EXPECT_THAT(values<float>(builder.run(inputs)[0]), ElementsAre(2, 0, 5));
}

TEST(Interpreter, LetsMayUseReduceAxes) {
  ProgramBuilder builder;
  Operand index = builder.input(DType::int64, {3}), x = builder.input(DType::float32, {4});
  Operand y = builder.output(DType::float32, {});
  NestBuilder nest("gathered_sum");
  Expr k = nest.reduce(3);
  Expr where = nest.let(index({k}));
  nest.store(y, {}, nest.accumulate(ReduceKind::sum, x({max(min(where, 3), 0)})));
  builder.add(std::move(nest));
  std::vector<Tensor> inputs = {Tensor::of<int64_t>(DType::int64, {3}, {3, 0, 3}),
                                Tensor::of<float>(DType::float32, {4}, {1, 2, 4, 8})};
  EXPECT_THAT(values<float>(builder.run(inputs)[0]), ElementsAre(17));
}

template <class Half>
void expect_rounding_like(DType dtype) {
  std::vector<float> data = {0.1f, 1.0f / 3, 65504.0f, 65520.0f, 1e-7f, 3e38f, -2.0009766f, 1.00390625f, 5e-8f};
  ProgramBuilder builder;
  const auto count = static_cast<int64_t>(data.size());
  Operand x = builder.input(DType::float32, {count}), y = builder.output(dtype, {count});
  Operand z = builder.output(DType::float32, {count});
  builder.elementwise("store", y, [&](const auto& i) { return x(i); });
  builder.elementwise("compute", z, [&](const auto& i) { return y.compute(i) * y.compute(i); });
  std::vector<Tensor> results = builder.run({Tensor::of(DType::float32, {count}, data)});
  std::vector<Half> stored = values<Half>(results[0]);
  std::vector<float> squared = values<float>(results[1]);
  for (size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(static_cast<float>(stored[i]), static_cast<float>(Half(data[i]))) << data[i];
    EXPECT_EQ(squared[i], static_cast<float>(stored[i]) * static_cast<float>(stored[i])) << data[i];
  }
}

TEST(Interpreter, Float16RoundsWhenStored) { expect_rounding_like<Eigen::half>(DType::float16); }
TEST(Interpreter, BFloat16RoundsWhenStored) { expect_rounding_like<Eigen::bfloat16>(DType::bfloat16); }

TEST(Interpreter, BlockedLayoutHoldsOddChannels) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {2, 5, 3});
  Operand blocked = builder.temporary(DType::float32, {2, 5, 3}, Layout::channel_blocked(3, 4));
  Operand y = builder.output(DType::float32, {2, 3, 5});
  builder.elementwise("pack", blocked, [&](const auto& i) { return x(i); });
  builder.elementwise("transpose", y, [&](const std::vector<Expr>& i) { return blocked({i[0], i[2], i[1]}); });
  std::vector<float> data = small_integers(30, 3), expected;
  for (size_t n = 0; n < 2; ++n)
    for (size_t d = 0; d < 3; ++d)
      for (size_t c = 0; c < 5; ++c) expected.push_back(data[(n * 5 + c) * 3 + d]);
  EXPECT_EQ(values<float>(builder.run({Tensor::of(DType::float32, {2, 5, 3}, data)})[0]), expected);
}

TEST(Interpreter, ConstantsArePackedIntoTheirLayout) {
  std::vector<float> data = small_integers(3 * 7 * 2, 4);
  ProgramBuilder builder;
  Operand constant = builder.constant(Tensor::of(DType::float32, {3, 7, 2}, data));
  builder.program.buffer(constant.buffer).layout = Layout::channel_blocked(3, 4);
  Operand y = builder.output(DType::float32, {3, 7, 2});
  builder.elementwise("copy", y, [&](const auto& i) { return constant(i); });
  EXPECT_EQ(values<float>(builder.run({})[0]), data);
}

TEST(Interpreter, ConcatenationThroughViewsOfABlockedParent) {
  ProgramBuilder builder;
  Operand a = builder.input(DType::float32, {1, 3, 2}), b = builder.input(DType::float32, {1, 6, 2});
  Operand whole = builder.temporary(DType::float32, {1, 9, 2}, Layout::channel_blocked(3, 4));
  Operand first = builder.view(whole, {1, 3, 2}, {0, 0, 0}), second = builder.view(whole, {1, 6, 2}, {0, 3, 0});
  Operand y = builder.output(DType::float32, {1, 9, 2});
  builder.elementwise("first", first, [&](const auto& i) { return a(i); });
  builder.elementwise("second", second, [&](const auto& i) { return b(i); });
  builder.elementwise("copy", y, [&](const auto& i) { return whole(i); });
  std::vector<float> left = small_integers(6, 5), right = small_integers(12, 6), expected = left;
  expected.insert(expected.end(), right.begin(), right.end());
  EXPECT_EQ(values<float>(builder.run(
                {Tensor::of(DType::float32, {1, 3, 2}, left), Tensor::of(DType::float32, {1, 6, 2}, right)})[0]),
            expected);
}

TEST(Interpreter, AliasesSeeTheSameMemoryUnderAnotherShape) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {2, 6});
  Operand folded = builder.alias(x, {3, 4});
  Operand y = builder.output(DType::float32, {4, 3});
  builder.elementwise("transpose", y, [&](const std::vector<Expr>& i) { return folded({i[1], i[0]}); });
  std::vector<float> data = small_integers(12, 7), expected;
  for (size_t column = 0; column < 4; ++column)
    for (size_t row = 0; row < 3; ++row) expected.push_back(data[row * 4 + column]);
  EXPECT_EQ(values<float>(builder.run({Tensor::of(DType::float32, {2, 6}, data)})[0]), expected);
}

TEST(Interpreter, AliasOfAViewThatIsNotContiguous) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {3, 4});
  Operand inner = builder.view(x, {2, 2}, {1, 1});
  Operand flat = builder.alias(inner, {4});
  Operand y = builder.output(DType::float32, {4});
  builder.elementwise("copy", y, [&](const auto& i) { return flat(i); });
  std::vector<float> data = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  EXPECT_THAT(values<float>(builder.run({Tensor::of(DType::float32, {3, 4}, data)})[0]), ElementsAre(11, 12, 21, 22));
}

TEST(Interpreter, AliasOfAContiguousView) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {3, 4});
  Operand rows = builder.view(x, {1, 4}, {2, 0});
  Operand square = builder.alias(rows, {2, 2});
  Operand y = builder.output(DType::float32, {2, 2});
  builder.elementwise("copy", y, [&](const auto& i) { return square(i); });
  std::vector<float> data = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  EXPECT_THAT(values<float>(builder.run({Tensor::of(DType::float32, {3, 4}, data)})[0]), ElementsAre(20, 21, 22, 23));
  Symbol i = Symbol::dim("i"), j = Symbol::dim("j");
  EXPECT_EQ(builder.program.offset(square.buffer, {i, j}).to_string(), "2*i + j + 8");
}

TEST(Interpreter, LoadsOutOfBoundsAreErrors) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {4}), y = builder.output(DType::float32, {4});
  builder.elementwise("shift", y, [&](const std::vector<Expr>& i) { return x({i[0] + 1}); });
  EXPECT_THAT([&] { interpret(builder.program, {}, std::array{Tensor::zeros(DType::float32, {4})}); },
              ThrowsMessage<InternalError>(HasSubstr("nest shift: b0 'v0': index 4 of axis 0 is outside [0, 4)")));
}

TEST(Interpreter, StoresOutOfTheLogicalShapeAreErrorsThoughThePaddingIsMemory) {
  ProgramBuilder builder;
  Operand x = builder.input(DType::float32, {1, 4});
  Operand y = builder.temporary(DType::float32, {1, 3}, Layout::channel_blocked(2, 4));
  Operand z = builder.output(DType::float32, {1, 3});
  NestBuilder nest("pack");
  Expr i = nest.parallel(4);
  nest.store(y, {0, i}, x({0, i}));
  builder.add(std::move(nest));
  builder.elementwise("copy", z, [&](const auto& o) { return y(o); });
  EXPECT_THAT([&] { interpret(builder.program, {}, std::array{Tensor::zeros(DType::float32, {1, 4})}); },
              ThrowsMessage<InternalError>(HasSubstr("nest pack: b1 'v1': index 3 of axis 1 is outside [0, 3)")));
}

TEST(Interpreter, UnwrittenMemoryIsNan) {
  ProgramBuilder builder;
  Operand y = builder.output(DType::float32, {2}), z = builder.output(DType::int32, {2});
  NestBuilder nest("half");
  nest.parallel(1);
  nest.store(y, {1}, scalar::constant(DType::float32, 3));
  nest.store(z, {1}, scalar::integer_constant(DType::int32, 3));
  builder.add(std::move(nest));
  std::vector<Tensor> results = builder.run({});
  EXPECT_TRUE(std::isnan(values<float>(results[0])[0]));
  EXPECT_EQ(values<float>(results[0])[1], 3);
  EXPECT_EQ(values<int32_t>(results[1])[0], static_cast<int32_t>(0xcbcbcbcb));
}

TEST(Interpreter, SharedNodesOfBranchesAreEvaluatedOnce) {
  // A chain of selects that share their operands: 2^60 evaluations if each branch were evaluated on its own.
  ProgramBuilder builder;
  Operand x = builder.input(DType::int32, {1}), y = builder.output(DType::int32, {1});
  builder.elementwise("chain", y, [&](const auto& i) {
    Scalar value = x(i), one = scalar::integer_constant(DType::int32, 1);
    for (int step = 0; step < 60; ++step) {
      Scalar is_odd = scalar::binary(ScalarOp::equal, scalar::binary(ScalarOp::bitwise_and, value, one), one);
      value = scalar::select(is_odd, value + one, value + value + one);
    }
    return value;
  });
  int32_t expected = 1;
  for (int step = 0; step < 60; ++step)
    expected = (expected & 1) ? static_cast<int32_t>(static_cast<uint32_t>(expected) + 1u)
                              : static_cast<int32_t>(2u * static_cast<uint32_t>(expected) + 1u);
  EXPECT_THAT(values<int32_t>(builder.run({Tensor::of<int32_t>(DType::int32, {1}, {1})})[0]), ElementsAre(expected));
}

}  // namespace
}  // namespace onnxc
