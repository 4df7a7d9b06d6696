// A convolution whose reduction is split into parts, and the normalisation of its result by channel or group of
// channels, if a block does not hold a channel's voxels: three launches in place of four.
//
// Method: the parts are those of normalized_parts.h. The second kernel adds them chunk by chunk, applies the
// convolution's epilogue (the inner one), stores the result in the place of the normalised one, and has the statistics
// of its elements, as partial_moments has them. The kernels after it are those of normalized_chunks.h, in place.
//
// Limits: channels in blocks, rows of whole chunks, sizes that are known when the model is compiled.
#pragma once

#include "kernels/hip/fused/moments_of_parts_geometry.h"
#include "kernels/hip/fused/normalized_parts.h"
#include "kernels/hip/memory_bound/normalized_chunks.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The plan of the rows of the parts, which are a buffer of their own.
constexpr RowPlan of_parts(RowPlan plan) {
  plan.input = RowMemory::whole;
  return plan;
}

template <RowPlan rows_plan, class Input, class Weight, class Output, class Inner, class Epilogue>
__device__ inline void moments_of_parts(const MomentsOfPartsArguments<Input, Weight, Output>& arguments,
                                        const Inner& inner, const Epilogue& /*epilogue*/) {
  constexpr RowPlan plan = of_parts(rows_plan);
  using R = Row<plan, float>;
  const auto& rows = arguments.rows.rows;
  const RowLaunch& launch = rows.launch;
  const struct {
    const float* input;
    const RowLaunch& launch;
    const RowView& input_view;
  } parts = {arguments.product.output, launch, rows.input_view};
  const auto block = static_cast<uint32_t>(block_index());
  const R row(parts, launch.parts.quotient(block));
  const PartOfRow part(launch, row.columns, block);
  RowStore<plan, float, Output, Inner> output(row, rows, inner);
  RowStatistics<RowKind::moments> statistics;
  float values[R::count];
#pragma clang loop unroll(disable)
  for (int32_t begin = part.begin; begin < part.end; begin += R::capacity) {
    row.load_sums(begin, static_cast<int32_t>(arguments.product.launch.parts), part_size(arguments.product), values);
    output.store(begin, values);
    statistics.add(row, begin, values, 0.0f);
  }
  store_moments(row, part, statistics, launch, arguments.rows.partial);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
