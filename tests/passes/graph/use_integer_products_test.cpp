#include "passes/graph/use_integer_products.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/interpreter/interpreter.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

// The interpreter's result for the first output, from bytes at both ends of their range.
std::vector<float> results(const Graph& graph) {
  const Program program = lower(graph, {});
  const DType dtype = graph.inputs[0]->dtype;
  const std::vector<int64_t> dims = *constant_dims(*graph.inputs[0]->shape);
  Tensor input = Tensor::zeros(dtype, dims);
  for (int64_t i = 0; i < input.size(); ++i) input.mutable_bytes()[i] = static_cast<std::byte>(i * 89 % 256);
  const std::vector<Tensor> inputs{input};
  const Tensor result = interpret(program, {}, inputs).front();
  return {result.values<float>().begin(), result.values<float>().end()};
}

// The graph after the pass, whose results must be those before it but for roundings.
std::string replaced(const std::string& before) {
  return after(before, [](Graph& graph) {
    const std::vector<float> expected = results(graph);
    use_integer_products(graph);
    EXPECT_THAT(results(graph), Pointwise(FloatNear(1e-3F), expected));
  });
}

// So many numbers between these, as a model's text has them. With 64 and fewer, shape inference has computed the
// weights.
std::string numbers(int count, int least, int most) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", least + i * 37 % (most - least + 1));
  return text;
}

TEST(UseIntegerProducts, ScalesOfChannelsAndABiasFollowTheSumOfIntegers) {
  expect_text(replaced(fmt::format(R"((uint8[1, 3, 14] q) => (y)
      <float sx = {{0.5}}, uint8 zx = {{3}}, int8[3, 3, 8] w = {{{}}},
       float[3] sw = {{0.25, 1, 2}}, int8[3] zw = {{0, 0, 0}}, int32[3] b = {{4, -8, 12}}, float[3] sb = {{0.125, 0.5, 1}}> {{
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear<axis = 0>(w, sw, zw)
    bias = DequantizeLinear<axis = 0>(b, sb)
    sum = Conv<pads = [1, 0]>(x, weights, bias)
    y = Relu(sum)
  }})",
                                   numbers(72, -128, 127))),
              R"(input %q: uint8[1, 3, 14]
constant %zx: uint8[] = {3}
constant %w: int8[3, 3, 8]
constant %zw: int8[3] = {0, 0, 0}
constant %sum/scale: float32[3, 1] = {0.125, 0.5, 1}
constant %sum/bias: float32[3, 1] = {0.5, -4, 12}
%sum/ConvInteger: int32[1, 3, 8] = ConvInteger(%q, %w, %zx, %zw) {pads=[1, 0], auto_pad="NOTSET", group=1}
%sum/Cast: float32[1, 3, 8] = Cast(%sum/ConvInteger) {to=1}
%sum/Mul: float32[1, 3, 8] = Mul(%sum/Cast, %sum/scale)
%sum/Add: float32[1, 3, 8] = Add(%sum/Mul, %sum/bias)
%y: float32[1, 3, 8] = Relu(%sum/Add)
output %y
)");
}

TEST(UseIntegerProducts, SignedInputsUnsignedWeightsAroundTheirMiddleAndABiasOfNumbers) {
  const std::string text = replaced(fmt::format(R"((int8[1, 3, 9, 10] q) => (y)
      <float sx = {{0.5}}, int8 zx = {{-7}}, uint8[1, 3, 4, 6] w = {{{}}}, float sw = {{0.25}}, uint8 zw = {{128}},
       float[1] bias = {{1.5}}> {{
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear(w, sw, zw)
    sum = Conv(x, weights, bias)
    y = Relu(sum)
  }})",
                                                numbers(72, 0, 255)));
  EXPECT_THAT(text, HasSubstr("= ConvInteger(%q, %w, %zx, %zw)"));
  EXPECT_THAT(text, HasSubstr("bias: float32[1, 1, 1] = {1.5}"));
}

TEST(UseIntegerProducts, AMatMulHasAScaleAColumn) {
  expect_text(replaced(fmt::format(R"((uint8[2, 5] q) => (y)
      <float sx = {{0.5}}, uint8 zx = {{3}}, int8[5, 14] w = {{{}}}, float[14] sw = {{{}}}, int8[14] zw = {{{}}}> {{
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear<axis = 1>(w, sw, zw)
    sum = MatMul(x, weights)
    y = Relu(sum)
  }})",
                                   numbers(70, -128, 127), numbers(14, 1, 14), numbers(14, 0, 0))),
              R"(input %q: uint8[2, 5]
constant %zx: uint8[] = {3}
constant %w: int8[5, 14]
constant %zw: int8[14] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
constant %sum/scale: float32[14] = {0.5, 5, 2.5, 7, 4.5, 2, 6.5, 4, 1.5, 6, 3.5, 1, 5.5, 3}
%sum/MatMulInteger: int32[2, 14] = MatMulInteger(%q, %w, %zx, %zw)
%sum/Cast: float32[2, 14] = Cast(%sum/MatMulInteger) {to=1}
%sum/Mul: float32[2, 14] = Mul(%sum/Cast, %sum/scale)
%y: float32[2, 14] = Relu(%sum/Mul)
output %y
)");
}

// PyTorch's Linear: the weights are transposed, and their scales those of rows.
TEST(UseIntegerProducts, AGemmTransposesItsWeightsAndAddsABiasOfIntegers) {
  const std::string text = replaced(fmt::format(R"((int8[3, 10] q) => (y)
      <float sx = {{0.5}}, int8 zx = {{-7}}, uint8[7, 10] w = {{{}}}, float[7] sw = {{1, 2, 3, 4, 5, 6, 7}},
       uint8[7] zw = {{128, 128, 128, 128, 128, 128, 128}}, int32[7] b = {{1, 2, 3, 4, 5, 6, 7}}, float[7] sb = {{1, 1, 1, 1, 1, 1, 2}}> {{
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear<axis = 0>(w, sw, zw)
    bias = DequantizeLinear<axis = 0>(b, sb)
    sum = Gemm<transB = 1>(x, weights, bias)
    y = Relu(sum)
  }})",
                                                numbers(70, 0, 255)));
  EXPECT_THAT(text, HasSubstr("constant %w/transposed: uint8[10, 7]"));
  EXPECT_THAT(text, HasSubstr("%sum/MatMulInteger: int32[3, 7] = MatMulInteger(%q, %w/transposed, %zx, %zw)"));
  EXPECT_THAT(text, HasSubstr("constant %sum/bias: float32[7] = {1, 2, 3, 4, 5, 6, 14}"));
}

// A QuantizeLinear that gives the maxima again as they were is left out; another scale, and whoever wants numbers, gets
// them.
TEST(UseIntegerProducts, MaximaAreOfTheIntegers) {
  expect_text(replaced(R"((uint8[1, 2, 6] q) => (y, other, numbers)
      <float sx = {0.5}, uint8 zx = {3}, float coarse = {1}> {
    x = DequantizeLinear(q, sx, zx)
    most = MaxPool<kernel_shape = [2], strides = [2]>(x)
    again = QuantizeLinear(most, sx, zx)
    y = DequantizeLinear(again, sx, zx)
    coarser = QuantizeLinear(most, coarse, zx)
    other = DequantizeLinear(coarser, coarse, zx)
    numbers = Relu(most)
  })"),
              R"(input %q: uint8[1, 2, 6]
constant %sx: float32[] = {0.5}
constant %zx: uint8[] = {3}
constant %coarse: float32[] = {1}
%most/MaxPool: uint8[1, 2, 3] = MaxPool(%q) {kernel_shape=[2], strides=[2], auto_pad="NOTSET", ceil_mode=0, storage_order=0}
%most/DequantizeLinear: float32[1, 2, 3] = DequantizeLinear(%most/MaxPool, %sx, %zx)
%y: float32[1, 2, 3] = DequantizeLinear(%most/MaxPool, %sx, %zx) {axis=1, block_size=0}
%coarser: uint8[1, 2, 3] = QuantizeLinear(%most/DequantizeLinear, %coarse, %zx) {axis=1, block_size=0, output_dtype=0, saturate=1}
%other: float32[1, 2, 3] = DequantizeLinear(%coarser, %coarse, %zx) {axis=1, block_size=0}
%numbers: float32[1, 2, 3] = Relu(%most/DequantizeLinear)
output %y
output %other
output %numbers
)");
}

// In a square product a column of addends has as many elements as a row.
TEST(UseIntegerProducts, AColumnOfAddendsIsNoBias) {
  const auto gemm = [](const std::string& dims) {
    return "(uint8[9, 9] q) => (y) <float sx = {0.5}, int8[9, 9] w = {" + numbers(81, -9, 9) +
           "}, float sw = {0.5}, float" + dims + R"( c = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
    x = DequantizeLinear(q, sx)
    weights = DequantizeLinear(w, sw)
    sum = Gemm(x, weights, c)
    y = Relu(sum)
  })";
  };
  EXPECT_THAT(replaced(gemm("[9]")), HasSubstr("MatMulInteger"));
  EXPECT_THAT(replaced(gemm("[1, 9]")), HasSubstr("MatMulInteger"));
  EXPECT_THAT(replaced(gemm("[9, 1]")), Not(HasSubstr("MatMulInteger")));
}

TEST(UseIntegerProducts, AProductWithFactorsOrWithTransposedActivationsStaysOneOfNumbers) {
  const auto gemm = [](const std::string& shape, const std::string& options) {
    return "(uint8[" + shape + R"(] q) => (y) <float sx = {0.5}, int8[10, 7] w = {)" + numbers(70, -9, 9) +
           R"(}, float sw = {0.5}> {
    x = DequantizeLinear(q, sx)
    weights = DequantizeLinear(w, sw)
    sum = Gemm)" +
           options + R"((x, weights)
    y = Relu(sum)
  })";
  };
  EXPECT_THAT(replaced(gemm("3, 10", "")), HasSubstr("MatMulInteger"));
  EXPECT_THAT(replaced(gemm("3, 10", "<alpha = 0.5>")), Not(HasSubstr("MatMulInteger")));
  EXPECT_THAT(replaced(gemm("10, 3", "<transA = 1>")), Not(HasSubstr("MatMulInteger")));
}

// The idiom of dynamic quantisation: padding and groups count, and so does the weights' own zero point.
TEST(UseIntegerProducts, AZeroPointOfTheRunIsSeparated) {
  const auto convolution = [](const std::string& inputs, const std::string& zeros) {
    return "(uint8[2, 4, 6, 7] x) => (y) <int8[6, 2, 3, 3] w = {" + numbers(108, -90, 90) + "}, " + zeros +
           "> { z = ReduceMax <keepdims = 0> (x) sum = ConvInteger <group = 2, pads = [1, 0, 1, 2], strides = [1, 2]> "
           "(" +
           inputs + ") y = Cast <to = 1> (sum) }";
  };
  for (const char* zeros : {"int8 zw = {3}", "int8[6] zw = {3, -2, 0, 1, 5, 9}"}) {
    const std::string separated = replaced(convolution("x, w, z, zw", zeros));
    EXPECT_THAT(separated, HasSubstr("Sub"));
    EXPECT_THAT(separated, Not(HasSubstr("ConvInteger(%x, %w, %z")));
  }
  EXPECT_THAT(replaced(convolution("x, w, z", "int8 zw = {0}")), HasSubstr("Sub"));
  EXPECT_THAT(replaced(convolution("x, w, zw", "uint8 zw = {3}")), Not(HasSubstr("Sub")));
}

TEST(UseIntegerProducts, WhatIsNoInt8AndFewInputChannelsStayAConvolutionOfNumbers) {
  const auto convolution = [](int channels, const std::string& weights, const std::string& options) {
    return fmt::format(R"((uint8[1, {}, 40] q) => (y) <float sx = {{0.5}}, uint8 zx = {{3}}, {}> {{
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear(w, sw, zw)
    sum = Conv{}(x, weights)
    y = Relu(sum)
  }})",
                       channels, weights, options);
  };
  const std::string scale = "}, float sw = {0.5}, ";
  const std::string is_taken = "int8[2, 4, 10] w = {" + numbers(80, -9, 9) + scale + "int8 zw = {0}";
  EXPECT_THAT(replaced(convolution(4, is_taken, "")), HasSubstr("ConvInteger"));
  const std::string depthwise = "int8[4, 1, 20] w = {" + numbers(80, -9, 9) + scale + "int8 zw = {0}";
  EXPECT_THAT(replaced(convolution(4, depthwise, "<group = 4>")), HasSubstr("ConvInteger"));
  const std::string in_groups = "int8[2, 2, 20] w = {" + numbers(80, -9, 9) + scale + "int8 zw = {0}";
  EXPECT_THAT(replaced(convolution(4, in_groups, "<group = 2>")), HasSubstr("ConvInteger"));
  for (const auto& [channels, weights, options] :
       {std::tuple(4, "uint8[2, 4, 10] w = {" + numbers(80, 0, 255) + scale + "uint8 zw = {100}", ""),
        {4, "int8[2, 4, 10] w = {" + numbers(80, -9, 9) + scale + "int8 zw = {1}", ""},
        {2, "int8[2, 2, 20] w = {" + numbers(80, -9, 9) + scale + "int8 zw = {0}", ""}})
    EXPECT_THAT(replaced(convolution(channels, weights, options)), Not(HasSubstr("ConvInteger"))) << weights << options;
}

}  // namespace
}  // namespace onnxc
