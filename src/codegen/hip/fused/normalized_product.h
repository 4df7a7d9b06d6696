// A convolution and the normalisation of its result by channels in blocks, at sizes that are known. The product's
// epilogue becomes the inner one.
#pragma once

#include "machine/gpu_machine.h"
#include "passes/lowering/target.h"

namespace onnxc {

// Supports products in parts whose lines a block holds: two launches (kernels/hip/fused/normalized_parts.h).
Fusion normalized_product_fusion(const machine::GpuMachine& gpu);
// Supports lines that are normalised in chunks (kernels/hip/fused/product_moments.h; moments_of_parts.h for a product
// in parts).
Fusion chunked_product_fusion(const machine::GpuMachine& gpu);

}  // namespace onnxc
