// Replaces subgraphs that exporters write by the one operator that means the same.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: Reshape to [N, groups, -1], InstanceNormalization, Reshape back. After: GroupNormalization, which accepts its
// input's layout. Constant scale and shift only.
//
// Before: Reshape that only adds or drops axes of 1, Add, Reshape back. After: Only the Add, with the other operand
// reshaped to lack those axes. This is the mask of a window attention, added to scores that a view gave one more axis.
// The operand's dims must be constant.
//
// Before: Einsum of two inputs that is a matrix product, such as "bhxd,bhyd->bhxy". After: MatMul, after a Transpose of
// each input whose axes stand in another order. For one axis of rows, one of columns and one that is summed, whose
// extents, and the batch's, are known to be equal in both inputs.
//
// Before: x * (1 + Erf(x / sqrt(2))) * 0.5, with the half at the end or at x. After: Gelu, which has no division and is
// one reader of x, so that a kernel's epilogue takes it.
//
// Before: GatherND, after a Transpose that brings the upsampled axes to the front; each place is (position + 0.5) /
// factor, cut; a Transpose back. After: Resize. So exporters write nearest-exact upsampling. The places may be
// constant, or made of a Range that counts to a size. The factors must be whole. Beyond 2^22 elements along an axis
// float32 does not tell positions apart, and the Resize differs.
//
// Masks and guards of an attention: recognize_attention.h.
//
// Before: ReduceMean over all spatial axes, which are kept as 1. After: GlobalAveragePool.
void recognize_operators(Graph& graph);

}  // namespace onnxc
