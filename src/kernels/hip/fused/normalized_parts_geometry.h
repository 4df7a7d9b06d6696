// The contract of the host and the kernels of a normalised product in parts.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "kernels/hip/memory_bound/line_geometry.h"

namespace onnxc::kernels {

// The product's output are its parts, float32 tensors one after the other, which are the input of the lines.
template <class Input, class Weight, class Output>
struct NormalizedPartsArguments {
  GemmArguments<Input, Weight, float> product;
  LineArguments<float, Output> lines;
};

}  // namespace onnxc::kernels
