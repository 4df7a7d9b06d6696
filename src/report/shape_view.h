// Which part of a graph --dump-shapes shows, and for which sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

// The request of the user.
struct ShapeRequest {
  std::vector<std::string> nodes;        // --node: patterns as of a shell; empty shows all
  std::map<std::string, int64_t> sizes;  // --at: of symbols of the inputs' dims, by name
};

class ShapeView {
 public:
  // Throws UsageError for a pattern that fits no node, and for a size of no symbol or that no input may have.
  ShapeView(const Graph& graph, const ShapeRequest& request);

  // A pattern fits a node's name, its operator, its module or the line that it comes from.
  bool shows(const Node& node) const;
  bool shows_all() const { return request_.nodes.empty(); }

  bool has_sizes() const { return !request_.sizes.empty(); }
  // With the sizes in place of their symbols; others stay.
  Expr at_sizes(const Expr& dim) const { return dim.substitute(values_); }
  Shape at_sizes(const Shape& shape) const;
  // Whether a rule holds for the sizes; nothing if they do not decide it.
  std::optional<bool> holds(const Guard& guard) const;

 private:
  void bind(const Graph& graph, const std::string& name, int64_t size);

  const ShapeRequest& request_;
  std::map<Symbol, Expr> values_;
};

}  // namespace onnxc
