// A ConvInteger as the CPU's kernels are asked for offers: shape, size, and weights less their zero point.
#pragma once

#include "codegen/cpu/call/convolution_problem.h"

namespace onnxc {

struct ByteConvolution {
  KernelConvolution convolution;
  OutputSize output;
  std::vector<int8_t> weights;  // ONNX's [output channels, input channels, kd, kh, kw]
  int64_t zero_point;           // of the input
  bool is_signed;               // the input

  const kernels::ConvShape& shape() const { return convolution.shape; }
};
// Nothing if the node is not a product of bytes, a zero point or a weight is computed, or a weight less its zero point
// does not fit in int8.
std::optional<ByteConvolution> as_byte_convolution(const Node& node, const Graph& graph);

// The input's zero point as an unsigned byte: of an int8 128 more.
uint8_t unsigned_zero_point(const ByteConvolution& problem);

// The cost of conv_int8.h, as costs are in convolution_problem.h.
double int8_cost(const ByteConvolution& problem, const CpuMachine& machine);

}  // namespace onnxc
