#include "codegen/hip/attention/attention_choice.h"

#include <algorithm>

namespace onnxc {

using kernels::FlashAttentionPlan;

GpuEstimate estimate_attention(const FlashAttentionPlan& plan, const kernels::FlashAttentionSizes& sizes,
                               const GpuMachine& gpu) {
  // Cycles of a wavefront and 32 keys. The vector unit folds 16 scores a lane, scales the sums, and brings the next
  // keys.
  const double products = static_cast<double>(plan.padded_depth() + plan.column_tiles() * FlashAttentionPlan::tile) /
                          16 * static_cast<double>(kernels::product_cycles(plan.products, gpu));
  const auto fetched = static_cast<double>(plan.fetched_elements());
  const double vector =
      (plan.scores_change_lanes ? 1000 : 700) + 64 * static_cast<double>(plan.column_tiles()) + 40 * fetched;
  // Products of float32 and the vector unit exclude each other.
  const double step = kernels::is_half(plan.products) ? std::max(products, vector) : products + vector;
  // A step of a block that has its unit to itself, and what begins and ends a block.
  const double alone = products + vector + 200 + 15 * fetched;
  constexpr double block_cycles = 3000;
  const auto steps = static_cast<double>(kernels::divide_up(sizes.keys, FlashAttentionPlan::tile));
  const int64_t blocks = kernels::divide_up(std::max(sizes.blocks(), int64_t{1}), int64_t{gpu.compute_units});
  const int64_t rounds = kernels::divide_up(blocks, plan.blocks_a_unit(gpu));
  const double busy = static_cast<double>(blocks) * steps * step,
               waiting = static_cast<double>(rounds) * (steps * alone + block_cycles);
  const double cycles = std::max(busy, waiting);
  const GpuBound bound = waiting > busy ? GpuBound::latency : GpuBound::matrix_unit;
  return {cycles / gpu.clock_megahertz, cycles, bound};
}

}  // namespace onnxc
