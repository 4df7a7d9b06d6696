// Convolutions, matrix products and max pools of dequantised numbers by what the integers themselves give.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: Conv(DequantizeLinear(x), DequantizeLinear(w), bias), with x and w of 8 bits, one constant scale for x, and
// constant w with one scale or one an output channel. After: Add(Mul(Cast(ConvInteger(x, w)), x_scale * w_scale),
// bias), the same number with fewer roundings: the sum of products is exact. MatMul and Gemm become MatMulInteger in
// the same way; the scales of w are one or one a column. The quantisation of the result, and activations between, stay
// as they are and become the kernel's epilogue. ConvInteger(x, w, zero) with a zero point that a run computes becomes
// ConvInteger(x, w) - zero * Conv(ones, sums of w over the inputs), which is the same: only a constant zero point has a
// kernel. MaxPool(DequantizeLinear(x)) becomes DequantizeLinear(MaxPool(x)), and a QuantizeLinear after it that only
// undoes that is left out.
//
// Limits: one group and three input channels or more, or several groups; weights whose differences from their
// zero point are int8; a Gemm without factors that transposes no activations. To be run before constants are folded,
// since the weights would then be numbers; and only for targets with kernels for their sums, CPUs, NVIDIA's GPUs and
// AMD's RDNA.
void use_integer_products(Graph& graph);

}  // namespace onnxc
