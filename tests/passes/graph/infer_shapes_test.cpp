#include "passes/graph/infer_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

std::string inferred(const std::string& before) {
  const std::unique_ptr<Graph> graph = read_graph(before);
  infer_shapes(*graph);
  verify(*graph);
  return to_string(*graph);
}

// How exporters write view(x.shape[0], -1, 2 * x.shape[2]).
TEST(InferShapes, FollowsShapeArithmeticIntoReshape) {
  expect_text(inferred(R"((float[N, 4, D] x) => (y)
      <int64 first = {0}, int64 last = {-1}, int64 two = {2}, int64[1] axes = {0}, int64[1] rest = {2}> {
    shape = Shape(x)
    n = Gather(shape, first)
    batch = Unsqueeze(n, axes)
    d = Gather(shape, last)
    doubled = Mul(d, two)
    depth = Unsqueeze(doubled, axes)
    target = Concat <axis = 0> (batch, rest, depth)
    y = Reshape(x, target)
  })"),
              R"(input %x: float32[N, 4, D]
constant %first: int64[] = {0}
constant %last: int64[] = {-1}
constant %two: int64[] = {2}
constant %axes: int64[1] = {0}
constant %rest: int64[1] = {2}
%shape: int64[3] = Shape(%x) {start=0}  # [N, 4, D]
%n: int64[] = Gather(%shape, %first) {axis=0}  # [N]
%batch: int64[1] = Unsqueeze(%n, %axes)  # [N]
%d: int64[] = Gather(%shape, %last) {axis=0}  # [D]
%doubled: int64[] = Mul(%d, %two)  # [2*D]
%depth: int64[1] = Unsqueeze(%doubled, %axes)  # [2*D]
%target: int64[3] = Concat(%batch, %rest, %depth) {axis=0}  # [N, 2, 2*D]
%y: float32[N, 2, 2*D] = Reshape(%x, %target) {allowzero=0}
output %y
)");
}

TEST(InferShapes, FollowsSlicesOfShapes) {
  expect_text(inferred(R"((float[N, 3, D, H] x) => (y)
      <int64[1] from = {2}, int64[1] to = {1000}, int64[1] one = {1}, float[1] zero = {0}> {
    shape = Shape(x)
    space = Slice(shape, from, to)
    target = Concat <axis = 0> (one, space)
    y = Expand(zero, target)
  })"),
              R"(input %x: float32[N, 3, D, H]
constant %from: int64[1] = {2}
constant %to: int64[1] = {1000}
constant %one: int64[1] = {1}
constant %zero: float32[1] = {0}
%shape: int64[4] = Shape(%x) {start=0}  # [N, 3, D, H]
%space: int64[2] = Slice(%shape, %from, %to)  # [D, H]
%target: int64[3] = Concat(%one, %space) {axis=0}  # [1, D, H]
%y: float32[1, D, H] = Expand(%zero, %target)
output %y
)");
}

// How the older exporter writes interpolate(x, scale_factor=(2, 0.5)) with dynamic sizes.
TEST(InferShapes, FollowsScaledSizesThroughFloats) {
  expect_text(inferred(R"((float[N, 3, D, H] x) => (y)
      <int64[1] from = {2}, int64[1] to = {4}, float[2] scales = {2, 0.5}> {
    shape = Shape(x)
    space = Slice(shape, from, to)
    real = Cast <to = 1> (space)
    scaled = Mul(real, scales)
    floor = Floor(scaled)
    size = Cast <to = 7> (floor)
    y = ConstantOfShape(size)
  })"),
              R"(input %x: float32[N, 3, D, H]
constant %from: int64[1] = {2}
constant %to: int64[1] = {4}
constant %scales: float32[2] = {2, 0.5}
%shape: int64[4] = Shape(%x) {start=0}  # [N, 3, D, H]
%space: int64[2] = Slice(%shape, %from, %to)  # [D, H]
%real: float32[2] = Cast(%space) {to=1, saturate=1}
%scaled: float32[2] = Mul(%real, %scales)
%floor: float32[2] = Floor(%scaled)
%size: int64[2] = Cast(%floor) {to=7, saturate=1}  # [2*D, H//2]
%y: float32[2*D, H//2] = ConstantOfShape(%size)
output %y
)");
}

// Expand's idiom: Where(Equal(target, -1), 1, target).
TEST(InferShapes, FollowsWhere) {
  expect_text(inferred(R"((float[N, 1] x) => (y) <int64[1] free = {-1}, int64[3] ones = {1, 1, 1}> {
    shape = Shape(x)
    target = Concat <axis = 0> (free, shape)
    is_free = Equal(target, free)
    chosen = Where(is_free, ones, target)
    y = Expand(x, chosen)
  })"),
              R"(input %x: float32[N, 1]
constant %free: int64[1] = {-1}
constant %ones: int64[3] = {1, 1, 1}
%shape: int64[2] = Shape(%x) {start=0}  # [N, 1]
%target: int64[3] = Concat(%free, %shape) {axis=0}  # [-1, N, 1]
%is_free: bool[3] = Equal(%target, %free)  # [1, 0, 0]
%chosen: int64[3] = Where(%is_free, %ones, %target)  # [1, N, 1]
%y: float32[1, N, 1] = Expand(%x, %chosen)
output %y
)");
}

std::vector<ShapeFaults::Fault> faults_of(Graph& graph) {
  try {
    infer_shapes(graph);
  } catch (const ShapeFaults& found) {
    return found.faults;
  }
  return {};
}

TEST(InferShapes, GoesOnBehindAFaultWithTheShapeThatTheFileDeclares) {
  onnx::ModelProto model = parse_graph(
      "(float[N, 4] x) => (z, u) <float[3, 5] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}, float[7] v = {1,2,3,4,5,6,7}>"
      "{ [first] y = MatMul(x, w)  [between] t = Relu(y)  [second] z = Add(t, v)  [other] u = Relu(x) }");
  onnx::ValueInfoProto& declared = *model.mutable_graph()->add_value_info();
  declared.set_name("y");
  declared.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t size : {2, 5})
    declared.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(size);
  const auto graph = import_graph(model);
  const std::vector<ShapeFaults::Fault> faults = faults_of(*graph);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_THAT(faults[0].text, testing::StartsWith("node 'first' (MatMul): "));
  EXPECT_EQ(faults[1].node->origin.name, "second");
  EXPECT_EQ(to_string(*graph->outputs[1]->shape), "[N, 4]");
  EXPECT_THAT(ShapeFaults(faults).what(), testing::StartsWith("2 nodes are at fault:\n  node 'first' (MatMul): "));
  EXPECT_EQ(ShapeFaults({faults[0]}).what(), faults[0].text);
}

TEST(InferShapes, PassesOverWhatReadsAnUnknownShape) {
  const auto graph = read_graph(R"((float[N, 4] x, bool c) => (z, v) <float[3, 5] w> {
    [first] y = MatMul(x, w)
    [after] z = Relu(y)
    [branches] v = If(c) <then_branch = t () => (a) { a = Relu(y) }, else_branch = e () => (b) { b = Neg(y) }>
  })");
  const std::vector<ShapeFaults::Fault> faults = faults_of(*graph);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].node->origin.name, "first");
  EXPECT_FALSE(graph->outputs[0]->shape.has_value());
}

TEST(InferShapes, NestedLoopsEndBehindAFault) {
  const auto graph = read_graph(R"((float[N, 4] x, int64 n, bool go) => (last, u) <float[3, 5] w> {
    [first] y = MatMul(x, w)
    [repeat] last = Loop(n, go, y) <body = body (int64 i, bool k, s) => (bool next, t) {
      next = Identity(k)
      t = Relu(s)
    }>
    [other] u = Relu(x)
  })");
  ASSERT_EQ(faults_of(*graph).size(), 1u);
  EXPECT_EQ(to_string(*graph->outputs[1]->shape), "[N, 4]");
}

// Causal padding as exporters write it: the first frame, repeated, in front of the others. Each layer's size nests the
// size of the last.
std::string repeating_first_frames(int layers, const std::string& dims, const std::string& layer) {
  std::string text =
      "(float[1, 1, " + dims + "] x0) => (y) <int64[1] zero = {0}, int64[1] one = {1}, " +
      "int64[1] two = {2}, int64[1] end = {9223372036854775807}, int64[1] axis = {2}, int64[3] repeats = {1, 1, 2}, "
      "float[1, 1, 3] w = {1, 1, 1}> {\n";
  for (int i = 0; i < layers; ++i) text += fmt::format(fmt::runtime(layer), i, i + 1);
  return text + fmt::format("  y = Identity(x{})\n}}", layers);
}

constexpr const char* causal_convolution = R"(
    first{0} = Slice(x{0}, zero, one, axis)
    front{0} = Tile(first{0}, repeats)
    padded{0} = Concat <axis = 2> (front{0}, x{0})
    x{1} = Conv(padded{0}, w)
)";

TEST(InferShapes, KnowsFromTheFirstLayersThatThereIsAFrame) {
  const std::unique_ptr<Graph> graph = read_graph(repeating_first_frames(100, "T", causal_convolution));
  infer_shapes(*graph);
  EXPECT_EQ(to_string(*graph->outputs[0]->shape), "[1, 1, T]");
  ASSERT_EQ(graph->size_rules.size(), 1);
  EXPECT_THAT(graph->size_rules[0].describe(), testing::StartsWith("T = at least 1 ("));
  EXPECT_THAT(graph->size_rules[0].describe(), testing::HasSubstr("kernel"));
}

// Without a convolution nothing there demands a frame: an empty dim is refused, and the rule says why.
TEST(InferShapes, TakesDimsAsNonemptyIfSizesBecomeLong) {
  const std::string layers = repeating_first_frames(100, "T", R"(
    first{0} = Slice(x{0}, zero, one, axis)
    front{0} = Tile(first{0}, repeats)
    padded{0} = Concat <axis = 2> (front{0}, x{0})
    x{1} = Slice(padded{0}, two, end, axis)
)");
  const std::unique_ptr<Graph> graph = read_graph(layers);
  infer_shapes(*graph);
  EXPECT_EQ(to_string(*graph->outputs[0]->shape), "[1, 1, T]");
  ASSERT_EQ(graph->size_rules.size(), 1);
  EXPECT_THAT(graph->size_rules[0].describe(),
              testing::MatchesRegex("T = at least 1 \\(node .* \\(.*\\): a size has 1.. parts if T may be 0; "
                                    "--dim T=0..N keeps 0\\)"));
}

// An empty dim stays legal if sizes stay short.
TEST(InferShapes, LeavesShortSizesAlone) {
  const std::unique_ptr<Graph> graph =
      read_graph(repeating_first_frames(1, "T", "x{1} = Slice(x{0}, zero, one, axis)"));
  infer_shapes(*graph);
  EXPECT_EQ(to_string(*graph->outputs[0]->shape), "[1, 1, min(T, 1)]");
  EXPECT_TRUE(graph->size_rules.empty());
}

}  // namespace
}  // namespace onnxc
