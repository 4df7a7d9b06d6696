// Shared by the kernel specs: constants made at compile time, the epilogue that a call starts with, and the text of
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

// Spatial axes as depth, height, width: missing leading axes get extent 1 and a kernel of 1.
std::array<WindowAxis, 3> three_axes(const std::vector<WindowAxis>& axes);
kernels::Axes gather(const std::array<WindowAxis, 3>& axes, int64_t WindowAxis::* member);

// The C type of a buffer's elements.
std::string_view c_type(const Program& program, BufferId id);
// One to three spatial axes.
bool is_within_rank(const Value& value);

std::vector<float> as_float(const Tensor& tensor);

// Adds parameters in their logical order, as float32 or in their own type, to the constants of a program.
BufferId add_parameters(Program& program, std::string name, std::vector<float> values);
BufferId add_parameters(Program& program, std::string name, Tensor values);
// Adds weights in a kernel's own order; they may be of any type.
BufferId add_packed(Program& program, std::string name, Tensor packed);
// The elements in one axis, without a copy: float32, the bits of a 16-bit type, and uint8.
Tensor as_tensor(std::vector<float> elements);
Tensor as_tensor(std::vector<uint16_t> bits, DType dtype);
Tensor as_tensor(std::vector<uint8_t> bytes);

// A float32 temporary that one kernel writes and another reads.
BufferId add_temporary(Program& program, std::string name, Shape shape);

// Emits the nests of an InstanceNormalization or GroupNormalization whose statistics a kernel has computed: float32 [3,
// N, groups], the means, the means' rounding residues, and the population variances.
void define_by_moments(const Node& node, const Expr& groups, BufferId moments, LoweringContext& context);

// The epilogue that stores the kernel's result, in the type of the output, at each point.
Epilogue plain_epilogue(const Value& output, DType accumulator = DType::float32);
// The epilogue of a MatMul: the result; of a Gemm: alpha * result + beta * C.
Epilogue product_epilogue(const Node& node, LoweringContext& context);

// The distance in memory, in elements, of `step` elements along an axis of a buffer.
Expr axis_stride(const Program& program, BufferId id, size_t axis, int64_t step = 1);
// 0 for an axis that the buffer lacks.
Expr axis_stride(const Program& program, BufferId id, const std::optional<size_t>& axis, int64_t step = 1);

// ---- from calls to text

std::string braced(const std::vector<std::string>& parts);
std::string braced(const kernels::Axes& axes);
// {d, h, w} of one member of the axes.
std::string braced(const KernelText& text, const std::array<WindowAxis, 3>& axes, Expr WindowAxis::* member);
// A BlockedView of a buffer in NCHWc, or of one in NCHW as blocks of one channel.
std::string blocked_view(const KernelText& text, BufferId id);
// "3x3x3"
std::string describe(const kernels::Axes& axes);

}  // namespace onnxc
