#include "passes/graph/infer_shapes.h"

#include <algorithm>
#include <unordered_map>

#include "ir/expr/terms.h"
#include "ir/interpreter/symbolic_evaluation.h"
#include "ops/algebra/product_spec.h"
#include "ops/control/control_flow.h"
#include "ops/control/sequence.h"
#include "ops/op.h"
#include "passes/graph/apply_size_rules.h"
#include "passes/graph/define_node.h"
#include "passes/graph/expand_sequences.h"
#include "support/count_text.h"
#include "support/limits.h"
#include "support/list_text.h"

namespace onnxc {
namespace {

bool is_small(const Value& value) {
  std::optional<std::vector<int64_t>> dims = constant_dims(*value.shape);
  return dims && checked_product(*dims) <= Value::maximum_elements;
}

bool is_whole_number(const Value& value) { return is_integer(value.dtype) || value.dtype == DType::boolean; }

// Weights of a quantised convolution or product: no shape depends on their values, and use_integer_products wants the
// integers.
bool dequantizes_weights(const Node& node) {
  return is_operator(&node, "DequantizeLinear") && std::ranges::all_of(node.outputs[0]->uses, [](const Use& use) {
           return is_operator(use.node, "Conv") || is_matrix_product(*use.node);
         });
}

// The state that the nodes share.
struct Inference {
  RealElements reals;
  int64_t steps_left = 1 << 27;  // of the loops that are run to learn small constants
};

// The tensor that a value is known to be, also if shape arithmetic gave its reals.
std::optional<Tensor> known_tensor(const Value& value, const RealElements& reals) {
  if (std::optional<Tensor> known = known_tensor(value)) return known;
  const auto found = reals.find(&value);
  if (found == reals.end()) return std::nullopt;
  Tensor tensor = Tensor::zeros(value.dtype, *constant_dims(*value.shape));
  const StoreFunction store = store_function(value.dtype);
  std::byte* to = tensor.mutable_bytes();
  for (const SymbolicNumber& element : found->second) {
    const std::optional<ScalarValue> number = element.known(value.dtype);
    if (!number) return std::nullopt;
    store(to, *number);
    to += element_size(value.dtype);
  }
  return tensor;
}

// The inputs of a node, if all are known.
std::optional<std::vector<Tensor>> known_inputs(const Node& node, const RealElements& reals) {
  std::vector<Tensor> inputs;
  for (const Value* input : distinct_inputs(node)) {
    std::optional<Tensor> known = known_tensor(*input, reals);
    if (!known) return std::nullopt;
    inputs.push_back(*std::move(known));
  }
  return inputs;
}

// For a node that has been computed: the dims that it was to bind have their numbers.
void forget_bound_symbols(Graph& graph, Node& node) {
  const auto is_bound = [&](const Symbol& symbol) { return node.bound_symbols.contains(symbol); };
  std::erase_if(graph.run_time_symbols, [&](const RunTimeSymbol& each) { return is_bound(each.symbol); });
  std::erase_if(graph.guards, [&](const Guard& guard) {
    return std::ranges::any_of((guard.left - guard.right).symbols(), is_bound);
  });
  node.bound_symbols.clear();
}

// Small outputs of known inputs become constants: shapes may depend on their values, whatever their type. Returns
// whether they did.
bool fold_small(Graph& graph, Node& node, Inference& inference) {
  constexpr int64_t maximum_steps = 1 << 20;
  if (dequantizes_weights(node)) return false;
  std::vector<Value*> outputs = distinct_outputs(node);
  if (node.bound_symbols.empty() && !std::ranges::all_of(outputs, [](const Value* value) { return is_small(*value); }))
    return false;
  const std::optional<std::vector<Tensor>> inputs = known_inputs(node, inference.reals);
  if (!inputs) return false;
  std::optional<std::vector<Tensor>> results = compute_outputs(node, *inputs, maximum_steps, inference.steps_left);
  const auto is_few = [](const Tensor& result) { return result.size() <= Value::maximum_elements; };
  if (!results || !std::ranges::all_of(*results, is_few)) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* folded = graph.add_constant(outputs[i]->name, (*results)[i]);
    outputs[i]->shape = folded->shape;
    outputs[i]->elements = folded->elements;
    // The value itself stays if the model gives it out.
    for (const Use& use : std::vector<Use>(outputs[i]->uses)) graph.set_input(use.node, use.index, folded);
  }
  forget_bound_symbols(graph, node);
  return true;
}

std::optional<SymbolicElements> known_elements(const Value& value, const RealElements& reals) {
  if (value.elements) {
    SymbolicElements elements;
    for (const Expr& element : *value.elements) elements.push_back({element});
    return elements;
  }
  if (value.constant && is_small(value)) return symbolic_elements(*value.constant);
  auto found = reals.find(&value);
  return found == reals.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::vector<Expr>> integers(const SymbolicElements& elements) {
  std::vector<Expr> result;
  for (const SymbolicNumber& element : elements) {
    if (!element.integer()) return std::nullopt;
    result.push_back(*element.integer());
  }
  return result;
}

// Infers the elements of small outputs as expressions: what Shape, Gather, Mul, Concat… pass on to a Reshape.
void infer_elements(const Node& node, RealElements& reals) {
  // The value of a state after all rounds does not follow from one round.
  if (node.op->domain == control_flow_domain || node.random_stream) return;
  std::vector<Value*> outputs = distinct_outputs(node);
  auto carries = [](const Value* value) { return is_small(*value) && !value->elements; };
  if (outputs.empty() || !std::all_of(outputs.begin(), outputs.end(), carries)) return;
  std::vector<std::optional<SymbolicElements>> inputs;
  for (const Value* input : distinct_inputs(node)) inputs.push_back(known_elements(*input, reals));
  if (std::none_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.has_value(); })) return;
  // If an expression grows too large, a run computes the elements.
  const auto results = unless_overflow([&] { return evaluate_symbolically(define_node(node), inputs); });
  if (!results) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::optional<SymbolicElements>& elements = (*results)[i];
    if (!elements) continue;
    if (is_whole_number(*outputs[i]))
      outputs[i]->elements = integers(*elements);
    else
      reals.emplace(outputs[i], *elements);
  }
}

// A tensor whose bytes cannot be counted cannot be computed either; later stages would only name the sizes.
void check_bytes(const Value& output) {
  if (std::optional<std::vector<int64_t>> dims = constant_dims(*output.shape))
    static_cast<void>(checked_multiply(checked_product(*dims), element_size(output.dtype)));
}

void infer_node(Graph& graph, Node& node, Inference& inference) {
  InferContext context(graph, node, inference.reals);
  node.op->infer(context);
  for (const Value* output : distinct_outputs(node)) {
    internal_check(output->shape.has_value() && output->dtype != DType::undefined,
                   "a shape rule that sets every output");
    user_check(output->shape->size() <= static_cast<size_t>(Limits::max_rank),
               "its output has {}; at most {} are allowed", counted(output->shape->size(), "axis"), Limits::max_rank);
    check_bytes(*output);
  }
  if (!fold_small(graph, node, inference)) infer_elements(node, inference.reals);
}

// Whether a node runs, as a product of 0 or 1 for each branch around it. Branches that are certainly taken are dropped:
// their conditions leave the graph.
Expr condition_of(Graph& graph, std::shared_ptr<const Branch>& branch) {
  if (branch == nullptr) return 1;
  std::shared_ptr<const Branch> outer = branch->outer;
  const Expr runs = condition_of(graph, outer);
  if (runs.is_constant(0)) return 0;
  Expr holds = InferContext::truth(graph, *branch->condition);
  if (!branch->when) holds = 1 - holds;
  branch = holds.is_constant(1) ? outer : std::make_shared<const Branch>(branch->condition, branch->when, outer);
  return runs * holds;
}

// Replaces an If with a known condition by the branch that it takes.
bool take_known_branch(Graph& graph, Node& node) {
  const std::optional<std::vector<Value*>> taken = known_branch(node);
  if (!taken) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == nullptr) continue;
    graph.replace_uses(node.outputs[i], (*taken)[i]);
  }
  return true;
}

bool is_control_flow(const Node& node, std::string_view name) {
  return node.op->domain == control_flow_domain && node.op->name == name;
}

// Sizes in a branch that is not taken may be anything: what its nodes demand counts only if they run. `rounds`: of each
// loop around the node, whether it has any; without, what the body reads may be empty. Its dims agree anyway.
void infer_where_it_runs(Graph& graph, Node& node, Inference& inference, const std::vector<Expr>& rounds) {
  const size_t guards = graph.guards.size();
  infer_node(graph, node, inference);
  for (size_t i = guards; i < graph.guards.size(); ++i) {
    Guard& guard = graph.guards[i];
    guard.condition *= node.condition;
    if (guard.kind == Guard::Kind::equal) continue;
    for (const Expr& has_any : rounds) guard.condition *= has_any;
  }
}

bool has_shape(const Value* value) { return value == nullptr || value->shape.has_value(); }

// Whether all that a node reads has a shape, the conditions of the branches around it included.
bool is_readable(const Node& node) {
  for (const Branch* branch = node.branch.get(); branch != nullptr; branch = branch->outer.get())
    if (!has_shape(branch->condition)) return false;
  return std::ranges::all_of(node.inputs, has_shape);
}

// The file's shapes of the outputs stand in for what cannot be inferred.
void take_declared_shapes(Node& node) {
  for (Value* output : distinct_outputs(node)) {
    if (output->dtype == DType::undefined) output->dtype = output->declared_dtype;
    output->shape.reset();
    if (output->dtype != DType::undefined) output->shape = output->declared_shape;
  }
}

// A node with a size that has more parts than usual.
struct LargeSize {
  const Node* node;
  int64_t parts;
  std::set<Symbol> symbols;
};

void add_if_large(std::optional<LargeSize>& large, const Node& node, const std::vector<Expr>& sizes,
                  int64_t usual_parts) {
  for (const Expr& size : sizes) {
    const int64_t parts = size_of(size);
    if (parts <= usual_parts) continue;
    if (!large) large.emplace(LargeSize{&node, parts, {}});
    large->parts = std::max(large->parts, parts);
    large->symbols.merge(size.symbols());
  }
}

std::optional<LargeSize> find_large(const Node& node, const std::vector<Value*>& values, int64_t usual_parts) {
  std::optional<LargeSize> large;
  for (const Value* value : values) {
    if (value->shape) add_if_large(large, node, *value->shape, usual_parts);
    if (value->elements) add_if_large(large, node, *value->elements, usual_parts);
  }
  return large;
}

class ShapeInference {
 public:
  // Stops at a size of more parts than this, if there is a number.
  ShapeInference(Graph& graph, std::optional<int64_t> usual_parts) : graph_(graph), usual_parts_(usual_parts) {}

  // Returns the size at which it stopped.
  std::optional<LargeSize> run() {
    visit_from(graph_.nodes().begin());
    if (large_) return large_;
    if (!faults_.empty()) throw ShapeFaults(std::move(faults_));
    if (const Node* first = spread_output_sequences(graph_)) visit_from(first->place);
    if (leaves_unused_) graph_.erase_unused();
    for (const std::unique_ptr<Node>& node : graph_.nodes())
      if (is_operator(node.get(), "If")) check_ranks_of_branches(graph_, *node);
    return std::nullopt;
  }

 private:
  void visit_from(Graph::NodeList::const_iterator at) {
    while (at != graph_.nodes().end() && !large_) {
      const Node* const expansion = visit_or_note(**at);
      if (expansion != nullptr)
        at = expansion->place;
      else
        ++at;
    }
  }

  const Node* visit_or_note(Node& node) {
    const size_t guards = graph_.guards.size();
    if (!faults_.empty() && !is_readable(node)) {
      if (is_end_of_loop(node) && !rounds_.empty()) rounds_.pop_back();
      pass_over(node);
      return nullptr;
    }
    try {
      user_check(node.op != nullptr, "{}: onnxc does not compile this operator", node.describe());
      const Node* expansion = nullptr;
      do_naming(node, [&] { expansion = visit(node); });
      return expansion;
    } catch (const UserError& error) {
      faults_.push_back({&node, error.what()});
      graph_.guards.erase(graph_.guards.begin() + static_cast<std::ptrdiff_t>(guards), graph_.guards.end());
      pass_over(node);
      return nullptr;
    }
  }

  // Returns the first node of an expansion, which takes this one's place.
  const Node* visit(Node& node) {
    node.condition = condition_of(graph_, node.branch);
    if (node.condition.is_constant(0) || take_known_branch(graph_, node)) {
      leaves_unused_ = true;
      return nullptr;
    }
    if (const Node* first = expand_sequences(graph_, node)) {
      leaves_unused_ = true;
      return first;
    }
    if (node.op->expand != nullptr) {
      leaves_unused_ = true;
      return expand_node(graph_, node);
    }
    if (std::ranges::any_of(node.outputs, is_sequence_or_optional)) return nullptr;
    if (is_end_of_loop(node)) rounds_.pop_back();
    infer_within_parts(node);
    if (is_control_flow(node, "LoopBegin")) rounds_.push_back(has_rounds(node));
    return nullptr;
  }

  // After a fault the rest is only shown.
  void infer_within_parts(Node& node) {
    if (!usual_parts_ || !faults_.empty()) return infer_where_it_runs(graph_, node, inference_, rounds_);
    try {
      infer_where_it_runs(graph_, node, inference_, rounds_);
      large_ = find_large(node, distinct_outputs(node), *usual_parts_);
    } catch (const SizeOfManyParts& error) {
      large_ = find_large(node, distinct_inputs(node), 1);
      if (!large_) throw;
      large_->parts = error.parts;
    }
  }

  void pass_over(Node& node) {
    take_declared_shapes(node);
    if (node.op != nullptr && is_control_flow(node, "LoopBegin")) rounds_.emplace_back(1);
  }

  static bool is_end_of_loop(const Node& node) { return node.op != nullptr && is_control_flow(node, "LoopEnd"); }

  Graph& graph_;
  const std::optional<int64_t> usual_parts_;
  std::optional<LargeSize> large_;
  Inference inference_;
  bool leaves_unused_ = false;
  std::vector<Expr> rounds_;
  std::vector<ShapeFaults::Fault> faults_;
};

void forget_shapes(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    node->bound_symbols.clear();
    for (Value* output : node->outputs) {
      if (output == nullptr) continue;
      output->shape.reset();
      output->elements.reset();
      output->elements_at_run_time = false;
    }
  }
  for (Value* input : graph.inputs) {
    input->elements.reset();
    input->elements_at_run_time = false;
  }
  graph.run_time_symbols.clear();
  graph.guards.clear();
}

bool narrow(Graph& graph, const LargeSize& large) {
  return narrow_by_guards(graph) ||
         narrow_to_nonempty(graph, large.symbols,
                            fmt::format("{}: a size has {}", large.node->describe(), counted(large.parts, "part")));
}

}  // namespace

void infer_shapes(Graph& graph) {
  constexpr int64_t usual_parts = 100;  // the sizes of usual networks have 40 at most
  constexpr int most_rounds = 20;       // each takes a symbol or some of its sizes away
  std::optional<int64_t> most_parts = usual_parts;
  for (int round = 0; const std::optional<LargeSize> large = ShapeInference(graph, most_parts).run(); ++round) {
    if (!narrow(graph, *large) || round == most_rounds) most_parts.reset();
    forget_shapes(graph);
  }
}

void infer_shapes_again(Graph& graph) {
  forget_shapes(graph);
  infer_shapes(graph);
}

std::string ShapeFaults::text_of(const std::vector<Fault>& faults) {
  if (faults.size() == 1) return faults[0].text;
  std::vector<std::string> lines;
  for (const Fault& fault : faults) lines.push_back(fault.text);
  return fmt::format("{} nodes are at fault:\n  {}", faults.size(), list_text(lines, "\n  "));
}

}  // namespace onnxc
