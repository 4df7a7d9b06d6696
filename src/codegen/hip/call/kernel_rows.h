// The GPU's kernels: a row each. To add one is to write its header, its geometry, its offer and its test, and a line
// here.
#pragma once

#include <memory>
#include <string_view>

#include "codegen/call/kernel_convolution.h"
#include "kernels/hip/gemm/gemm_geometry.h"
#include "passes/lowering/offer.h"

namespace onnxc {

// A node, with what several kernels ask of it resolved once.
struct HipProblem {
  const Node* node = nullptr;
  const Graph* graph = nullptr;
  std::shared_ptr<const KernelConvolution> convolution = {};  // null if the node is not a convolution, or not one for
                                                              // kernels
  kernels::Products products = kernels::Products::float32;    // how float32 is multiplied
};

struct HipKernelRow {
  std::string_view name;
  // Adds the ways in which the kernel would compute the node; none if it does not support it.
  void (*offer)(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
};

void offer_implicit_gemm(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_voxel_blocks(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_channelwise(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_byte_convolution(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_byte_matrix_product(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_matrix_product(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_softmax(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_layer_normalization(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);
void offer_instance_normalization(const HipProblem& problem, const machine::GpuMachine& gpu, Offers& offers);

// Only implicit_gemm and voxel_blocks may support the same node.
inline constexpr HipKernelRow hip_kernel_rows[] = {
    // nCdhw16c, or NCHW with few channels, to nCdhw16c or NCHW
    {"implicit_gemm", offer_implicit_gemm},
    {"voxel_blocks", offer_voxel_blocks},  // nCdhw16c to NCHW
    {"channelwise", offer_channelwise},
    // nCdhw16c of bytes
    {"byte_convolution", offer_byte_convolution},
    // row-major
    {"matrix_product", offer_matrix_product},
    {"byte_matrix_product", offer_byte_matrix_product},
    {"softmax", offer_softmax},
    {"layer_normalization", offer_layer_normalization},
    // row-major, or in blocks
    {"instance_normalization", offer_instance_normalization},
};

}  // namespace onnxc
