// The program passes change how a result is computed, never a bit of it: the interpreter runs each program before and
// after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/interpreter.h"
#include "passes/eliminate_copies.h"
#include "passes/fuse_epilogues.h"
#include "passes/fuse_nests.h"
#include "passes/graph_builder.h"
#include "passes/lower.h"
#include "passes/place_stores.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

// A target without kernels, so that the interpreter can run what it lowers.
class LoopsTarget : public TestTarget {
 public:
  bool lower(const Node&, LoweringContext&) const override { return false; }
};

Tensor integers_tensor(const Shape& shape, unsigned seed) {
  std::vector<int64_t> dims = *constant_dims(shape);
  std::vector<float> values(static_cast<size_t>(checked_product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7 + seed * 13) % 11) - 5;
  return Tensor::of(DType::float32, dims, values);
}

class ProgramPassesTest : public testing::Test {
 protected:
  // Infers, lowers and runs the passes; checks that the results of both programs are the same bytes, and returns the
  // program after the passes.
  Program check() {
    infer_shapes(builder_.graph);
    LoopsTarget target;
    Program before = lower(builder_.graph, target, false);
    Program after = lower(builder_.graph, target, true);
    fuse_nests(after);
    verify(after);
    place_stores(after);
    verify(after);
    fuse_epilogues(after, target);
    eliminate_copies(after);
    verify(after);
    std::vector<Tensor> inputs;
    for (const Value* input : builder_.graph.inputs)
      inputs.push_back(integers_tensor(*input->shape, static_cast<unsigned>(inputs.size())));
    std::vector<Tensor> expected = interpret(before, {}, inputs), found = interpret(after, {}, inputs);
    EXPECT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(expected[i].bytes(), found[i].bytes())) << "output " << i << "\n"
                                                                             << to_string(after);
    return after;
  }

  Value* weights(std::vector<int64_t> dims) {
    Shape shape(dims.begin(), dims.end());
    return builder_.graph.add_constant("w" + std::to_string(count_++), integers_tensor(shape, 3));
  }

  GraphBuilder builder_;
  int count_ = 0;
};

TEST_F(ProgramPassesTest, AnElementwiseChainBecomesOneNest) {
  Value* x = builder_.input("x", DType::float32, {2, 3, 5});
  Value* sum = builder_.node("Add", {x, weights({3, 1})});
  builder_.output(builder_.node("Relu", {builder_.node("Mul", {sum, weights({5})})}));
  EXPECT_EQ(check().steps.size(), 1u);
}

TEST_F(ProgramPassesTest, WhatIsReadTwiceIsComputedOnce) {
  Value* x = builder_.input("x", DType::float32, {2, 3});
  Value* relu = builder_.node("Relu", {x});
  builder_.output(builder_.node("Add", {builder_.node("Neg", {relu}), builder_.node("Exp", {relu})}));
  EXPECT_EQ(check().steps.size(), 2u);
}

TEST_F(ProgramPassesTest, APartOfAConcatIsWrittenInPlace) {
  Value* x = builder_.input("x", DType::float32, {2, 3, 4});
  Value* w = builder_.input("y", DType::float32, {2, 5, 4});
  Value* a = builder_.node("ReduceSum", {x, builder_.integers({2})});
  Value* b = builder_.node("ReduceSum", {w, builder_.integers({2})});
  builder_.output(builder_.node("Concat", {a, b}, {{"axis", int64_t{1}}}));
  EXPECT_EQ(check().steps.size(), 2u);
}

TEST_F(ProgramPassesTest, AReshapeCostsNothing) {
  Value* x = builder_.input("x", DType::float32, {2, 3, 4});
  Value* sum = builder_.node("ReduceSum", {x, builder_.integers({0})});
  Value* reshaped = builder_.node("Reshape", {sum, builder_.integers({4, 3})});
  builder_.output(builder_.node("ReduceMax", {reshaped, builder_.integers({1})}));
  EXPECT_EQ(check().steps.size(), 2u);
}

TEST_F(ProgramPassesTest, AReshapeOfPartOfAConcatStaysRight) {
  Value* x = builder_.input("x", DType::float32, {2, 3, 4});
  Value* sum = builder_.node("ReduceSum", {x, builder_.integers({2})});
  builder_.output(builder_.node("Concat", {sum, sum}, {{"axis", int64_t{1}}}));
  Value* flat = builder_.node("Reshape", {sum, builder_.integers({6})});
  builder_.output(builder_.node("ReduceMax", {flat, builder_.integers({0})}));
  check();
}

// A U-Net's level in small: convolutions with odd channel counts, a skip, a Concat of blocked tensors on and off block
// boundaries, a pool, a resize, padding, and a row-major end.
TEST_F(ProgramPassesTest, BlockedTensorsStayRight) {
  std::vector<NamedAttribute> same{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  Value* x = builder_.input("x", DType::float32, {2, 3, 6, 4});
  Value* skip = builder_.node("Relu", {builder_.node("Conv", {x, weights({8, 3, 3, 3})}, same)});
  Value* pooled = builder_.node(
      "MaxPool", {skip}, {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  Value* deep = builder_.node("Conv", {pooled, weights({5, 8, 3, 3})}, same);
  Value* scales = builder_.constant<float>(DType::float32, {4}, {1, 1, 2, 2});
  Value* up = builder_.node("Resize", {deep, nullptr, scales});
  Value* joined = builder_.node("Concat", {skip, up}, {{"axis", int64_t{1}}});
  Value* shifted = builder_.node("Concat", {up, skip, up}, {{"axis", int64_t{1}}});
  Value* a = builder_.node("Conv", {joined, weights({6, 13, 1, 1})});
  Value* b = builder_.node("Conv", {shifted, weights({6, 18, 1, 1})});
  Value* sum = builder_.node("Relu", {builder_.node("Add", {a, b})});
  Value* padded = builder_.node("Pad", {sum, builder_.integers({0, 0, 1, 0, 0, 0, 0, 2})});
  builder_.output(padded);
  builder_.output(builder_.node("Flatten", {padded}));
  builder_.output(builder_.node("Transpose", {sum}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}));
  builder_.output(builder_.node("GlobalAveragePool", {sum}));
  check();
}

TEST_F(ProgramPassesTest, AScatterDoesNotWriteIntoWhatIsStillRead) {
  Value* x = builder_.input("x", DType::float32, {4, 3});
  Value* data = builder_.node("Relu", {x});
  Value* updates = builder_.constant<float>(DType::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  Value* indices = builder_.constant<int64_t>(DType::int64, {2, 1}, {3, 0});
  builder_.output(builder_.node("ScatterND", {data, indices, updates}));
  builder_.output(builder_.node("Neg", {data}));
  check();
}

TEST_F(ProgramPassesTest, AnInputThatIsAnOutputIsCopied) {
  Value* x = builder_.input("x", DType::float32, {4});
  builder_.output(x);
  builder_.output(builder_.node("Identity", {x}));
  check();
}

}  // namespace
}  // namespace onnxc
