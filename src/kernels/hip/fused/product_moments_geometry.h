// The contract of the host and the kernels of a product with the moments of its columns.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "kernels/hip/memory_bound/line_geometry.h"

namespace onnxc::kernels {

// The product's output is where the lines are read and, normalised, stored; their parts are the product's tiles.
template <class Input, class Weight, class Output>
struct ProductMomentsArguments {
  GemmArguments<Input, Weight, Output> product;
  ChunkArguments<Output, Output> lines;
};

}  // namespace onnxc::kernels
