#include "passes/graph/expand_sequences.h"

#include <algorithm>
#include <unordered_map>

#include "ops/control/control_flow.h"
#include "ops/control/sequence.h"
#include "ops/op.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

constexpr int64_t most_copies = 100'000;

// A loop's rounds one after the other, each with nodes of its own.
class Rounds {
 public:
  Rounds(Graph& graph, Node& begin, Node& end) : graph_(graph), begin_(begin), end_(end), c_(graph, end) {
    for (auto at = std::next(begin.place); at->get() != &end; ++at) body_.push_back(at->get());
    for (size_t i = 0; i < loop_.carried; ++i) states_.push_back(begin.inputs[LoopPlaces::first_state + i]);
    collected_.resize(loop_.collected);
  }

  // Returns the first node that was put.
  Node* write(int64_t rounds) {
    c_.check(rounds <= most_copies / std::max<int64_t>(1, std::ssize(body_)),
             "the loop carries a sequence through {} of {} each; at most {} nodes are written for them",
             counted(rounds, "round"), counted(body_.size(), "node"), most_copies);
    Node* last = std::prev(end_.place)->get();
    for (int64_t round = 0; round < rounds; ++round) write_round(round);
    give_outputs();
    Node* first = std::next(last->place)->get();
    internal_check(first != &end_, "a loop with an output that somebody wants");
    graph_.erase(&end_);
    for (auto node = body_.rbegin(); node != body_.rend(); ++node) graph_.erase(*node);
    graph_.erase(&begin_);
    return first;
  }

 private:
  void write_round(int64_t round) {
    now_.clear();
    branches_.clear();
    now_[begin_.outputs[0]] = c_.number(DType::int64, static_cast<double>(round));
    now_[begin_.outputs[1]] = c_.number(DType::boolean, 1);
    for (size_t i = 0; i < loop_.carried; ++i) now_[begin_.outputs[LoopPlaces::first_state + i]] = states_[i];
    for (const Node* node : body_) copy(*node, round);
    for (size_t i = 0; i < loop_.carried; ++i) states_[i] = in_round(end_.inputs[loop_.next_state(i)]);
    for (size_t i = 0; i < loop_.collected; ++i) collected_[i].push_back(in_round(end_.inputs[loop_.element(i)]));
  }

  void copy(const Node& node, int64_t round) {
    auto added = std::make_unique<Node>();
    added->op = node.op;
    added->origin = node.origin;
    added->attributes = node.attributes;
    added->branch = in_round(node.branch);
    for (Value* input : node.inputs) added->inputs.push_back(in_round(input));
    for (Value* output : node.outputs) {
      added->outputs.push_back(output == nullptr ? nullptr
                                                 : graph_.add_value(fmt::format("{}@{}", output->name, round)));
      if (output == nullptr) continue;
      added->outputs.back()->dtype = output->dtype;
      now_[output] = added->outputs.back();
    }
    graph_.insert(std::move(added), &end_);
  }

  Value* in_round(Value* value) const {
    const auto found = now_.find(value);
    return found == now_.end() ? value : found->second;
  }

  std::shared_ptr<const Branch> in_round(const std::shared_ptr<const Branch>& branch) {
    if (branch == nullptr || branch == begin_.branch) return branch;
    const auto known = branches_.find(branch.get());
    if (known != branches_.end()) return known->second;
    auto result = std::make_shared<const Branch>(in_round(branch->condition), branch->when, in_round(branch->outer));
    branches_[branch.get()] = result;
    return result;
  }

  void give_outputs() {
    for (size_t i = 0; i < loop_.carried; ++i)
      if (is_wanted(i)) c_.give(i, c_.add("Identity", {states_[i]}));
    for (size_t i = 0; i < loop_.collected; ++i) {
      const size_t output = loop_.carried + i;
      if (!is_wanted(output)) continue;
      c_.check(!collected_[i].empty(), "output {} collects what rounds give, and there is none", output);
      std::vector<Value*> parts;
      for (Value* part : collected_[i]) parts.push_back(c_.add("Unsqueeze", {part, c_.integers({0})}));
      c_.give(output, c_.add("Concat", std::move(parts), {{"axis", int64_t{0}}}));
    }
  }

  bool is_wanted(size_t output) const { return graph_.is_used(end_.outputs[output]); }

  Graph& graph_;
  Node &begin_, &end_;
  ExpandContext c_;  // its nodes stand before the end
  const LoopPlaces loop_ = loop_places(end_);
  std::vector<Node*> body_;
  std::vector<Value*> states_;
  std::vector<std::vector<Value*>> collected_;
  std::unordered_map<const Value*, Value*> now_;  // of what stands in the body, what stands for it in this round
  std::unordered_map<const Branch*, std::shared_ptr<const Branch>> branches_;
};

// A state that begins as an empty sequence, and to which a round adds a tensor, is what the loop collects:
//
//   before: e = Sequence()  round, condition, s = LoopBegin(n, , e)  t = SequenceInsert(s, x)
//           y = LoopEnd(round, condition, s, condition, t)
//   after:  round, condition = LoopBegin(n, )  c = LoopEnd(round, condition, condition, x)  y = Stack(c)
class CollectedState {
 public:
  CollectedState(Graph& graph, Node& begin, Node& end, size_t state)
      : graph_(graph), begin_(begin), end_(end), state_(state) {}

  // Whether the rounds do nothing else with it.
  bool fits() const {
    const Value *initial = begin_.inputs[place()], *state = begin_.outputs[place()], *next = end_.inputs[next_place()];
    const Node* insert = next->producer;
    return is_sequence(initial) && tensors_of(*initial).empty() && is_operator(insert, "SequenceInsert") &&
           insert->inputs.size() == 2 && insert->inputs[0] == state && insert->branch == end_.branch &&
           next->uses.size() == 1 && state->uses.size() == 2;
  }

  void collect() {
    Node* insert = end_.inputs[next_place()]->producer;
    Value *added = insert->inputs[1], *sequence = end_.outputs[state_], *state = begin_.outputs[place()];
    std::vector<Value*> inputs = without(end_.inputs, next_place());
    inputs = without(inputs, place());
    inputs.push_back(added);
    set_inputs(end_, inputs);
    graph_.erase(insert);
    set_inputs(begin_, without(begin_.inputs, place()));
    state->producer = nullptr;
    set_outputs(begin_, without(begin_.outputs, place()));
    std::vector<Value*> outputs = without(end_.outputs, state_);
    outputs.push_back(sequence == nullptr ? nullptr : graph_.add_value(sequence->name + "/stack"));
    if (sequence != nullptr) sequence->producer = nullptr;
    set_outputs(end_, outputs);
    for (Node* node : {&begin_, &end_})
      for (NamedAttribute& attribute : node->attributes)
        if (attribute.name == "carried") --std::get<int64_t>(attribute.value);
    if (sequence != nullptr) put_stack(outputs.back(), sequence);
  }

 private:
  size_t place() const { return LoopPlaces::first_state + state_; }
  size_t next_place() const { return loop_places(end_).next_state(state_); }

  static std::vector<Value*> without(std::vector<Value*> values, size_t index) {
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(index));
    return values;
  }

  void set_inputs(Node& node, const std::vector<Value*>& inputs) {
    for (size_t i = 0; i < node.inputs.size(); ++i) graph_.set_input(&node, i, nullptr);
    node.inputs.assign(inputs.size(), nullptr);
    for (size_t i = 0; i < inputs.size(); ++i) graph_.set_input(&node, i, inputs[i]);
  }

  static void set_outputs(Node& node, const std::vector<Value*>& outputs) {
    node.outputs = outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      outputs[i]->producer = &node;
      outputs[i]->output_index = i;
    }
  }

  void put_stack(Value* stack, Value* sequence) {
    auto node = std::make_unique<Node>();
    node->op = find_op(control_flow_domain, "Stack", 1);
    node->origin = end_.origin;
    node->branch = end_.branch;
    node->inputs = {stack};
    node->outputs = {sequence};
    const auto behind = std::next(end_.place);
    graph_.insert(std::move(node), behind == graph_.nodes().end() ? nullptr : behind->get());
  }

  Graph& graph_;
  Node &begin_, &end_;
  size_t state_;
};

// Returns the first of the nodes that took the loop's place; null if it is still there, without sequences.
Node* expand_loop(Graph& graph, Node& begin) {
  const NodeReader c(begin);
  Node* end = loop_end(begin);
  internal_check(end != nullptr, "a loop that ends");
  if (const std::optional<int64_t> rounds = known_rounds(begin)) return Rounds(graph, begin, *end).write(*rounds);
  for (size_t i = loop_places(*end).carried; i-- > 0;) {
    if (!is_sequence_or_optional(begin.inputs[LoopPlaces::first_state + i])) continue;
    CollectedState state(graph, begin, *end, i);
    c.check(state.fits(),
            "it carries a sequence through rounds whose number only a run knows; onnxc compiles that "
            "only if the sequence begins empty and a round only adds a tensor at its end");
    state.collect();
  }
  return nullptr;
}

}  // namespace

const Node* expand_sequences(Graph& graph, Node& node) {
  const auto found = std::ranges::find_if(node.inputs, is_sequence_or_optional);
  if (found == node.inputs.end() || takes_sequences(node)) return nullptr;
  if (node.op->domain == control_flow_domain && node.op->name == "LoopBegin") return expand_loop(graph, node);
  if (is_operator(&node, "Identity") || is_operator(&node, "If")) {
    node.op = find_op(control_flow_domain, node.op->name, 1);
    internal_check(node.op != nullptr, "an operator that has a row for sequences");
    return expand_node(graph, node);
  }
  NodeReader(node).fail("its input {} is {}, and a tensor is expected", quote((*found)->name), kind_of(**found));
}

const Node* spread_output_sequences(Graph& graph) {
  std::vector<Value*> outputs;
  Node* first = nullptr;
  for (Value* output : graph.outputs) {
    user_check(!is_no_element(output) && !is_stack(output), "the output {} is {}; drop it with --outputs",
               quote(output->name), kind_of(*output));
    if (!is_sequence(output)) {
      outputs.push_back(output);
      continue;
    }
    for (size_t i = 0; i < tensors_of(*output).size(); ++i) {
      auto node = std::make_unique<Node>();
      const std::string name = fmt::format("{}[{}]", output->name, i);
      node->op = find_op("", "Identity", expansion_version);
      node->origin = {name, "Identity", "", expansion_version};
      node->inputs = {tensors_of(*output)[i]};
      node->outputs = {graph.add_value(name)};
      outputs.push_back(node->outputs[0]);
      Node* added = graph.insert(std::move(node));
      if (first == nullptr) first = added;
    }
  }
  user_check(!outputs.empty(), "the model gives only empty sequences: there is nothing to compute");
  graph.outputs = std::move(outputs);
  return first;
}

}  // namespace onnxc
