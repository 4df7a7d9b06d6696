// How a CPU convolution kernel (direct, depthwise, transposed, ...) is called. Each kernel has a file of its own for
// its offer and its cost.
#pragma once

#include "codegen/call/kernel_convolution.h"
#include "codegen/cpu/call/byte_convolution.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/call/packed_weights.h"

namespace onnxc {

// A class template over <ConvShape, input type, output type, epilogue> and further arguments of the kernel.
struct ConvolutionTemplate {
  std::string header;          // as it is included
  std::string type;            // "DirectConvolution"
  std::string arguments = {};  // further template arguments, each after a comma
  EpilogueForm form = EpilogueForm::blocks;
  bool takes_one_row = false;  // whether it gains from a 1x1x1 convolution as one row of voxels
  // Voxels of the output that one task computes together, in row-major order; 0 is a whole axis.
  kernels::Axes tile = {1, 1, 1};
  std::string arithmetic = "float32";  // of its products
  bool uses_tiles = false;             // AMX
  // For integers: the type of the sums, and the Arguments that follow those of every convolution.
  DType accumulator = DType::float32;
  std::string more_arguments = {};
};

// The layouts in which a kernel may read its input.
Layout blocked_input(const Node& node, const machine::VectorUnit& vectors);
Layout row_major_input(const Node& node);

// "F(2,4)": outputs of a tile along each axis on which the kernel has more than one tap.
std::string winograd_name(const kernels::Axes& tile, const kernels::Axes& kernel);

// Adds the call of a kernel that reads `input_layout` and writes NCHWc blocks of `lanes` channels, or NCHW if that is
// its form. `packed_weights` are weights_of the node in the kernel's order. The bias of a Conv is its first epilogue;
// the sums of a ConvInteger are stored as they are.
void lower_convolution(const Node& node, const KernelConvolution& convolution, ConvolutionTemplate chosen,
                       const machine::VectorUnit& vectors, const Layout& input_layout, Tensor packed_weights,
                       LoweringContext& context);

// The same of a convolution of bytes: sums are int32, and the zero point of the input stands among the arguments.
void lower_byte_convolution(const Node& node, const ByteConvolution& bytes, ConvolutionTemplate chosen,
                            const machine::VectorUnit& vectors, Tensor packed_weights, LoweringContext& context);

// One call (conv_pooled.h) for the convolution and the max pool that reads its output, if the convolution's tiles
// consist of whole windows.
Fusion pooled_convolution_fusion();

}  // namespace onnxc
