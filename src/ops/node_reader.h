// Reads a node's attributes and inputs, for all code that needs them: operators' rows and the choice of kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "support/diagnostics.h"

namespace onnxc {

// Attributes and inputs of a node, with errors that name it.
class NodeReader {
 public:
  explicit NodeReader(const Node& node) : node_(node) {}
  NodeReader(const NodeReader&) = delete;
  NodeReader& operator=(const NodeReader&) = delete;
  virtual ~NodeReader() = default;

  const Node& node() const { return node_; }
  int version() const { return node_.origin.version; }

  size_t input_count() const { return node_.inputs.size(); }
  size_t output_count() const { return node_.outputs.size(); }
  bool has_input(size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != nullptr; }
  bool has_output(size_t i) const { return i < node_.outputs.size() && node_.outputs[i] != nullptr; }
  // Fails naming the input when it is absent.
  const Value& input(size_t i) const;
  DType dtype(size_t i) const { return input(i).dtype; }
  const Shape& shape(size_t i) const;
  size_t rank(size_t i) const { return shape(i).size(); }
  // The values of an integer input known at compile time, as expressions; nothing when they depend on data.
  std::optional<std::vector<Expr>> elements(size_t i) const;
  // The same for an input that shapes depend on: data-dependent elements become symbols that a run binds. Fails for
  // more than a few such elements, or for a data-dependent number of them. `role` names the input in messages.
  virtual std::vector<Expr> needed_elements(size_t i, std::string_view role) const;
  // The values of a constant input; null when it is not a constant.
  const Tensor* constant(size_t i) const;

  // Attributes: the default if absent; a failure naming the attribute if it has another type.
  bool has_attribute(std::string_view name) const { return node_.find_attribute(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  int64_t integer(std::string_view name) const;  // required
  float real(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<float> reals(std::string_view name, std::vector<float> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  const Tensor* tensor(std::string_view name) const;

  // A list of integers that was an attribute in early versions and is an input since; the input wins. Nothing when
  // neither is given; elements that depend on data become symbols, as for needed_elements.
  std::optional<std::vector<Expr>> integers_from(size_t i, std::string_view attribute) const;

  // An axis counted from either end, in [0, rank); fails naming the axis and the rank.
  size_t axis(int64_t value, size_t rank) const;
  // Several axes; fails if one is not known at compile time, or is given twice.
  std::vector<size_t> axes(const std::vector<Expr>& values, size_t rank) const;

  // A user's error that names the node: "node 'conv1' (Conv): ...".
  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    throw UserError(node_.describe() + ": " + fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  void check(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    if (!condition) fail(format, std::forward<Arguments>(arguments)...);
  }

 protected:
  const Node& node_;
};

}  // namespace onnxc
