// What the convolution kernels share (direct, depthwise, transposed, ...): from a node to its shape, and from the call
// to its text. They all take ConvArguments (kernels/conv_geometry.h); each has a file of its own for its choice and its
// packing.
#pragma once

#include <array>

#include "codegen/cpu/kernel_call.h"

namespace onnxc {

// A Conv or ConvTranspose whose weights and bias are constants of a floating type, its channels and kernel static.
// Spatial axes are brought to three.
struct KernelConvolution {
  ConvSpec spec;
  kernels::ConvShape shape;
  std::array<WindowAxis, 3> axes;  // depth, height, width
};
std::optional<KernelConvolution> as_kernel_convolution(const Node& node);

// accumulator + bias[channel] for the node's bias, or the accumulator alone, in the type of the output.
Epilogue bias_epilogue(const Node& node, LoweringContext& context);

// "ConvShape{64, 64, 1, {3, 3, 3}, ...}", and braced initializers of the call's ConvSizes and ConvArguments.
std::string shape_text(const kernels::ConvShape& shape);
std::string convolution_sizes(const KernelConvolution& convolution, const KernelText& text);
std::string convolution_arguments(const KernelConvolution& convolution, const KernelCall& call, const KernelText& text);

// A class template over <ConvShape, input type, output type, epilogue>.
struct ConvolutionTemplate {
  std::string title;   // in reports: "conv_direct"
  std::string header;  // as it is included
  std::string type;    // "DirectConvolution"
};

// Writes the call of a kernel that reads the input in `input_layout` and gives blocks of `lanes` channels. The bias is
// its first epilogue.
void lower_convolution(const Node& node, const KernelConvolution& convolution, ConvolutionTemplate chosen, int lanes,
                       const Layout& input_layout, std::vector<float> packed_weights, LoweringContext& context);

}  // namespace onnxc
