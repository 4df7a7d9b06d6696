// A convolution as the CPU's kernels are asked for offers: shape, the size of its output, and costs that several share.
//
// Costs are of one image, in vector multiply-adds at the peak rate. They are a kernel's multiply-adds divided by its
// efficiency (fraction of the peak), the additions of its transforms, and the bytes of weights, read once for each
// range of voxels or tiles. The constants are measured; each stands beside the kernel's offer.
#pragma once

#include "codegen/call/kernel_convolution.h"
#include "machine/cpu_machine.h"

namespace onnxc {

struct ConvolutionProblem {
  KernelConvolution convolution;
  // The output's size: static, or else its size hint (usual_size.h).
  kernels::Axes output;
  bool output_is_known = true;
  // Weights that are all integers require exact integer results. Winograd's tiles of two divide by powers of two and
  // stay exact on small integers; tiles of four divide by three and do not.
  bool has_whole_weights = false;
  DType input = DType::float32;  // how its activations are stored

  const kernels::ConvShape& shape() const { return convolution.shape; }
  bool is_transposed() const { return convolution.spec.transposed; }
};
// The output's size in space: static, or else its size hint.
struct OutputSize {
  kernels::Axes size;
  bool is_known;
};
OutputSize output_size(const KernelConvolution& convolution, const Graph& graph);

// Nothing if no kernel supports the node.
std::optional<ConvolutionProblem> as_convolution_problem(const Node& node, const Graph& graph);

// Whether a convolution has so few input channels that its kernel reads NCHW: a block of them would be mostly padding.
bool is_stem(const ConvolutionProblem& problem);
// Whether a convolution is for the kernels from NCHWc blocks: not transposed, many input channels, and not for the
// depthwise kernel.
bool reads_blocks(const ConvolutionProblem& problem, const CpuMachine& machine);
// Whether rows of the output are so short that they leave too much of a vector empty. One tap that moves no voxel sees
// an image as one row.
bool has_short_rows(const ConvolutionProblem& problem);

double as_real(int64_t value);
// Vectors of neighbours along the width in `rows` rows of the output.
double row_vectors(const ConvolutionProblem& problem, const machine::VectorUnit& vectors, int64_t rows);

// Vectors of weights that a kernel multiplies for each input channel of a group and each tap: a group has whole vectors
// of outputs, filled or not.
int64_t output_vectors(const kernels::ConvShape& shape, const machine::VectorUnit& vectors);

// A convolution without a transform: conv_direct.h, and conv_stem.h from NCHW.
double direct_cost(const ConvolutionProblem& problem, const CpuMachine& machine);
double stem_cost(const ConvolutionProblem& problem, const CpuMachine& machine);

// The fraction of the cost without a transform that a transform must stay below. If the size is a hint, or the packed
// weights are many, it must win clearly: its weights are certainly two to five times as many, and its gain is uncertain
// or small.
double required_gain(const ConvolutionProblem& problem, const CpuMachine& machine, int64_t weight_bytes = 0);

}  // namespace onnxc
