// A convolution whose reduction is split into parts, and the normalisation of its result by channel or group of
// channels: two launches in place of three.
//
// Method: each block of the first kernel stores its sums to the tensor of its part. A block of the second one adds the
// parts of its lines in their order, applies the convolution's epilogue (the inner one), and normalises what it holds
// in registers. The result is never rounded to 16 bits between the two.
//
// Bound by: the latency of the second kernel's loads, which a few blocks make. Limits: channels in blocks, lines that a
// block holds, sizes that are known when the model is compiled.
#pragma once

#include "kernels/hip/fused/normalized_parts_geometry.h"
#include "kernels/hip/gemm/implicit_gemm.h"
#include "kernels/hip/memory_bound/normalized_lines.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Elements from one part to the next.
template <class Input, class Weight>
__device__ inline int64_t part_size(const GemmArguments<Input, Weight, float>& product) {
  return product.output_view.batch * product.sizes.batch;
}

template <GemmPlan plan, class Input, class Weight>
__device__ inline void store_parts(const GemmArguments<Input, Weight, float>& product) {
  using Gemm = GemmOf<plan, Input, Weight, float>;
  __shared__ typename Gemm::DeclaredShared shared;
  const GemmLaunch& launch = product.launch;
  Gemm gemm(product, block_of_xcd(static_cast<uint32_t>(block_index()), launch.tiles * launch.parts, own_gpu.xcds),
            Gemm::shared_in(shared));
  gemm.reduce();
  gemm.store_sums(gemm.product, [](float sum, auto...) { return sum; }, gemm.part * part_size(product));
}
template <GemmPlan plan, class Arguments, class Inner, class Epilogue>
__device__ inline void product_parts(const Arguments& arguments, const Inner& /*inner*/, const Epilogue& /*epilogue*/) {
  store_parts<plan>(arguments.product);
}

template <LinePlan plan, class Input, class Weight, class Output, class Inner, class Epilogue>
__device__ inline void normalized_parts(const NormalizedPartsArguments<Input, Weight, Output>& arguments,
                                        const Inner& inner, const Epilogue& epilogue) {
  using L = Line<plan, float>;
  static_assert(plan.always_fits());
  const L line(arguments.lines, static_cast<uint32_t>(block_index()));
  LineStore<plan, float, Output, Epilogue> output(line, arguments.lines, epilogue);
  float values[L::count];
  line.load_sums(0, static_cast<int32_t>(arguments.product.launch.parts), part_size(arguments.product), values);
  output.apply(inner, 0, values);
  LineStatistics<plan.kind> statistics;
  statistics.normalize(line, values, arguments.lines.epsilon);
  output.store(0, values);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
