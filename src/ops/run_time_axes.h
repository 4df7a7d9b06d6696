// Axes that a node is given as numbers, which may be known only when the model runs. An axis of the tensor is then in
// the list or not by an expression that is 1 or 0.
#pragma once

#include <vector>

#include "ops/infer_context.h"
#include "ops/nest_builder.h"

namespace onnxc {

// Whether any of them is not known when the model is compiled.
bool any_unknown(const std::vector<Expr>& axes);
// 1 if `value`, counted from either end of a tensor of this rank, is `axis`; else 0.
Expr is_axis(const Expr& value, size_t axis, size_t rank);
// For each axis of a tensor of this rank, 1 if it is in the list, else 0.
std::vector<Expr> listed_axes(const std::vector<Expr>& values, size_t rank);
// Guards that they lie in [-rank, rank) and are different ones.
void guard_axes(InferContext& c, const std::vector<Expr>& values, size_t rank);

// The dims of a shape without the axes that are listed, or with an axis of 1 at each of them (`listed` then has an
// element for each axis of the result). A run computes them, since they are long as expressions of sizes.
std::vector<Scalar> dims_without_axes(const Shape& shape, const std::vector<Expr>& listed, size_t count);
std::vector<Scalar> dims_with_axes(const Shape& shape, const std::vector<Expr>& listed);
// For each axis, its extent if it is listed and 1 if it is not, or the other way round.
std::vector<Scalar> extents_where(bool is_listed, const Shape& shape, const std::vector<Expr>& listed);
// The symbols that a node binds, in the order in which its rule made them.
std::vector<Expr> symbols_of(const Node& node);
// Sets output 0 to that many dims, which only a run knows; the definition binds them. A guard says how many elements.
void output_of_rank(InferContext& c, DType dtype, size_t rank, const Expr& elements);

}  // namespace onnxc
