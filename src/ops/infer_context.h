// The operator rule's view of a node: its inputs, and how it sets the types and shapes of its outputs.
#pragma once

#include <string_view>
#include <vector>

#include "ir/interpreter/symbolic_evaluation.h"
#include "ops/node_reader.h"

namespace onnxc {

// The dim that these broadcast to, if guards hold that each is 1 or that dim: the largest, but 0 if one is 0.
Expr broadcast_extent(const std::vector<Expr>& dims);

// Whether a size holds a symbol that may be negative in a run.
bool may_be_negative(const Expr& size);

class InferContext : public NodeReader {
 public:
  InferContext(Graph& graph, Node& node, const RealElements& reals)
      : NodeReader(node), graph_(graph), mutable_node_(node), reals_(reals) {}

  // The one element of input i, of any numeric type, if it is known and whole: 2*D of Cast(2*D).
  std::optional<Expr> whole_number(size_t i) const;

  // Sets an output; does nothing for one that nobody wants.
  void output(size_t i, DType dtype, Shape shape);
  void output_elements(size_t i, std::vector<Expr> elements);
  // A dim of an output that is known only at run time; the definition binds it (DefineContext::bind).
  Expr run_time_dim(size_t output, size_t axis, Bounds bounds = {0, Bounds::infinity});
  // Any other number that is known only at run time.
  Expr run_time_symbol(std::string_view name, Bounds bounds, std::string_view what);
  std::vector<Expr> needed_elements(size_t i, std::string_view role) const override;
  // Says that the node draws random numbers (ops/random/random_numbers.h).
  void draws_random_numbers();
  // Fails if it is not a boolean of one element.
  static void check_condition(const Value& value);
  // A boolean as 0 or 1: a constant, or a symbol that a run gives its value.
  static Expr truth(Graph& graph, Value& value);

  // a and b must be the same dim: fails if they cannot be, adds a guard if that is not proven. Returns the simpler one.
  Expr same(const Expr& a, const Expr& b, std::string_view what);
  void at_least(const Expr& a, const Expr& b, std::string_view what);
  // Input i must hold one number; `role` is the input's in messages.
  void one_number(size_t i, std::string_view role);
  // An axis of this extent must hold something to read if `reads`, which is not negative, is more than 0.
  void not_empty(const Expr& extent, const Expr& reads, std::string_view what);
  // Requires that a dim is 1, which a run may decide, or equal to another.
  void one_or_same(const Expr& dim, const Expr& other, const std::string& what);
  // Multidirectional broadcasting (ONNX Broadcasting). Unknown dims that may turn out 1 are decided at run time.
  Expr broadcast(const Expr& a, const Expr& b);
  Shape broadcast(const Shape& a, const Shape& b);

 private:
  Graph& graph_;
  Node& mutable_node_;
  const RealElements& reals_;
};

}  // namespace onnxc
