// The expected cost of attention in one kernel, by the cost model of matrix products (gemm_choice.h).
#pragma once

#include "codegen/hip/gemm/gemm_choice.h"
#include "kernels/hip/attention/attention_geometry.h"

namespace onnxc {

GpuEstimate estimate_attention(const kernels::FlashAttentionPlan& plan, const kernels::FlashAttentionSizes& sizes,
                               const GpuMachine& gpu);

}  // namespace onnxc
