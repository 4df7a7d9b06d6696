// The operator definition's view of a node: its operands, and how it adds the steps that compute its outputs.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/nest_builder.h"
#include "ops/node_reader.h"

namespace onnxc {

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

  // The dims that the rule made, in the order in which it made them.
  Shape run_time_dims() const;
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

}  // namespace onnxc
