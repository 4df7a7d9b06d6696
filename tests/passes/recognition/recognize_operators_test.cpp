#include "passes/recognition/recognize_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "ir/interpreter/interpreter.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

// The interpreter's result for the first output.
std::vector<float> results(const Graph& graph) {
  const Program program = lower(graph, {});
  const std::vector<int64_t> dims = *constant_dims(*graph.inputs[0]->shape);
  std::vector<float> values(static_cast<size_t>(checked_product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17) - 3;
  const std::vector<Tensor> inputs{Tensor::of(DType::float32, dims, values)};
  const Tensor result = interpret(program, {}, inputs).front();
  return {result.values<float>().begin(), result.values<float>().end()};
}

// The graph after the pass, whose results must be those before it.
std::string recognized(const std::string& before) {
  return after(before, [](Graph& graph) {
    const std::vector<float> expected = results(graph);
    recognize_operators(graph);
    EXPECT_THAT(results(graph), Pointwise(FloatNear(1e-5F), expected));
  });
}

TEST(RecognizeOperators, AnInstanceNormalizationBetweenReshapesIsOneOfGroups) {
  expect_text(recognized(R"((float[2, 6, 3, 5] x) => (y)
      <int64[3] groups = {0, 3, -1}, int64[4] channels = {2, 6, 3, 5},
       float[3] scale = {1, 2, 3}, float[3] bias = {4, 5, 6}, float[6, 1, 1] w = {1, 2, 3, 4, 5, 6}> {
    grouped = Reshape(x, groups)
    normalized = InstanceNormalization(grouped, scale, bias)
    back = Reshape(normalized, channels)
    y = Mul(back, w)
  })"),
              R"(input %x: float32[2, 6, 3, 5]
constant %w: float32[6, 1, 1] = {1, 2, 3, 4, 5, 6}
constant %scale/repeated: float32[6] = {1, 1, 2, 2, 3, 3}
constant %bias/repeated: float32[6] = {4, 4, 5, 5, 6, 6}
%back: float32[2, 6, 3, 5] = GroupNormalization(%x, %scale/repeated, %bias/repeated) {num_groups=3, epsilon=1.e-05}
%y: float32[2, 6, 3, 5] = Mul(%back, %w)
output %y
)");
}

TEST(RecognizeOperators, AnEinsumOfScoresIsAMatMulOfTransposedKeys) {
  expect_text(recognized(R"((float[2, 3, 4, 5] x) => (y)
      { keys = Neg(x)
        y = Einsum<equation = "blxd,blyd->blxy">(x, keys) })"),
              R"(input %x: float32[2, 3, 4, 5]
%keys: float32[2, 3, 4, 5] = Neg(%x)
%keys/arranged: float32[2, 3, 5, 4] = Transpose(%keys) {perm=[0, 1, 3, 2]}
%y: float32[2, 3, 4, 4] = MatMul(%x, %keys/arranged)
output %y
)");
}

// Works for any order of axes; a product whose result stands otherwise is transposed.
TEST(RecognizeOperators, AnEinsumThatIsAMatrixProduct) {
  for (const char* equation :
       {"abcd,abce->abde", "abcd,abec->aebd", "bacd,baed->bace", "abcd,abed->abec", "...cd,...ed->...ec"})
    EXPECT_THAT(recognized(std::string("(float[2, 3, 4, 4] x) => (y) { z = Neg(x)\n y = Einsum<equation = \"") +
                           equation + "\">(x, z) }"),
                testing::AllOf(HasSubstr("MatMul"), testing::Not(HasSubstr("Einsum"))))
        << equation;
}

TEST(RecognizeOperators, AnEinsumThatIsNoneStays) {
  for (const char* equation :
       {"abcd,abcd->abcd", "abcd,abcd->abc", "abcc,abdc->abd", "abcd,abef->abcf", "abcd,abcd->ab"})
    EXPECT_THAT(recognized(std::string("(float[2, 3, 4, 4] x) => (y) { z = Neg(x)\n y = Einsum<equation = \"") +
                           equation + "\">(x, z) }"),
                testing::Not(HasSubstr("MatMul")))
        << equation;
}

TEST(RecognizeOperators, AMeanOverSpaceIsAGlobalPool) {
  expect_text(recognized("(float[2, 6, 3, 5] x) => (y) <int64[2] axes = {-1, 2}> { y = ReduceMean(x, axes) }"),
              R"(input %x: float32[2, 6, 3, 5]
%y: float32[2, 6, 1, 1] = GlobalAveragePool(%x)
output %y
)");
}

TEST(RecognizeOperators, AMaskAddedToAViewIsAddedToTheScores) {
  expect_text(recognized(R"((float[6, 2, 1, 4] x) => (y)
      <int64[5] view = {1, 6, 2, 1, 4}, int64[4] back = {6, 2, 1, 4}, float[6, 1, 1, 4] mask> {
    viewed = Reshape(x, view)
    masked = Add(mask, viewed)
    y = Reshape(masked, back)
  })"),
              R"(input %x: float32[6, 2, 1, 4]
constant %mask: float32[6, 1, 1, 4]
constant %mask/dims: int64[4] = {6, 1, 1, 4}
%mask/reshaped: float32[6, 1, 1, 4] = Reshape(%mask, %mask/dims)
%y: float32[6, 2, 1, 4] = Add(%mask/reshaped, %x)
output %y
)");
}

// As PyTorch's exporters write it; the half may stand at x, and each factor on either side.
TEST(RecognizeOperators, AnErrorFunctionWithItsFactorsIsGelu) {
  const std::string after = R"(input %x: float32[2, 3, 5]
%y: float32[2, 3, 5] = Gelu(%x)
output %y
)";
  EXPECT_EQ(recognized(R"((float[2, 3, 5] x) => (y)
      <float root = {1.41421354}, float one = {1}, float half = {0.5}> {
    scaled = Div(x, root)
    e = Erf(scaled)
    sum = Add(e, one)
    product = Mul(x, sum)
    y = Mul(product, half)
  })"),
            after);
  EXPECT_EQ(recognized(R"((float[2, 3, 5] x) => (y)
      <float[1] root = {0.707106769}, float[1] one = {1}, float half = {0.5}> {
    scaled = Mul(root, x)
    e = Erf(scaled)
    sum = Add(one, e)
    halved = Mul(half, x)
    y = Mul(sum, halved)
  })"),
            after);
}

struct Case {
  const char* name;
  const char* before;
};

class RecognizeOperatorsKeeps : public testing::TestWithParam<Case> {};

TEST_P(RecognizeOperatorsKeeps, TheGraph) {
  EXPECT_EQ(recognized(GetParam().before), to_string(*read_shaped_graph(GetParam().before)));
}

const Case kept[] = {
    {"ReshapesThatDoNotGroupChannels", R"((float[2, 6, 3, 5] x) => (y)
        <int64[3] groups = {1, 12, -1}, int64[4] channels = {2, 6, 3, 5}, float[12] scale, float[12] bias> {
      grouped = Reshape(x, groups)
      normalized = InstanceNormalization(grouped, scale, bias)
      y = Reshape(normalized, channels)
    })"},
    {"AGroupedTensorThatIsUsedElsewhere", R"((float[2, 6, 3, 5] x) => (y, normalized)
        <int64[3] groups = {0, 3, -1}, int64[4] channels = {2, 6, 3, 5},
         float[3] scale = {1, 2, 3}, float[3] bias = {4, 5, 6}> {
      grouped = Reshape(x, groups)
      normalized = InstanceNormalization(grouped, scale, bias)
      y = Reshape(normalized, channels)
    })"},
    {"AMeanOverOtherAxes", R"((float[2, 6, 3, 5] x) => (y) <int64[1] last = {3}, int64[2] others = {1, 2}> {
      part = ReduceMean(x, last)
      y = ReduceMean <keepdims = 0> (part, others)
    })"},
    {"AnAddOfAViewWithOtherAxes", R"((float[6, 2, 4] x) => (y)
        <int64[4] view = {3, 2, 2, 4}, int64[3] back = {6, 2, 4}, float[2, 1, 4] mask> {
      viewed = Reshape(x, view)
      masked = Add(viewed, mask)
      y = Reshape(masked, back)
    })"},
    {"AnAddThatBroadcastsTheView", R"((float[2, 4] x) => (y)
        <int64[3] view = {2, 1, 4}, int64[2] back = {2, 4}, float[2, 1, 1] mask, int64[1] axes = {1}> {
      viewed = Reshape(x, view)
      masked = Add(viewed, mask)
      y = ReduceSum <keepdims = 0> (masked, axes)
    })"},
    {"AnErrorFunctionOfAnotherScale", R"((float[2, 3] x) => (y)
        <float root = {1.4142}, float one = {1}, float half = {0.5}> {
      scaled = Div(x, root)
      e = Erf(scaled)
      sum = Add(e, one)
      product = Mul(x, sum)
      y = Mul(product, half)
    })"},
    {"ARootOverAValue", R"((float[2, 3] x) => (y) <float root = {1.41421354}, float one = {1}, float half = {0.5}> {
      scaled = Div(root, x)
      e = Erf(scaled)
      sum = Add(e, one)
      product = Mul(x, sum)
      y = Mul(product, half)
    })"},
    {"AnErrorFunctionThatIsUsedElsewhere", R"((float[2, 3] x) => (y, e)
        <float root = {1.41421354}, float one = {1}, float half = {0.5}> {
      scaled = Div(x, root)
      e = Erf(scaled)
      sum = Add(e, one)
      product = Mul(x, sum)
      y = Mul(product, half)
    })"},
    {"AnErrorFunctionTimesAnotherValue", R"((float[2, 3] x) => (y)
        <float root = {1.41421354}, float one = {1}, float half = {0.5}> {
      scaled = Div(x, root)
      e = Erf(scaled)
      sum = Add(e, one)
      z = Neg(x)
      product = Mul(z, sum)
      y = Mul(product, half)
    })"},
    {"AGeluOfMoreAxes", R"((float[2, 3] x) => (y)
        <float[1, 1, 1] root = {1.41421354}, float one = {1}, float half = {0.5}> {
      scaled = Div(x, root)
      e = Erf(scaled)
      sum = Add(e, one)
      product = Mul(x, sum)
      y = Mul(product, half)
    })"},
    {"AMeanThatDropsItsAxes",
     "(float[2, 6, 3, 5] x) => (y) <int64[2] axes = {2, 3}> { y = ReduceMean <keepdims = 0> (x, axes) }"},
};

INSTANTIATE_TEST_SUITE_P(Graphs, RecognizeOperatorsKeeps, testing::ValuesIn(kept),
                         [](const auto& test) { return std::string(test.param.name); });

// Nearest-exact upsampling of the last two axes as PyTorch's exporter writes it, by 2 and by a factor.
std::string upsampling(const std::string& dims, const std::string& factor, const std::string& scale = "w_scale") {
  return "(float" + dims + " x) => (y) <int64 factor = {" + factor + R"(},
      int64 two = {2}, float of_two = {2}, int64[1] last = {-1},
       float zero = {0}, float half = {0.5}, float one = {1}, float constant_scale = {0.25}> {
    n = Neg(x)
    h_list = Shape <start = 1, end = 2> (x)
    h = Squeeze(h_list)
    w_list = Shape <start = 2, end = 3> (x)
    w = Squeeze(w_list)
    h_float = Cast <to = 1> (h)
    h2_float = Mul(h_float, of_two)
    h_scale = Div(h_float, h2_float)
    h2 = Mul(h, two)
    h2_limit = Cast <to = 1> (h2)
    h_range = Range(zero, h2_limit, one)
    h_middle = Add(h_range, half)
    h_real = Mul(h_middle, h_scale)
    h_places = Cast <to = 7> (h_real)
    h_column = Unsqueeze(h_places, last)
    w_long = Mul(w, factor)
    w_limit = Cast <to = 1> (w_long)
    w_float = Cast <to = 1> (w)
    w_scale = Div(w_float, w_limit)
    w_range = Range(zero, w_limit, one)
    w_middle = Add(half, w_range)
    w_real = Mul()" +
         scale + R"(, w_middle)
    w_places = Cast <to = 7> (w_real)
    largest = Max(h_column, w_places)
    shape = Shape(largest)
    h_grid = Expand(h_column, shape)
    h_part = Unsqueeze(h_grid, last)
    w_grid = Expand(w_places, shape)
    w_part = Unsqueeze(w_grid, last)
    grid = Concat <axis = -1> (h_part, w_part)
    front = Transpose <perm = [1, 2, 0]> (n)
    gathered = GatherND(front, grid)
    back = Transpose <perm = [2, 0, 1]> (gathered)
    y = Abs(back)
  })";
}

// Free sizes grow by powers of two, since float32 does not hold each multiple of three. Known sizes grow by any factor.
TEST(RecognizeOperators, AGatherOfQuotientsIsAResize) {
  expect_text(after(upsampling("[C, H, W]", "4").c_str(), recognize_operators), R"(input %x: float32[C, H, W]
constant %gathered/scales: float32[3] = {1, 2, 4}
%n: float32[C, H, W] = Neg(%x)
%gathered/resized: float32[C, 2*H, 4*W] = Resize(%n, _, %gathered/scales) {mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"}
%y: float32[C, 2*H, 4*W] = Abs(%gathered/resized)
output %y
)");
  EXPECT_THAT(recognized(upsampling("[2, 3, 5]", "3")), HasSubstr("[2, 6, 15] = Resize(%n, _, %gathered/scales)"));
}

TEST(RecognizeOperators, AGatherOfConstantQuotientsIsAResize) {
  expect_text(recognized(R"((float[2, 2, 3] x) => (y, gathered)
      <int64[4, 3, 2] grid = {0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2}> {
    front = Transpose <perm = [1, 2, 0]> (x)
    gathered = GatherND(front, grid)
    back = Transpose <perm = [2, 0, 1]> (gathered)
    y = Abs(back)
  })"),
              R"(input %x: float32[2, 2, 3]
constant %gathered/scales: float32[3] = {1, 2, 1}
%gathered/resized: float32[2, 4, 3] = Resize(%x, _, %gathered/scales) {mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"}
%gathered: float32[4, 3, 2] = Transpose(%gathered/resized) {perm=[1, 2, 0]}
%y: float32[2, 4, 3] = Abs(%gathered/resized)
output %y
output %gathered
)");
}

// A scale that is not the quotient of the sizes, places in another order, sizes of no whole factor.
TEST(RecognizeOperators, OtherGathersStay) {
  EXPECT_THAT(recognized(upsampling("[2, 3, 5]", "3", "constant_scale")), HasSubstr("GatherND"));
  EXPECT_THAT(after(upsampling("[C, H, W]", "2", "constant_scale").c_str(), recognize_operators),
              HasSubstr("GatherND"));
  EXPECT_THAT(recognized(R"((float[2, 3] x) => (y) <int64[4, 1] places = {0, 0, 1, 0}> { y = GatherND(x, places) })"),
              HasSubstr("GatherND"));
  EXPECT_THAT(recognized(R"((float[2, 3] x) => (y) <int64[3, 1] places = {0, 0, 1}> { y = GatherND(x, places) })"),
              HasSubstr("GatherND"));
  EXPECT_THAT(recognized(R"((float[2, 3] x) => (y) <int64[4, 1] places = {0, 0, 1, 1}> { y = GatherND(x, places) })"),
              HasSubstr("Resize"));
}

}  // namespace
}  // namespace onnxc
