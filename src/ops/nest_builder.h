// Builds loop nests over tensors.
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"

namespace onnxc {

// A tensor as definitions see it: calling it with logical indices loads an element.
struct Operand {
  BufferId buffer;
  DType dtype;
  Shape shape;

  size_t rank() const { return shape.size(); }
  // As stored.
  Scalar operator()(std::vector<Expr> indices) const;
  // In the type that arithmetic is done in: float32 for the half types.
  Scalar compute(std::vector<Expr> indices) const;
  // The indices, aligned at the last axis, of the element that broadcasts to `indices` of a tensor of at least this
  // rank: a dim of 1 reads index 0, even if only a run knows that it is 1.
  std::vector<Expr> broadcast_indices(const std::vector<Expr>& indices) const;
};

// Builds one loop nest.
class NestBuilder {
 public:
  explicit NestBuilder(std::string name) { nest_.name = std::move(name); }

  // Axes, as expressions to be used in indices. `parallel(shape)` makes one a dim.
  Expr parallel(const Expr& extent);
  std::vector<Expr> parallel(const Shape& shape);
  Expr ordered(const Expr& extent);
  Expr reduce(const Expr& extent);
  std::vector<Expr> reduce(const Shape& shape);
  // Binds an int64 scalar (cast if it is another integer) so that it may be used in indices.
  Expr let(const Scalar& value);
  // The result of folding `element` over the reduce axes. Sums and products of half types are float32.
  Scalar accumulate(ReduceKind kind, const Scalar& element, const Expr& position = 0);
  // Stores, converting between floating types where needed; other conversions must be written as casts.
  void store(const Operand& output, std::vector<Expr> indices, const Scalar& value, StoreKind kind = StoreKind::assign,
             const Scalar& condition = {});

  LoopNest take() { return std::move(nest_); }

 private:
  Expr add_axis(const Expr& extent, AxisKind kind);
  LoopNest nest_;
};

// to = from, over every element.
NestBuilder copy_nest(std::string name, const Operand& to, const Operand& from);

// Tests on indices, as boolean scalars.
Scalar less(const Expr& a, const Expr& b);
Scalar within(const Expr& index, const Expr& extent);  // 0 <= index < extent
Scalar both(const Scalar& a, const Scalar& b);         // and; folds constants; empty operands count as true

}  // namespace onnxc
