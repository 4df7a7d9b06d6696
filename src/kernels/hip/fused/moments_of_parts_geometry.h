// The contract of the host and the kernels of the moments of a product in parts.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "kernels/hip/memory_bound/line_geometry.h"

namespace onnxc::kernels {

// The product's output are its parts, float32 tensors one after the other; lines are their sum, which is stored in the
// place of the normalised lines.
template <class Input, class Weight, class Output>
struct MomentsOfPartsArguments {
  GemmArguments<Input, Weight, float> product;
  ChunkArguments<Output, Output> lines;
};

}  // namespace onnxc::kernels
