// A convolution whose reduction is split into parts, and the normalisation of its result by channel or group of
// channels, if a block does not hold a channel's voxels: three launches in place of four.
//
// Method: the parts are those of normalized_parts.h. The second kernel adds them chunk by chunk, applies the
// convolution's epilogue (the inner one), stores the result in the place of the normalised one, and has the statistics
// of its elements, as partial_moments has them. The kernels after it are those of normalized_chunks.h, in place.
//
// Limits: channels in blocks, lines of whole chunks, sizes that are known when the model is compiled.
#pragma once

#include "kernels/hip/fused/moments_of_parts_geometry.h"
#include "kernels/hip/fused/normalized_parts.h"
#include "kernels/hip/memory_bound/normalized_chunks.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The plan of the lines of the parts, which are a buffer of their own.
constexpr LinePlan of_parts(LinePlan plan) {
  plan.input = LineMemory::whole;
  return plan;
}

template <LinePlan lines_plan, class Input, class Weight, class Output, class Inner, class Epilogue>
__device__ inline void moments_of_parts(const MomentsOfPartsArguments<Input, Weight, Output>& arguments,
                                        const Inner& inner, const Epilogue& /*epilogue*/) {
  constexpr LinePlan plan = of_parts(lines_plan);
  using L = Line<plan, float>;
  const auto& lines = arguments.lines.lines;
  const LineLaunch& launch = lines.launch;
  const struct {
    const float* input;
    const LineLaunch& launch;
    const LineView& input_view;
  } parts = {arguments.product.output, launch, lines.input_view};
  const auto block = static_cast<uint32_t>(block_index());
  const L line(parts, launch.parts.quotient(block));
  const PartOfLine part(launch, line.columns, block);
  LineStore<plan, float, Output, Inner> output(line, lines, inner);
  LineStatistics<LineKind::moments> statistics;
  float values[L::count];
#pragma clang loop unroll(disable)
  for (int32_t begin = part.begin; begin < part.end; begin += L::capacity) {
    line.load_sums(begin, static_cast<int32_t>(arguments.product.launch.parts), part_size(arguments.product), values);
    output.store(begin, values);
    statistics.add(line, begin, values, 0.0f);
  }
  store_moments(line, part, statistics, launch, arguments.lines.partial);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
