// The GPU as a target: nCdhw16c if kernels of kernels/hip are used, and loop nests in their default schedule for all
// other nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/hip/gemm/gemm_geometry.h"
#include "passes/lowering/target.h"

namespace onnxc {

// The value of --fp32: ieee, xf32 or bf16x3.
kernels::Products float32_products(std::string_view name);

// UserError naming the node, or the input, that gives strings: a GPU has no place for them.
void check_types_for_gpu(const Graph& graph);

// `products`: how float32 is multiplied. `gpu`: the card that the program is planned and compiled for.
Target hip_target(kernels::Products products = kernels::Products::float32,
                  const machine::GpuMachine& gpu = machine::default_gpu);

}  // namespace onnxc
