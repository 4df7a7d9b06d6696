// A convolution as the kernels of both targets see it: its shape, made from the node, and its text in a call. All these
// kernels take ConvArguments (kernels/shared/conv_shape.h).
#pragma once

#include <array>

#include "codegen/call/kernel_call.h"

namespace onnxc {

// A Conv or ConvTranspose of a floating type with static channels and kernel. It has three spatial axes, whatever the
// node's rank.
struct KernelConvolution {
  ConvSpec spec;
  kernels::ConvShape shape;
  std::array<WindowAxis, 3> axes;  // depth, height, width
  // Else a run computes them.
  bool has_constant_weights = true, has_constant_bias = true;
};
std::optional<KernelConvolution> as_kernel_convolution(const Node& node);
// The same for any resolved convolution; nothing if its channels are not static.
std::optional<KernelConvolution> with_static_channels(ConvSpec spec);

// "conv 3x3x3 64->128 stride 2x2x2", for reports.
std::string convolution_title(const std::string& kernel, const KernelConvolution& convolution);

// accumulator + bias[channel] for the node's bias, or only the accumulator, in the type of the output.
Epilogue bias_epilogue(const Node& node, LoweringContext& context);

// The input or the output of a convolution or pool as an operand: batch, channels and its extents in space.
KernelOperand window_operand(const ConvSpec& spec, const Expr& channels, Expr WindowAxis::* extent,
                             std::vector<Layout> layouts);

// "ConvShape{64, 64, 1, {3, 3, 3}, ...}", and braced initializers of the call's ConvSizes and ConvArguments.
std::string shape_text(const kernels::ConvShape& shape);
std::string convolution_sizes(const KernelConvolution& convolution, const KernelText& text);
std::string convolution_arguments(const KernelConvolution& convolution, const KernelCall& call, const KernelText& text);

}  // namespace onnxc
