// Graphs for the tests of passes, written as a chain of calls. Shapes are inferred as nodes are added.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/op.h"
#include "passes/infer_shapes.h"

namespace onnxc {

class GraphBuilder {
 public:
  Graph graph;

  Value* input(const std::string& name, DType dtype, Shape shape) {
    Value* value = graph.add_value(name);
    value->dtype = dtype;
    value->shape = std::move(shape);
    graph.inputs.push_back(value);
    return value;
  }

  template <class T>
  Value* constant(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
    return graph.add_constant(next_name("c"), Tensor::of(dtype, std::move(dims), values));
  }
  Value* integers(const std::vector<int64_t>& values) {
    return constant(DType::int64, {static_cast<int64_t>(values.size())}, values);
  }
  Value* integer(int64_t value) { return constant<int64_t>(DType::int64, {}, {value}); }

  Value* node(const std::string& type, std::vector<Value*> inputs, std::vector<NamedAttribute> attributes = {},
              int version = 22) {
    auto added = std::make_unique<Node>();
    added->op = find_op("", type, version);
    internal_check(added->op != nullptr, "a row for the operator");
    added->origin = {next_name("n"), type, "", version};
    added->inputs = std::move(inputs);
    added->attributes = std::move(attributes);
    Value* output = graph.add_value(next_name("v"));
    added->outputs.push_back(output);
    graph.insert(std::move(added));
    return output;
  }

  void output(Value* value) { graph.outputs.push_back(value); }

 private:
  std::string next_name(const char* prefix) { return prefix + std::to_string(count_++); }
  int count_ = 0;
};

}  // namespace onnxc
