// Axes that a node is given as numbers, which may be known only when the model runs. An axis of the tensor is then in
// the list or not by an expression that is 1 or 0.
#pragma once

#include <vector>

#include "ops/context.h"

namespace onnxc {

// Whether any of them is not known when the model is compiled.
bool any_unknown(const std::vector<Expr>& axes);
// 1 where `value`, counted from either end of a tensor of this rank, is `axis`; else 0.
Expr is_axis(const Expr& value, size_t axis, size_t rank);
// For each axis of a tensor of this rank, 1 where it is in the list, else 0.
std::vector<Expr> listed_axes(const std::vector<Expr>& values, size_t rank);
// Values that are not known are guarded to lie in [-rank, rank).
void guard_axes(InferContext& c, const std::vector<Expr>& values, size_t rank);

// The dims that are left of a shape without the `count` axes that are listed, as expressions.
Shape without_axes(const Shape& shape, const std::vector<Expr>& listed, size_t count);
// The dims of a shape with an axis of 1 at each of the listed axes; `listed` has an element for each axis of the
// result.
Shape with_axes(const Shape& shape, const std::vector<Expr>& listed);

// Sets output 0, the elements of `from` in another shape: a symbol for each dim, since their expressions are long. The
// definition binds them with `bind_dims` before anything else.
void output_with_dims(InferContext& c, DType dtype, const Shape& dims, const Shape& from);
void bind_dims(DefineContext& c, const Shape& dims);

}  // namespace onnxc
