// A convolution and the normalisation of its result in two launches (kernels/hip/fused/normalized_parts.h,
// product_moments.h).
#pragma once

#include <optional>

#include "ir/program/program.h"
#include "machine/gpu_machine.h"

namespace onnxc {

// Supports products at sizes that are known, with a normalisation by channels in blocks: products in parts whose rows a
// block holds, and products in one part whose rows are normalised in chunks. The product's epilogue becomes the inner
// one.
std::optional<KernelCall> normalized_product_call(Program& program, const KernelCall& product, const KernelCall& rows,
                                                  const machine::GpuMachine& gpu);

}  // namespace onnxc
