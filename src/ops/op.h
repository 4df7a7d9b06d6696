// One row for each operator: its shape rule and its definition in the loop IR, or instead of both its expansion into
// other operators. Tables hold the rows, one file for each family; to add an operator is to add its row (and its test).
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

#include "ops/define_context.h"
#include "ops/expand_context.h"
#include "ops/infer_context.h"

namespace onnxc {

// The effect of an operator on the physical layout of its first input, for the pass that assigns layouts.
enum class LayoutRule : uint8_t {
  row_major,  // wants and gives row-major tensors: its axes mean something else than batch, channel, space
  follows,    // any layout: the outputs take the layout of the first blocked input (elementwise, pooling, norms)
};

// The effect of --precision on an operator whose inputs are stored in 16 bits.
enum class StorageRule : uint8_t {
  unsaid,     // only of rows with an expansion: the operators of the expansion say it
  unchanged,  // reads float32, and its outputs keep their types
  product,    // begins storage in 16 bits
  computes,   // goes on with it; reads operands of any floating types
  moves,      // goes on with it; its operands have one type
  reduces,    // reads operands of any floating types, and its outputs keep theirs
};

struct OpRow {
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  // Sets dtype and shape of every output, and its elements if the rule knows them without the definition.
  void (*infer)(InferContext&) = nullptr;
  // Writes the loop nests that compute the outputs from the inputs.
  void (*define)(DefineContext&) = nullptr;
  StorageRule storage = StorageRule::unsaid;
  LayoutRule layout = LayoutRule::row_major;
  // The versions of the operator set for which this row holds.
  int first_version = 1;
  int last_version = std::numeric_limits<int>::max();
  // Puts nodes that mean the same in place of the node. Shape inference does it when it comes to the node, so no later
  // stage meets an operator that has an expansion; such a row has neither a shape rule nor a definition.
  void (*expand)(ExpandContext&) = nullptr;
};

// The domain of rows that only expansions name. No file may name a row of one of our own domains.
inline constexpr const char* internal_domain = "onnxc.internal";
inline bool is_own_domain(std::string_view domain) { return domain.starts_with("onnxc."); }

// The row for an operator in a version of its operator set, or null.
const OpRow* find_op(std::string_view domain, std::string_view name, int version);
// Whether it is that operator of ai.onnx, in any version.
inline bool is_operator(const Node* node, std::string_view name) {
  return node != nullptr && node->op->domain.empty() && node->op->name == name;
}
inline bool is_one_of(const Node* node, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return is_operator(node, name); });
}
// Every row, in the order of the families.
std::vector<const OpRow*> all_ops();

}  // namespace onnxc
