// A program under construction, for tests: buffers become operands that nests are built with.
#pragma once

#include <map>
#include <vector>

#include "ir/interpreter/interpreter.h"
#include "ops/nest_builder.h"

namespace onnxc {

class ProgramBuilder {
 public:
  Program program;

  Operand input(DType dtype, Shape shape) {
    Operand operand = add(BufferKind::input, dtype, std::move(shape));
    program.inputs.push_back(operand.buffer);
    return operand;
  }
  Operand output(DType dtype, Shape shape) {
    Operand operand = add(BufferKind::output, dtype, std::move(shape));
    program.outputs.push_back(operand.buffer);
    return operand;
  }
  Operand temporary(DType dtype, Shape shape) { return add(BufferKind::temporary, dtype, std::move(shape)); }
  Operand temporary(DType dtype, Shape shape, Layout layout) {
    Operand operand = add(BufferKind::temporary, dtype, std::move(shape));
    program.buffer(operand.buffer).layout = std::move(layout);
    return operand;
  }
  Operand constant(Tensor tensor) {
    Operand operand = add(BufferKind::constant, tensor.dtype(), Shape(tensor.dims().begin(), tensor.dims().end()));
    program.buffer(operand.buffer).constant = std::move(tensor);
    return operand;
  }
  Operand view(const Operand& parent, Shape shape, std::vector<Expr> shift) {
    Operand operand = add(BufferKind::temporary, parent.dtype, std::move(shape));
    program.buffer(operand.buffer).layout = program.buffer(parent.buffer).layout;
    program.buffer(operand.buffer).view = Buffer::View{parent.buffer, std::move(shift)};
    return operand;
  }
  Operand alias(const Operand& parent, Shape shape) {
    Operand operand = add(BufferKind::temporary, parent.dtype, std::move(shape));
    program.buffer(operand.buffer).alias = Buffer::Alias{parent.buffer};
    return operand;
  }
  void add(NestBuilder nest) { program.steps.push_back({nest.take(), {}}); }

  // out[i...] = value(i...)
  template <class Value>
  void elementwise(const std::string& name, const Operand& output, Value value) {
    NestBuilder nest(name);
    std::vector<Expr> indices = nest.parallel(output.shape);
    nest.store(output, indices, value(indices));
    add(std::move(nest));
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const std::map<Symbol, int64_t>& dims = {}) const {
    verify(program);
    return interpret(program, dims, inputs);
  }

 private:
  Operand add(BufferKind kind, DType dtype, Shape shape) {
    Layout layout = Layout::row_major(shape.size());
    BufferId id = program.add({.name = {},
                               .dtype = dtype,
                               .shape = shape,
                               .layout = std::move(layout),
                               .kind = kind,
                               .constant = {},
                               .is_packed = false,
                               .view = {},
                               .alias = {},
                               .packs = {}});
    program.buffer(id).name = "v" + std::to_string(id);
    return {id, dtype, std::move(shape)};
  }
};

// Small integers as floats: sums of products of them are exact, so that results can be compared for equality.
inline std::vector<float> small_integers(size_t count, int64_t seed) {
  std::vector<float> values;
  uint64_t state = static_cast<uint64_t>(seed) * 2654435761u + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<float>(static_cast<int64_t>(state >> 60) - 7));
  }
  return values;
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  std::span<const T> span = tensor.values<T>();
  return {span.begin(), span.end()};
}

}  // namespace onnxc
