// One node on its own, for the tests of operator rows: made from its ONNX type, inferred, and its definition run by the
// interpreter.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/interpreter/interpreter.h"
#include "ops/op.h"
#include "passes/graph/define_node.h"
#include "passes/lowering/guard_accesses.h"

namespace onnxc {

class OneNode {
 public:
  explicit OneNode(const std::string& type, int version = 22) {
    auto node = std::make_unique<Node>();
    node->origin = {"node1", type, "", version};
    node->op = find_op("", type, version);
    internal_check(node->op != nullptr, "a row for the operator");
    node->outputs.push_back(graph_.add_value("y0"));
    node_ = graph_.insert(std::move(node));
  }

  // An input whose data is known at run time only.
  OneNode& input(Tensor data) {
    Shape shape(data.dims().begin(), data.dims().end());
    return input(std::move(data), std::move(shape));
  }
  // The same, with symbols in its shape.
  OneNode& input(Tensor data, Shape shape) {
    Value* value = graph_.add_value(fmt::format("x{}", node_->inputs.size()));
    value->dtype = data.dtype();
    value->shape = std::move(shape);
    graph_.inputs.push_back(value);
    return add(value, std::move(data));
  }
  // For tests that only look at inference.
  OneNode& input(DType dtype, Shape shape) {
    return input(Tensor::zeros(dtype, std::vector<int64_t>(shape.size(), 0)), std::move(shape));
  }
  OneNode& constant(Tensor data) {
    Value* value = graph_.add_constant(fmt::format("x{}", node_->inputs.size()), data);
    return add(value, std::move(data));
  }
  // An integer input whose elements are expressions of dims.
  OneNode& elements(std::vector<Expr> values) {
    input(Tensor::zeros(DType::int64, {static_cast<int64_t>(values.size())}));
    node_->inputs.back()->elements = std::move(values);
    return *this;
  }
  OneNode& absent() {
    node_->inputs.push_back(nullptr);
    return *this;
  }
  OneNode& attribute(const std::string& name, Attribute value) {
    node_->attributes.push_back({name, std::move(value)});
    return *this;
  }
  OneNode& outputs(size_t count) {
    while (node_->outputs.size() < count) {
      Value* value = graph_.add_value(fmt::format("y{}", node_->outputs.size()));
      value->producer = node_;
      value->output_index = node_->outputs.size();
      node_->outputs.push_back(value);
    }
    return *this;
  }

  const Node& node() const { return *node_; }

  const Value& infer(size_t output = 0) {
    const RealElements none;
    InferContext context(graph_, *node_, none);
    node_->op->infer(context);
    return *node_->outputs.at(output);
  }
  const std::vector<Guard>& guards() const { return graph_.guards; }

  // All outputs, from the node's definition.
  std::vector<Tensor> run_all(const std::map<Symbol, int64_t>& dims = {}) {
    infer();
    Program program = define_node(*node_);
    guard_accesses(program);
    verify(program);
    return interpret(program, dims, data_);
  }
  Tensor run(const std::map<Symbol, int64_t>& dims = {}) { return run_all(dims).at(0); }

  // The text of the error that inference ends with; empty when it does not.
  std::string error() {
    try {
      infer();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

 private:
  OneNode& add(Value* value, Tensor data) {
    value->uses.push_back({node_, node_->inputs.size()});
    node_->inputs.push_back(value);
    data_.push_back(std::move(data));
    return *this;
  }

  Graph graph_;
  Node* node_;
  std::vector<Tensor> data_;
};

inline Tensor float32s(std::vector<int64_t> dims, const std::vector<float>& values) {
  return Tensor::of(DType::float32, std::move(dims), values);
}
inline Tensor float64s(std::vector<int64_t> dims, const std::vector<double>& values) {
  return Tensor::of(DType::float64, std::move(dims), values);
}
inline Tensor int64s(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return Tensor::of(DType::int64, std::move(dims), values);
}
inline Tensor int32s(std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  return Tensor::of(DType::int32, std::move(dims), values);
}
inline Tensor booleans(std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
  return Tensor::of(DType::boolean, std::move(dims), values);
}

// Normally distributed numbers, the same in every run.
inline Tensor random_float32s(const std::vector<int64_t>& dims, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<size_t>(checked_product(dims)));
  for (float& value : values) value = distribution(generator);
  return float32s(dims, values);
}

// The elements as doubles (exact for every type but 64-bit integers), to be compared by gmock's matchers.
inline std::vector<double> numbers(const Tensor& tensor) { return tensor.as_double(); }

// Each element within `tolerance` of the expected one, relative to the largest expected magnitude; NaN equals NaN.
inline void expect_close(const Tensor& actual, const std::vector<double>& expected, double tolerance = 1e-6) {
  std::vector<double> found = numbers(actual);
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (double value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i << " is " << found[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(found[i], expected[i], tolerance * largest) << "element " << i;
  }
}

}  // namespace onnxc
