#include "passes/graph/use_integer_convolutions.h"

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

// What the interpreter makes of the first output, of bytes at both ends of their range.
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
    use_integer_convolutions(graph);
    EXPECT_THAT(results(graph), Pointwise(FloatNear(1e-3F), expected));
  });
}

// So many numbers between these, as a model's text has them. Of 64 and fewer, shape inference has computed the weights.
std::string numbers(int count, int least, int most) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", least + i * 37 % (most - least + 1));
  return text;
}

TEST(UseIntegerConvolutions, ScalesOfChannelsAndABiasFollowTheSumOfIntegers) {
  expect_text(replaced(fmt::format(R"((uint8[1, 2, 14] q) => (y)
      <float sx = {{0.5}}, uint8 zx = {{3}}, int8[3, 2, 11] w = {{{}}},
       float[3] sw = {{0.25, 1, 2}}, int8[3] zw = {{0, 0, 0}}, int32[3] b = {{4, -8, 12}}, float[3] sb = {{0.125, 0.5, 1}}> {{
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear<axis = 0>(w, sw, zw)
    bias = DequantizeLinear<axis = 0>(b, sb)
    sum = Conv<pads = [1, 0]>(x, weights, bias)
    y = Relu(sum)
  }})",
                                   numbers(66, -128, 127))),
              R"(input %q: uint8[1, 2, 14]
constant %zx: uint8[] = {3}
constant %w: int8[3, 2, 11]
constant %zw: int8[3] = {0, 0, 0}
constant %sum/scale: float32[3, 1] = {0.125, 0.5, 1}
constant %sum/bias: float32[3, 1] = {0.5, -4, 12}
%sum/ConvInteger: int32[1, 3, 5] = ConvInteger(%q, %w, %zx, %zw) {pads=[1, 0], auto_pad="NOTSET", group=1}
%sum/Cast: float32[1, 3, 5] = Cast(%sum/ConvInteger) {to=1}
%sum/Mul: float32[1, 3, 5] = Mul(%sum/Cast, %sum/scale)
%sum/Add: float32[1, 3, 5] = Add(%sum/Mul, %sum/bias)
%y: float32[1, 3, 5] = Relu(%sum/Add)
output %y
)");
}

TEST(UseIntegerConvolutions, SignedInputsUnsignedWeightsAroundTheirMiddleAndABiasOfNumbers) {
  const std::string text = replaced(fmt::format(R"((int8[1, 1, 9, 10] q) => (y)
      <float sx = {{0.5}}, int8 zx = {{-7}}, uint8[1, 1, 8, 9] w = {{{}}}, float sw = {{0.25}}, uint8 zw = {{128}},
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

TEST(UseIntegerConvolutions, WhatIsNoInt8StaysAConvolutionOfNumbers) {
  const auto convolution = [](const std::string& weights, const std::string& options) {
    return "(uint8[1, 2, 40] q) => (y) <float sx = {0.5}, uint8 zx = {3}, " + weights + R"(> {
    x = DequantizeLinear(q, sx, zx)
    weights = DequantizeLinear(w, sw, zw)
    sum = Conv)" +
           options +
           R"((x, weights)
    y = Relu(sum)
  })";
  };
  const std::string is_taken = "int8[2, 2, 20] w = {" + numbers(80, -9, 9) + "}, float sw = {0.5}, int8 zw = {0}";
  EXPECT_THAT(replaced(convolution(is_taken, "")), HasSubstr("ConvInteger"));
  for (const auto& [weights, options] :
       {std::pair("uint8[2, 2, 20] w = {" + numbers(80, 0, 255) + "}, float sw = {0.5}, uint8 zw = {100}", ""),
        {"int8[2, 2, 20] w = {" + numbers(80, -9, 9) + "}, float sw = {0.5}, int8 zw = {1}", ""},
        {"int8[2, 1, 40] w = {" + numbers(80, -9, 9) + "}, float sw = {0.5}, int8 zw = {0}", "<group = 2>"}})
    EXPECT_THAT(replaced(convolution(weights, options)), Not(HasSubstr("ConvInteger"))) << weights << options;
}

}  // namespace
}  // namespace onnxc
