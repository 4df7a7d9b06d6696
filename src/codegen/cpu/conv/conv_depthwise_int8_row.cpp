// Depthwise convolutions of bytes (conv_depthwise_int8.h): NCHWc to NCHWc. If the machine has products of quads they
// are cheaper than conv_depthwise.h's floats for any size: no cost is weighed, and this row comes before that one.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_int8/conv_depthwise_int8_packing.h"

namespace onnxc {
namespace {

void lower(const CpuProblem& problem, const machine::VectorUnit& vectors, LoweringContext& context) {
  const ByteConvolution& bytes = *problem.bytes;
  ConvolutionTemplate chosen{"kernels/cpu/conv_int8/conv_depthwise_int8.h", "DepthwiseInt8Convolution"};
  chosen.arithmetic = "int8";
  lower_byte_convolution(*problem.node, bytes, std::move(chosen), vectors,
                         as_tensor(pack_depthwise_int8_weights(bytes.shape(), vectors.lanes, bytes.weights)), context);
}

}  // namespace

void offer_conv_depthwise_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (machine.convolution.int8_products == 0 || !problem.bytes || problem.bytes->shape().groups == 1 ||
      !kernels::depthwise_int8_supports(problem.bytes->shape()))
    return;
  offers.push_back(
      {.kernel = "conv_depthwise_int8",
       .reads = LayoutDemand::blocks,
       .gives = LayoutDemand::blocks,
       .lower = [problem, vectors = machine.vectors](LoweringContext& context) { lower(problem, vectors, context); }});
}

}  // namespace onnxc
