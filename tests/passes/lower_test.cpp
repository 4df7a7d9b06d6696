#include "passes/lower.h"

#include <gtest/gtest.h>

#include "passes/graph_builder.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

// x -> Conv -> Relu -> Neg -> y, for [N, 8, D] and a kernel of one.
void build_convolution(GraphBuilder& builder) {
  Value* x = builder.input("x", DType::float32, {Symbol::dim("N"), 8, Symbol::dim("D")});
  Value* weights = builder.constant(DType::float32, {4, 8, 1}, std::vector<float>(32, 1.0F));
  Value* convolved = builder.node("Conv", {x, weights});
  builder.output(builder.node("Neg", {builder.node("Relu", {convolved})}));
  infer_shapes(builder.graph);
}

std::string lowered(const Graph& graph, bool use_templates) {
  Program program = lower(graph, TestTarget(), use_templates);
  verify(program);
  return to_string(program);
}

TEST(Lower, WithoutTemplatesEachNodeIsItsDefinition) {
  GraphBuilder builder;
  build_convolution(builder);
  EXPECT_EQ(lowered(builder.graph, false), R"(b0 input float32 [N, 8, D] "x"
b1 constant float32 [4, 8, 1] "c0"
b2 temporary float32 [N, 4, D] "v2"
b3 temporary float32 [N, 4, D] "v4"
b4 output float32 [N, 4, D] "v6"
inputs b0
outputs b4
# "n1" Conv-22
nest conv  axes i0<N, i1<4, i2<D  reduce i3<8, i4<1
  acc0: float32 = sum b0[i0, i3, i2 + i4] * b1[i1, i3, i4]
  b2[i0, i1, i2] = acc0
# "n3" Relu-22
nest Relu  axes i0<N, i1<4, i2<D
  b3[i0, i1, i2] = max(b2[i0, i1, i2], 0.0)
# "n5" Neg-22
nest Neg  axes i0<N, i1<4, i2<D
  b4[i0, i1, i2] = -b3[i0, i1, i2]
)");
}

// The kernel's output is blocked, and Relu, which follows any layout, stays so; the model's input and output do not.
TEST(Lower, WithTemplatesLayoutsSpreadFromKernels) {
  GraphBuilder builder;
  build_convolution(builder);
  EXPECT_EQ(lowered(builder.graph, true), R"(b0 input float32 [N, 8, D] "x"
b1 temporary float32 [N, 8, D] layout 0 1/4 2 1%4 "x"
b2 constant float32 [4, 8, 1] "c0"
b3 temporary float32 [N, 4, D] layout 0 1/4 2 1%4 "v2"
b4 temporary float32 [N, 4, D] layout 0 1/4 2 1%4 "v4"
b5 output float32 [N, 4, D] "v6"
inputs b0
outputs b5
# "n1" Conv-22
nest copy  axes i0<N, i1<8, i2<D
  b1[i0, i1, i2] = b0[i0, i1, i2]
# "n1" Conv-22
kernel test_conv  b3 = b1, b2
# "n3" Relu-22
nest Relu  axes i0<N, i1<4, i2<D
  b4[i0, i1, i2] = max(b3[i0, i1, i2], 0.0)
# "n5" Neg-22
nest Neg  axes i0<N, i1<4, i2<D
  b5[i0, i1, i2] = -b4[i0, i1, i2]
)");
}

TEST(Lower, AValueIsCopiedToALayoutOnce) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {1, 8, 5});
  for (int i = 0; i < 2; ++i) {
    Value* weights = builder.constant(DType::float32, {4, 8, 1}, std::vector<float>(32, 1.0F));
    builder.output(builder.node("Neg", {builder.node("Conv", {x, weights})}));
  }
  infer_shapes(builder.graph);
  EXPECT_EQ(lowered(builder.graph, true), R"(b0 input float32 [1, 8, 5] "x"
b1 temporary float32 [1, 8, 5] layout 0 1/4 2 1%4 "x"
b2 constant float32 [4, 8, 1] "c0"
b3 temporary float32 [1, 4, 5] layout 0 1/4 2 1%4 "v2"
b4 output float32 [1, 4, 5] "v4"
b5 constant float32 [4, 8, 1] "c5"
b6 temporary float32 [1, 4, 5] layout 0 1/4 2 1%4 "v7"
b7 output float32 [1, 4, 5] "v9"
inputs b0
outputs b4, b7
# "n1" Conv-22
nest copy  axes i0<1, i1<8, i2<5
  b1[i0, i1, i2] = b0[i0, i1, i2]
# "n1" Conv-22
kernel test_conv  b3 = b1, b2
# "n3" Neg-22
nest Neg  axes i0<1, i1<4, i2<5
  b4[i0, i1, i2] = -b3[i0, i1, i2]
# "n6" Conv-22
kernel test_conv  b6 = b1, b5
# "n8" Neg-22
nest Neg  axes i0<1, i1<4, i2<5
  b7[i0, i1, i2] = -b6[i0, i1, i2]
)");
}

// Each output is memory of the caller's own: what is an input, a constant or an output already is copied.
TEST(Lower, OutputsAreBuffersOfTheirOwn) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {4});
  Value* y = builder.node("Neg", {x});
  for (Value* output : {x, y, y}) builder.output(output);
  infer_shapes(builder.graph);
  EXPECT_EQ(lowered(builder.graph, true), R"(b0 input float32 [4] "x"
b1 output float32 [4] "v1"
b2 output float32 [4] "x"
b3 output float32 [4] "v1"
inputs b0
outputs b2, b1, b3
# "n0" Neg-22
nest Neg  axes i0<4
  b1[i0] = -b0[i0]
# "x" Identity-0
nest copy  axes i0<4
  b2[i0] = b0[i0]
# "v1" Identity-0
nest copy  axes i0<4
  b3[i0] = b1[i0]
)");
}

}  // namespace
}  // namespace onnxc
