// The CPU's kernels: a row each. To add one is to write its header, its geometry, its offer and its test, and a line
// here.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string_view>

#include "codegen/cpu/call/byte_convolution.h"
#include "codegen/cpu/call/convolution_problem.h"
#include "codegen/cpu/call/weight_form.h"
#include "passes/lowering/offer.h"

namespace onnxc {

// One image of a tensor [N, C, spatial...], as is usual (usual_size.h).
struct ImageSize {
  double channels = 0, voxels = 0;

  double vectors_in_rows(int lanes) const { return channels * voxels / lanes; }
  double vectors_in_blocks(int lanes) const { return std::ceil(channels / lanes) * voxels; }
  double vectors(LayoutDemand layout, int lanes) const {
    return layout == LayoutDemand::blocks ? vectors_in_blocks(lanes) : vectors_in_rows(lanes);
  }
};

// A vector that a memory-bound kernel or a loop nest reads or writes, in vector multiply-adds at the peak rate. On Zen
// 5 one from memory takes as long as 13, one from a cache as long as 2 to 5.
inline constexpr double moved_vector_cost = 10.0;

// A node, with what several kernels ask of it resolved once.
struct CpuProblem {
  const Node* node = nullptr;
  // Null if the node is not a convolution, or not one for kernels.
  std::shared_ptr<const ConvolutionProblem> convolution = {};
  std::shared_ptr<const ByteConvolution> bytes = {};
  int64_t product_rows = 0;           // of a matrix product, as is usual (usual_size.h)
  ImageSize input = {}, output = {};  // of operators on images but convolutions: of the first ones
};

struct CpuKernelRow {
  std::string_view name;
  // Adds the ways in which the kernel would compute the node; none if it does not support it.
  void (*offer)(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
  // For a convolution: whether its packed weights are the node's in another order, so that a run can pack computed
  // ones.
  bool takes_computed_weights = false;
  // Whether its packed weights are transformed, and then up to six times as many as the node's.
  bool transforms_weights = false;
};

void offer_conv_depthwise(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_depthwise_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_direct(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_grouped(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_int8_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_tiles(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_stem(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_stem_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_planar(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_planar_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_to_rows(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_transpose(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_conv_transpose_packed(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_pool(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_global_average_pool(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_normalization(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_matmul(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_matmul_tiles(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_matmul_int8(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_softmax(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_argsort(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_non_max_suppression(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);
void offer_fourier(const CpuProblem& problem, const CpuMachine& machine, Offers& offers);

// The first of two offers with equal cost is taken.
inline constexpr CpuKernelRow cpu_kernel_rows[] = {
    // NCHWc to NCHWc
    {"conv_depthwise_int8", offer_conv_depthwise_int8},
    {"conv_depthwise", offer_conv_depthwise, true},
    {"conv_grouped", offer_conv_grouped, true},
    {"conv_direct", offer_conv_direct, true},
    {.name = "conv_winograd", .offer = offer_conv_winograd, .transforms_weights = true},
    {"conv_int8", offer_conv_int8},
    {.name = "conv_int8_winograd", .offer = offer_conv_int8_winograd, .transforms_weights = true},
    {"conv_tiles", offer_conv_tiles},
    // NCHW with few channels to NCHWc
    {"conv_stem", offer_conv_stem, true},
    {.name = "conv_stem_winograd", .offer = offer_conv_stem_winograd, .transforms_weights = true},
    // NCHW with few channels to NCHW
    {"conv_planar", offer_conv_planar, true},
    {.name = "conv_planar_winograd", .offer = offer_conv_planar_winograd, .transforms_weights = true},
    // NCHWc to NCHW with few channels
    {"conv_to_rows", offer_conv_to_rows, true},
    // transposed, NCHWc to NCHWc
    {"conv_transpose", offer_conv_transpose, true},
    {"conv_transpose_packed", offer_conv_transpose_packed, true},
    // bound by memory, in the layout of their input
    {"pool", offer_pool},
    {"global_average_pool", offer_global_average_pool},
    {"normalization", offer_normalization},
    // row-major
    {"matmul_tiles", offer_matmul_tiles},
    {"matmul", offer_matmul},
    {"matmul_int8", offer_matmul_int8},
    {"softmax", offer_softmax},
    {"argsort", offer_argsort},
    {"non_max_suppression", offer_non_max_suppression},
    {"fourier", offer_fourier},
};

// The offers of all kernels for a node. Those that hold its weights in another form than is asked for are declined.
Offers gather_offers(const CpuProblem& problem, const CpuMachine& machine, WeightForm weights);

}  // namespace onnxc
