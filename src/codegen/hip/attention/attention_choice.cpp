#include "codegen/hip/attention/attention_choice.h"

#include <algorithm>

namespace onnxc {

using kernels::FlashAttentionPlan;

namespace {

// Cycles of a SIMD unit for the queries of a block and 32 keys: if other blocks of the unit work meanwhile, and if the
// block has its unit to itself.
struct AttentionStep {
  double busy, alone;
  GpuBound bound;  // of the busy one
};

double product_cycles(const FlashAttentionPlan& plan, const GpuMachine& gpu) {
  return static_cast<double>(plan.padded_depth() + plan.padded_columns(gpu)) / 16 *
         static_cast<double>(kernels::product_cycles(plan.products, gpu));
}

// The vector unit folds 16 scores a lane, scales the sums, and brings the next keys.
AttentionStep mfma_step(const FlashAttentionPlan& plan, const GpuMachine& gpu) {
  const double products = product_cycles(plan, gpu);
  const auto fetched = static_cast<double>(plan.fetched_elements());
  const double vector =
      (plan.scores_change_lanes(gpu) ? 1000 : 700) + 64 * static_cast<double>(plan.column_tiles()) + 40 * fetched;
  // Products of float32 and the vector unit exclude each other.
  const double busy = kernels::is_half(plan.products) ? std::max(products, vector) : products + vector;
  return {busy, products + vector + 200 + 15 * fetched, GpuBound::matrix_unit};
}

// Counted in the instructions of a thread: some ten for each of its 16 scores, one to scale each sum, five for each
// element that it brings. A quarter of a unit makes 4 exponentials a cycle (CUDA C++ Programming Guide, "Arithmetic
// Instructions"), a SIMD unit of RDNA 8 (RDNA white paper). Each of eight wavefronts reads all keys and values from
// LDS, on RDNA3 twice.
AttentionStep narrow_step(const FlashAttentionPlan& plan, const GpuMachine& gpu) {
  constexpr double scores = 16;
  const double powers_a_cycle = machine::multiplies_by_wmma(gpu) ? 8 : 4;
  const int64_t reads = gpu.matrix_unit == machine::MatrixUnit::wmma ? 16 : 8;
  const double threads = static_cast<double>(kernels::nest_threads) / gpu.simds,
               sums = static_cast<double>(plan.padded_columns(gpu)) / 2;
  const double instructions = 10 * scores + sums + 5 * static_cast<double>(plan.fetched_elements()) + 60;
  const double products = product_cycles(plan, gpu),
               vector = threads * std::max(instructions / gpu.vector_products_a_cycle, scores / powers_a_cycle);
  const int64_t read_elements = FlashAttentionPlan::tile * (plan.padded_depth() + plan.padded_columns(gpu));
  const double lds =
      machine::cycles_for(static_cast<double>(reads * read_elements * plan.element_bytes()), gpu.lds_bytes_a_cycle);
  const double busy = std::max({products, vector, lds});
  const GpuBound bound = busy == products ? GpuBound::matrix_unit
                         : busy == vector ? GpuBound::vector_unit
                                          : GpuBound::lds;
  // Two warps of a quarter hardly hide each other's waiting.
  constexpr double exposed = 420;
  return {busy, products + vector + exposed, bound};
}

}  // namespace

GpuEstimate estimate_attention(const FlashAttentionPlan& plan, const kernels::FlashAttentionSizes& sizes,
                               const GpuMachine& gpu) {
  const AttentionStep step = FlashAttentionPlan::has_mfma(gpu) ? mfma_step(plan, gpu) : narrow_step(plan, gpu);
  constexpr double block_cycles = 3000;  // what begins and ends a block
  const auto steps = static_cast<double>(kernels::divide_up(sizes.keys, FlashAttentionPlan::tile));
  const int64_t blocks = kernels::divide_up(std::max(sizes.blocks(), int64_t{1}), int64_t{gpu.compute_units});
  const int64_t rounds = kernels::divide_up(blocks, plan.blocks_a_unit(gpu));
  const double busy = static_cast<double>(blocks) * steps * step.busy,
               waiting = static_cast<double>(rounds) * (steps * step.alone + block_cycles);
  const double cycles = std::max(busy, waiting);
  return {cycles / gpu.clock_megahertz, cycles, waiting > busy ? GpuBound::latency : step.bound};
}

}  // namespace onnxc
