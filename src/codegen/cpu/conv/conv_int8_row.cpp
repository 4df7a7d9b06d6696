// Convolutions of bytes (conv_int8.h): ConvInteger, NCHWc to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_depthwise_packing.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"

namespace onnxc {
namespace {

void lower(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const ByteConvolution& bytes = *problem.bytes;
  ConvolutionTemplate chosen{"kernels/cpu/conv_int8/conv_int8.h", "Int8Convolution"};
  chosen.arithmetic = "int8";
  lower_byte_convolution(
      *problem.node, bytes, std::move(chosen), vectors,
      as_tensor(pack_int8_weights(bytes.shape(), vectors.lanes, unsigned_zero_point(bytes), bytes.weights)), context);
}

// Without an instruction for products of bytes, groups of few channels are faster as floats: on AVX2 the kernel of
// depthwise convolutions took two thirds of the time for a narrow X3D.
bool is_faster_as_floats(const ByteConvolution& bytes, const CpuMachine& machine) {
  return machine.convolution.int8_products == 0 && bytes.shape().groups > 1 &&
         kernels::depthwise_supports_bytes(bytes.shape(), machine.lanes());
}

}  // namespace

void offer_conv_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.bytes || is_faster_as_floats(*problem.bytes, machine)) return;
  offers.push_back(
      {.kernel = "conv_int8",
       .reads = LayoutDemand::blocks,
       .gives = LayoutDemand::blocks,
       .cost = int8_cost(*problem.bytes, machine),
       .lower = [problem, vectors = machine.vectors](LoweringContext& context) { lower(problem, vectors, context); }});
}

}  // namespace onnxc
