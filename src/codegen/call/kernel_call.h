// What the kernel specs share: constants made at compile time, the epilogue that a call starts with, and the text of
// sizes and views.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/call/kernel_text.h"
#include "kernels/shared/conv_shape.h"
#include "ops/network/conv_spec.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// ---- from nodes to calls

// Spatial axes as depth, height, width: what is missing in front has extent 1 and a kernel of 1.
std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes);
kernels::Axes gather(const std::array<WindowAxis, 3>& axes, int64_t WindowAxis::* member);

// Of the elements of a buffer.
std::string_view c_type(const Program& program, BufferId id);
// One to three spatial axes.
bool is_within_rank(const Value& value);

std::vector<float> as_float(const Tensor& tensor);

// A constant of the program's own. `is_packed` says that its order is a kernel's.
BufferId add_constant(Program& program, std::string name, std::vector<float> values, bool is_packed);

// Float32 that a kernel writes and another one reads.
BufferId add_temporary(Program& program, std::string name, Shape shape);

// The nests of an InstanceNormalization or GroupNormalization behind statistics that a kernel has made: float32 [3, N,
// groups], the means, what is left of these, and the population variances.
void define_by_moments(const Node& node, const Expr& groups, BufferId moments, LoweringContext& context);

// The kernel's result in the type of the output, at each of its points.
Epilogue plain_epilogue(const Value& output);
// Of a MatMul the result alone; of a Gemm alpha * result + beta * C.
Epilogue product_epilogue(const Node& node, LoweringContext& context);

// The way of `step` elements along an axis of a buffer, in elements of its memory.
Expr axis_stride(const Program& program, BufferId id, size_t axis, int64_t step = 1);
// 0 for an axis that the buffer lacks.
Expr axis_stride(const Program& program, BufferId id, const std::optional<size_t>& axis, int64_t step = 1);

// ---- from calls to text

std::string braced(const std::vector<std::string>& parts);
std::string braced(const kernels::Axes& axes);
// {d, h, w} of one member of the axes.
std::string braced(const KernelText& text, const std::array<WindowAxis, 3>& axes, Expr WindowAxis::* member);
// A BlockedView of a buffer in blocked layout, or of a planar one as blocks of one channel.
std::string blocked_view(const KernelText& text, BufferId id);
// "3x3x3"
std::string describe(const kernels::Axes& axes);

}  // namespace onnxc
