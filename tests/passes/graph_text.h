// Tests of graph passes as text: a graph before, in ONNX's textual form, and what a pass makes of it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "expected_text.h"
#include "frontend/model_helpers.h"
#include "ir/graph.h"
#include "passes/graph/infer_shapes.h"

namespace onnxc {

// Makes constants of small integers from what the list in front of the nodes declares without a value.
inline void fill_constants(onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& declared : graph.value_info()) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(declared.name());
    tensor.set_data_type(declared.type().tensor_type().elem_type());
    int64_t size = 1;
    for (const auto& dim : declared.type().tensor_type().shape().dim()) {
      tensor.add_dims(dim.dim_value());
      size *= dim.dim_value();
    }
    for (int i = 0; i < size; ++i) {
      const int element = (i * 7 + 6) % 11 - 5;
      if (tensor.data_type() == onnx::TensorProto::FLOAT) {
        tensor.add_float_data(static_cast<float>(element));
      } else {
        tensor.add_int32_data(element);
      }
    }
  }
  graph.clear_value_info();
}

// The importer's graph for a text such as
//
//     (float[N, 4] x) => (y) <float[4] w, int64[1] axes = {1}> { a = Add(x, w)  y = ReduceSum(a, axes) }
inline std::unique_ptr<Graph> read_graph(const std::string& text) {
  onnx::ModelProto model = parse_graph(text, 22);
  fill_constants(*model.mutable_graph());
  return import_graph(model);
}

// The same with shapes, as every pass but the first finds it.
inline std::unique_ptr<Graph> read_shaped_graph(const std::string& text) {
  std::unique_ptr<Graph> graph = read_graph(text);
  infer_shapes(*graph);
  return graph;
}

inline std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs) names.push_back(output->name);
  return names;
}

// The text of a graph with shapes after the pass, which must keep the outputs' names.
inline std::string after(const std::string& before, const std::function<void(Graph&)>& pass) {
  const std::unique_ptr<Graph> graph = read_shaped_graph(before);
  const std::vector<std::string> names = output_names(*graph);
  pass(*graph);
  verify(*graph);
  EXPECT_EQ(output_names(*graph), names);
  return to_string(*graph);
}

}  // namespace onnxc
