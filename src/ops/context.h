// The vocabulary of operator rows: inference of a node's outputs, and construction of its loop nests.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program/program.h"
#include "ops/node_reader.h"

namespace onnxc {

// The dim that these broadcast to, where guards hold that each is 1 or that dim: the largest, but 0 where one is 0.
Expr broadcast_extent(const std::vector<Expr>& dims);

class InferContext : public NodeReader {
 public:
  InferContext(Graph& graph, Node& node) : NodeReader(node), graph_(graph), mutable_node_(node) {}

  // Sets an output; does nothing for one that nobody wants.
  void output(size_t i, DType dtype, Shape shape);
  void output_elements(size_t i, std::vector<Expr> elements);
  // A dim of an output that is known only at run time; the definition binds it (DefineContext::bind).
  Expr run_time_dim(size_t output, size_t axis, Bounds bounds = {0, Bounds::infinity});
  // Any other number that is known only at run time.
  Expr run_time_symbol(std::string_view name, Bounds bounds, std::string_view what);
  std::vector<Expr> needed_elements(size_t i, std::string_view role) const override;
  // Fails where it is no boolean of one element.
  static void check_condition(const Value& value);
  // A boolean as 0 or 1: a constant, or a symbol that a run gives its value.
  static Expr truth(Graph& graph, Value& value);

  // a and b must be the same dim: fails if they cannot be, adds a guard if that is not proven. Returns the simpler one.
  Expr same(const Expr& a, const Expr& b, std::string_view what);
  void at_least(const Expr& a, const Expr& b, std::string_view what);
  // Input i must hold one number; `role` is the input's in messages.
  void one_number(size_t i, std::string_view role);
  // An axis of this extent must hold something to read where `reads`, which is not negative, is more than 0.
  void not_empty(const Expr& extent, const Expr& reads, std::string_view what);
  // Multidirectional broadcasting (ONNX Broadcasting). Unknown dims that may turn out 1 are decided at run time.
  Expr broadcast(const Expr& a, const Expr& b);
  Shape broadcast(const Shape& a, const Shape& b);

 private:
  Graph& graph_;
  Node& mutable_node_;
};

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

// Builds the steps of one node.
class DefineContext : public NodeReader {
 public:
  // `buffer_of` gives the buffer of a value of the graph.
  DefineContext(const Node& node, Program& program, std::function<BufferId(const Value&)> buffer_of)
      : NodeReader(node), program_(program), buffer_of_(std::move(buffer_of)) {}

  Operand in(size_t i) const;
  Operand out(size_t i) const;
  Operand temporary(std::string_view role, DType dtype, Shape shape);
  Operand constant_operand(std::string_view role, Tensor tensor);
  // The same elements in row-major order under another shape (Reshape, Flatten, Squeeze): an alias of a row-major
  // operand, a copy of any other.
  Operand reshaped(const Operand& operand, Shape shape);

  void emit(NestBuilder nest);
  void emit(LoopBegin loop);
  void emit(LoopEnd loop);

  // Binds the dims that the rule made (InferContext::run_time_dim) to these values, int64 scalars. To be called before
  // anything that uses the dims is emitted.
  void bind(const std::vector<Expr>& dims, const std::vector<Scalar>& values);

  // out(indices) = value(indices), over every element of the output.
  void elementwise(const std::function<Scalar(const std::vector<Expr>& indices)>& value, size_t output_index = 0);
  // out(indices) = in(source(indices)), of the first output and the first input.
  void copy(const std::function<std::vector<Expr>(const std::vector<Expr>& indices)>& source);

 private:
  Operand operand(BufferId id) const;
  Program& program_;
  std::function<BufferId(const Value&)> buffer_of_;
};

// Whether a size holds a symbol that may be negative in a run.
bool may_be_negative(const Expr& size);

// Tests on indices, as boolean scalars.
Scalar less(const Expr& a, const Expr& b);
Scalar within(const Expr& index, const Expr& extent);  // 0 <= index < extent
Scalar both(const Scalar& a, const Scalar& b);         // and; folds constants; empty operands count as true

}  // namespace onnxc
