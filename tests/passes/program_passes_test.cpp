// The program passes change how a result is computed, never a bit of it: the interpreter runs each program before and
// after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/interpreter/interpreter.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"
#include "passes/program/eliminate_copies.h"
#include "passes/program/fuse_epilogues.h"
#include "passes/program/fuse_nests.h"
#include "passes/program/place_stores.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

Tensor integers_tensor(const Shape& shape, unsigned seed) {
  std::vector<int64_t> dims = *constant_dims(shape);
  std::vector<float> values(static_cast<size_t>(checked_product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7 + seed * 13) % 11) - 5;
  return Tensor::of(DType::float32, dims, values);
}

// Lowers the graph and runs the passes; checks that the results of both programs are the same bytes, and returns the
// program after the passes.
Program check(const Graph& graph) {
  // Without kernels, so that the interpreter can run the program.
  const Target target = loops_target();
  Program before = lower(graph, {});
  Program after = lower_for(graph, target);
  fuse_nests(after);
  verify(after);
  place_stores(after);
  verify(after);
  fuse_epilogues(after, target);
  eliminate_copies(after);
  verify(after);
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs)
    inputs.push_back(integers_tensor(*input->shape, static_cast<unsigned>(inputs.size())));
  std::vector<Tensor> expected = interpret(before, {}, inputs), found = interpret(after, {}, inputs);
  EXPECT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(expected[i].bytes(), found[i].bytes())) << "output " << i << "\n"
                                                                           << to_string(after);
  return after;
}

Program check(const std::string& text) { return check(*read_shaped_graph(text)); }

TEST(ProgramPasses, AnElementwiseChainBecomesOneNest) {
  EXPECT_EQ(check(R"((float[2, 3, 5] x) => (y) <float[3, 1] v, float[5] w> {
    a = Add(x, v)
    b = Mul(a, w)
    y = Relu(b)
  })")
                .steps.size(),
            1u);
}

TEST(ProgramPasses, WhatIsReadTwiceIsComputedOnce) {
  EXPECT_EQ(check(R"((float[2, 3] x) => (y) {
    a = Relu(x)
    b = Neg(a)
    c = Exp(a)
    y = Add(b, c)
  })")
                .steps.size(),
            1u);
  EXPECT_EQ(check(R"((float[2, 3] x) => (y, z) {
    a = Relu(x)
    y = Neg(a)
    z = Exp(a)
  })")
                .steps.size(),
            3u);
}

TEST(ProgramPasses, APartOfAConcatIsWrittenInPlace) {
  EXPECT_EQ(check(R"((float[2, 3, 4] x, float[2, 5, 4] z) => (y) <int64[1] axes = {2}> {
    a = ReduceSum(x, axes)
    b = ReduceSum(z, axes)
    y = Concat <axis = 1> (a, b)
  })")
                .steps.size(),
            2u);
}

TEST(ProgramPasses, AReshapeCostsNothing) {
  EXPECT_EQ(check(R"((float[2, 3, 4] x) => (y) <int64[1] first = {0}, int64[2] shape = {4, 3}, int64[1] second = {1}> {
    a = ReduceSum(x, first)
    b = Reshape(a, shape)
    y = ReduceMax(b, second)
  })")
                .steps.size(),
            2u);
}

TEST(ProgramPasses, AReshapeOfPartOfAConcatStaysRight) {
  check(R"((float[2, 3, 4] x) => (y, z) <int64[1] last = {2}, int64[1] shape = {6}, int64[1] first = {0}> {
    a = ReduceSum(x, last)
    y = Concat <axis = 1> (a, a)
    flat = Reshape(a, shape)
    z = ReduceMax(flat, first)
  })");
}

// A U-Net's level in small: convolutions with odd channel counts, a skip, a Concat of blocked tensors on and off block
// boundaries, a pool, a resize, padding, and a row-major end.
TEST(ProgramPasses, BlockedTensorsStayRight) {
  check(R"((float[2, 3, 6, 4] x) => (padded, flat, turned, mean)
      <float[8, 3, 3, 3] wa, float[5, 8, 3, 3] wb, float[6, 13, 1, 1] wc, float[6, 18, 1, 1] wd,
       float[4] scales = {1, 1, 2, 2}, int64[8] pads = {0, 0, 1, 0, 0, 0, 0, 2}> {
    a = Conv <pads = [1, 1, 1, 1]> (x, wa)
    skip = Relu(a)
    pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (skip)
    deep = Conv <pads = [1, 1, 1, 1]> (pooled, wb)
    up = Resize(deep, "", scales)
    joined = Concat <axis = 1> (skip, up)
    shifted = Concat <axis = 1> (up, skip, up)
    c = Conv(joined, wc)
    d = Conv(shifted, wd)
    e = Add(c, d)
    sum = Relu(e)
    padded = Pad(sum, pads)
    flat = Flatten(padded)
    turned = Transpose <perm = [0, 2, 3, 1]> (sum)
    mean = GlobalAveragePool(sum)
  })");
}

TEST(ProgramPasses, AScatterDoesNotWriteIntoWhatIsStillRead) {
  check(R"((float[4, 3] x) => (y, z) <float[2, 3] updates = {1, 2, 3, 4, 5, 6}, int64[2, 1] indices = {3, 0}> {
    data = Relu(x)
    y = ScatterND(data, indices, updates)
    z = Neg(data)
  })");
}

TEST(ProgramPasses, AnInputThatIsAnOutputIsCopied) {
  const auto graph = read_shaped_graph("(float[4] x) => (y) { y = Identity(x) }");
  graph->outputs.push_back(graph->inputs[0]);
  check(*graph);
}

}  // namespace
}  // namespace onnxc
