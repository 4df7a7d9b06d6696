#include "passes/lowering/sub_byte.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/interpreter/interpreter.h"
#include "ir/program/parser.h"
#include "passes/graph_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

Program lowered(const std::string& text) {
  Program program = lower(*read_shaped_graph(text), {});
  verify(program);
  return program;
}

const std::string handed_on = R"((int4[3, N] x) => (y) {
  y = Identity(x)
})";

TEST(SubByte, TheCallerHasBytes) {
  const std::string expected = R"(b0 temporary int4 [3, N] "x"
b1 input uint8 [(3*N + 1)//2] packs int4 [3, N] "x"
b2 temporary int4 [3, N] "y"
b3 output uint8 [(3*N + 1)//2] packs int4 [3, N] "y"
inputs b1
outputs b3
# "x" Unpack-0
nest unpack  axes i0<3, i1<N
  b0[i0, i1] = int4(b1[(N*i0 + i1)//2] >> uint8(index(4*((N*i0 + i1) % 2))))
# "y" Identity-22
nest Identity  axes i0<3, i1<N
  b2[i0, i1] = b0[i0, i1]
# "y" Pack-0
nest pack  axes i0<(3*N + 1)//2
  b3[i0] = uint8(b2[(2*i0)//N, (2*i0) % N]) & uint8(15) | select(index(2*i0 + 1) < index(3*N), (uint8(b2[(2*i0 + 1)//N, (2*i0 + 1) % N]) & uint8(15)) << uint8(4), uint8(0))
)";
  const std::string text = to_string(lowered(handed_on));
  expect_text(text, expected);
  EXPECT_EQ(to_string(parse_program(text)), text);
}

TEST(SubByte, ThereAndBackTheBytesAreTheSame) {
  const Program program = lowered(handed_on);
  const Symbol n = *program.buffer(program.inputs[0]).packs->shape[1].as_symbol();
  const std::vector<Tensor> inputs = {Tensor::of<uint8_t>(DType::uint8, {5}, {0x18, 0xf7, 0x39, 0x42, 0x06})};
  EXPECT_THAT(interpret(program, {{n, 3}}, inputs)[0].values<uint8_t>(), ElementsAre(0x18, 0xf7, 0x39, 0x42, 0x06));
}

TEST(SubByte, Float4IsItsBits) {
  constexpr int first_version = 23;
  const auto graph = import_graph(parse_graph("(float4e2m1[5] x) => (y) { y = Identity(x) }", first_version));
  infer_shapes(*graph);
  const Program program = lower(*graph, {});
  verify(program);
  const std::vector<Tensor> inputs = {Tensor::of<uint8_t>(DType::uint8, {3}, {0x18, 0xf7, 0xf9})};
  EXPECT_THAT(interpret(program, {}, inputs)[0].values<uint8_t>(), ElementsAre(0x18, 0xf7, 0x09));
}

TEST(SubByte, BitsBehindTheLastElementAreZeroInOutputs) {
  const Program program = lowered("(uint4[3] x) => (y) { y = Identity(x) }");
  const std::vector<Tensor> inputs = {Tensor::of<uint8_t>(DType::uint8, {2}, {0xe7, 0xf3})};
  EXPECT_THAT(interpret(program, {}, inputs)[0].values<uint8_t>(), ElementsAre(0xe7, 0x03));
}

}  // namespace
}  // namespace onnxc
