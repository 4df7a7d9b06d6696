// The graph of a model: values with symbolic shapes, and nodes that are ONNX operators. Only insert, replace and erase
// edit it, so that producers and users always agree.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/expr/expr.h"
#include "ir/source_place.h"
#include "ir/string_table.h"
#include "ir/tensor.h"

namespace onnxc {

class Graph;
struct Node;
struct OpRow;  // ops/op.h

// The origin of something in the ONNX file, for messages, comments and reports. Text from the model: never code.
struct Origin {
  std::string name;    // the node's name, or the name of its first output if it has none
  std::string type;    // "Conv"
  std::string domain;  // "" for ai.onnx
  int version = 0;     // of the operator set that the model imports for the domain
  SourcePlace place = {};
  std::string expanded = {};  // the type of the file's node, if this one is a part of what it became

  // "node 'conv1' (Conv)", how messages call it, or "node 'best' (TopK, in its ArgSort)"; the user's line too if the
  // file names it: "node 'node_cat_3' (Concat, monai/networks/blocks/dynunet_block.py:242 in skip_layers.upsample)".
  std::string describe() const;
};

struct Use {
  Node* node;
  size_t index;  // which input of the node
};

// A tensor of the graph. Shape inference sets the shape, and for a small integer tensor (at most `maximum_elements`,
// row-major) whose values are expressions of dims also `elements`: shape arithmetic.
struct Value {
  static constexpr int64_t maximum_elements = 64;

  std::string name;  // the ONNX name: unique in the model, any bytes
  DType dtype = DType::undefined;
  std::optional<Shape> shape;
  std::optional<Tensor> constant;
  std::optional<std::vector<Expr>> elements;
  // `elements` are symbols of their own, which get values once a run has computed this tensor.
  bool elements_at_run_time = false;

  Node* producer = nullptr;  // null for graph inputs and constants
  size_t output_index = 0;
  std::vector<Use> uses;

  // The type that the file declares, kept apart: shown where it disagrees with the inferred one, never believed.
  std::optional<Shape> declared_shape;
  DType declared_dtype = DType::undefined;
};

// An attribute's value; the alternatives are ONNX's attribute types.
using Attribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>, std::shared_ptr<Graph>>;

struct NamedAttribute {
  std::string name;
  Attribute value;
};

// Nodes that run only if a condition holds: a branch of an If.
struct Branch {
  Value* condition;
  bool when;
  std::shared_ptr<const Branch> outer;  // null if it stands in no other
};

struct Node {
  std::list<std::unique_ptr<Node>>::iterator place;  // in its graph
  const OpRow* op = nullptr;
  std::vector<Value*> inputs;   // null for an optional input that is absent
  std::vector<Value*> outputs;  // null for an optional output that nobody wants
  std::vector<NamedAttribute> attributes;
  Origin origin;
  // Dims of its outputs that are known only at run time; the node's definition binds them.
  std::set<Symbol> bound_symbols;
  // For a node that draws random numbers: the number of its stream of them. It keeps that in all passes.
  std::optional<uint64_t> random_stream = std::nullopt;
  std::shared_ptr<const Branch> branch = nullptr;
  // 1 if the node runs, 0 if it does not: `branch` as shape inference resolved it.
  Expr condition = 1;

  const Attribute* find_attribute(std::string_view name) const;
  std::string describe() const { return origin.describe(); }
};

// A condition that shape inference needs and cannot prove; checked when the model is given its input dims.
struct Guard {
  enum class Kind { equal, at_least };
  Kind kind;
  Expr left, right;    // left == right, or left >= right
  std::string reason;  // "node 'up1' (Concat): dim 2 of every input must agree"
  Expr condition = 1;  // the guard counts only if this is not 0: in a branch that is taken
};

// The rule of the guards on one symbol of the inputs' dims, for people: which sizes the model accepts, and why.
struct SizeRule {
  struct Place {
    size_t input, axis;
    bool operator==(const Place&) const = default;
  };
  Symbol symbol;
  std::string legal;                 // "16*n", "D", "at least 3"
  std::vector<std::string> reasons;  // of the guards that it follows from, the strongest first
  std::vector<Place> places;         // the dims of inputs that had the symbol

  // "D = 16*n (node 'cat' (Concat): dim 2 of every input must agree)"
  std::string describe() const;
};

// A size that no input dim determines; in each run the node that computes it gives it a value.
struct RunTimeSymbol {
  Symbol symbol;
  std::string reason;  // "node 'select' (NonZero): dim 1 of the output"
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
  std::vector<Guard> guards;
  std::vector<SizeRule> size_rules;
  std::vector<RunTimeSymbol> run_time_symbols;
  // The meaning of the handles in its tensors of strings; programs share it.
  std::shared_ptr<StringTable> strings = std::make_shared<StringTable>();

  // Creates a symbol. Its name is made fit for expressions and unique.
  Symbol add_run_time_symbol(std::string_view name, Bounds bounds, std::string reason);

  Value* add_value(std::string name);
  Value* add_constant(std::string name, Tensor tensor);

  using NodeList = std::list<std::unique_ptr<Node>>;
  // The nodes in topological order: every producer precedes its users.
  const NodeList& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<Value>>& values() const { return values_; }

  // Adds a node before `before` (at the end when null) and links it to its inputs and outputs.
  Node* insert(std::unique_ptr<Node> node, const Node* before = nullptr);
  // Makes every user of `old_value`, and the graph's outputs, use `new_value`. One that becomes an output takes the old
  // one's name, which users of the model know; it must be one that may become an output.
  void replace_uses(Value* old_value, Value* new_value);
  void set_input(Node* node, size_t index, Value* value);
  // Removes a node whose outputs nobody uses.
  void erase(Node* node);
  // Removes the nodes without used outputs, and the values that no node refers to.
  void erase_unused();

  bool is_output(const Value* value) const;
  // Whether a node reads it or the graph gives it out; not if it is null.
  bool is_used(const Value* value) const;
  // Inputs and outputs keep the names that they have.
  bool may_become_output(const Value* value) const;

 private:
  NodeList nodes_;
  std::vector<std::unique_ptr<Value>> values_;
};

// Throws InternalError when uses, producers or the order of nodes do not agree.
void verify(const Graph& graph);

// The textual form, one line a value or node.
std::string to_string(const Graph& graph);

}  // namespace onnxc
