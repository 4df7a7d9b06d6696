// The programs that the targets make of real graphs, as text: it is read back, and printed again it is the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cpu/cpu_target.h"
#include "codegen/hip/hip_target.h"
#include "codegen/model/emit.h"
#include "passes/graph_text.h"
#include "passes/program/eliminate_copies.h"
#include "passes/program/fuse_epilogues.h"
#include "passes/program/fuse_kernels.h"
#include "passes/program/fuse_nests.h"
#include "passes/program/place_stores.h"
#include "passes/program/split_reductions.h"
#include "passes/program/take_nests.h"
#include "passes/program_text.h"
#include "passes/test_target.h"
#include "toolchain/march.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

struct Model {
  const char* name;
  const char* graph;
  const char* kernel;  // that its programs call
};

std::string name_of(const testing::TestParamInfo<Model>& test) { return test.param.name; }

class ProgramText : public testing::TestWithParam<Model> {};

void expect_round_trip(const Program& program) {
  const std::string text = to_string(program);
  const Program parsed = parse_program(text);
  EXPECT_EQ(to_string(parsed), text);
  verify(parsed);
}

// After each pass.
void expect_round_trips(const Target& target, const Model& model) {
  Program program = lower_for(*read_shaped_graph(model.graph), target);
  expect_round_trip(program);
  fuse_nests(program);
  expect_round_trip(program);
  place_stores(program);
  expect_round_trip(program);
  fuse_epilogues(program, target);
  expect_round_trip(program);
  fuse_kernels(program, target);
  expect_round_trip(program);
  eliminate_copies(program);
  expect_round_trip(program);
  EXPECT_THAT(to_string(program), HasSubstr("kernel " + std::string(model.kernel)));
  if (target.parallel_results > 0) split_reductions(program, target);
  expect_round_trip(program);
  take_nests(program, target);
  expect_round_trip(program);
}

TEST_P(ProgramText, OfTheCpu) {
  for (const char* march : {"x86-64-v3", "x86-64-v4"})
    expect_round_trips(cpu_target(*find_cpu_machine(march)), GetParam());
}

TEST_P(ProgramText, OfTheGpu) { expect_round_trips(hip_target(), GetParam()); }

const Model models[] = {
    {"ConvolutionsAndAConcat", R"((float[N, 3, D, 20, 20] x) => (y)
        <float[16, 3, 3, 3, 3] wa, float[16, 16, 3, 3, 3] wb, float[16] ba, int64[2] axes = {2, 3}> {
      a = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, wa, ba)
      b = Sigmoid(a)
      c = Mul(a, b)
      d = Conv <pads = [1, 1, 1, 1, 1, 1]> (c, wb)
      e = Concat <axis = 1> (d, c)
      y = ReduceMean <keepdims = 0> (e, axes)
    })",
     "conv"},
    {"AStem", R"((float[1, 3, 64, 64] x) => (y) <float[64, 3, 7, 7] w, float[64] b> {
      a = Conv <strides = [2, 2], pads = [3, 3, 3, 3]> (x, w, b)
      c = Relu(a)
      y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (c)
    })",
     "conv"},
    {"AttentionWithAMask", R"((float[2, 4, 64, 32] q, float[2, 4, 32, 64] k, float[2, 4, 64, 32] v,
                               float[2, 1, 64, 64] mask) => (y) <float[1] scale> {
      s = MatMul(q, k)
      t = Mul(s, scale)
      u = Add(t, mask)
      p = Softmax <axis = -1> (u)
      y = MatMul(p, v)
    })",
     "attention"},
    {"Half", R"((float16[2, 8, 64] x) => (y) <float16[64, 64] w, float16[64] b> {
      a = MatMul(x, w)
      c = Add(a, b)
      d = Relu(c)
      y = Softmax <axis = -1> (d)
    })",
     ""},
    {"ALoop", R"((int64 n, bool yes, float[1, 4, 16, 16] x) => (last) <float[4, 4, 3, 3] w> {
      last = Loop(n, yes, x) <body = body (int64 i, bool keep, float[1, 4, 16, 16] s) => (same, t) {
        same = Identity(keep)
        c = Conv <pads = [1, 1, 1, 1]> (s, w)
        t = Relu(c)
      }>
    })",
     "conv"},
    {"ABranch", R"((bool c, float[2, 64, 64] x) => (y) <float[64, 64] w> {
      y = If (c) <then_branch = g1 () => (a) { a = MatMul(x, w) }, else_branch = g2 () => (b) { b = Neg(x) }>
    })",
     ""},
};

INSTANTIATE_TEST_SUITE_P(Models, ProgramText, testing::ValuesIn(models), name_of);

TEST(ProgramText, AKernelThatWasReadFromTextIsNotEmitted) {
  const Program program = parse_program(R"(b0 input float32 [4] "x"
b1 output float32 [4] "y"
inputs b0
outputs b1
kernel softmax  b1 = b0
)");
  EXPECT_THROW(emit_model({{"test", "", program}}, {resolve_march("x86-64-v3"), "", {}}), InternalError);
}

}  // namespace
}  // namespace onnxc
