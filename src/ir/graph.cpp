#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ir/attribute_text.h"
#include "ir/tensor_text.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

void remove_use(Value* value, const Node* node, size_t index) {
  if (value == nullptr) return;
  auto found = std::find_if(value->uses.begin(), value->uses.end(),
                            [&](const Use& use) { return use.node == node && use.index == index; });
  internal_check(found != value->uses.end(), "an input that its value does not know of");
  value->uses.erase(found);
}

}  // namespace

const Attribute* Node::find_attribute(std::string_view name) const {
  for (const NamedAttribute& attribute : attributes)
    if (attribute.name == name) return &attribute.value;
  return nullptr;
}

std::string Origin::describe() const {
  // The name of a node of PyTorch's older exporter says its module already.
  const std::string where = place.line.empty() ? "" : ", " + place.describe();
  const std::string what =
      expanded.empty() || expanded == type ? printable(type) : printable(expanded) + ", in its " + printable(type);
  return fmt::format("node {} ({}{})", quote(name), what, where);
}

std::string SizeRule::describe() const {
  return fmt::format("{} = {} ({})", symbol.name(), legal, reasons.empty() ? "" : reasons.front());
}

Symbol Graph::add_run_time_symbol(std::string_view name, Bounds bounds, std::string reason) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  std::string unique;
  for (char c : name) unique += is_letter(c) || (c >= '0' && c <= '9') ? c : '_';
  if (unique.empty() || !is_letter(unique[0])) unique.insert(0, "_");
  std::set<std::string> taken;
  for (const Value* input : inputs)
    for (const Expr& dim : *input->shape)
      for (const Symbol& symbol : dim.without_quotients().symbols()) taken.insert(symbol.name());
  for (const RunTimeSymbol& other : run_time_symbols) taken.insert(other.symbol.name());
  while (taken.contains(unique)) unique += "_";
  run_time_symbols.push_back({Symbol::dim(unique, bounds), std::move(reason)});
  return run_time_symbols.back().symbol;
}

Value* Graph::add_value(std::string name) {
  values_.push_back(std::make_unique<Value>());
  values_.back()->name = std::move(name);
  return values_.back().get();
}

Value* Graph::add_constant(std::string name, Tensor tensor) {
  Value* value = add_value(std::move(name));
  value->dtype = tensor.dtype();
  value->shape = Shape(tensor.dims().begin(), tensor.dims().end());
  if ((is_integer(tensor.dtype()) || tensor.dtype() == DType::boolean) && tensor.size() <= Value::maximum_elements) {
    std::vector<int64_t> elements = tensor.as_int64();
    value->elements.emplace(elements.begin(), elements.end());
  }
  value->constant = std::move(tensor);
  return value;
}

Node* Graph::insert(std::unique_ptr<Node> node, const Node* before) {
  const auto place = nodes_.insert(before == nullptr ? nodes_.end() : before->place, std::move(node));
  Node* added = place->get();
  added->place = place;
  for (size_t i = 0; i < added->inputs.size(); ++i)
    if (added->inputs[i] != nullptr) added->inputs[i]->uses.push_back({added, i});
  for (size_t i = 0; i < added->outputs.size(); ++i) {
    if (added->outputs[i] == nullptr) continue;
    internal_check(added->outputs[i]->producer == nullptr, "one producer a value");
    added->outputs[i]->producer = added;
    added->outputs[i]->output_index = i;
  }
  return added;
}

void Graph::set_input(Node* node, size_t index, Value* value) {
  remove_use(node->inputs.at(index), node, index);
  node->inputs[index] = value;
  if (value != nullptr) value->uses.push_back({node, index});
}

void Graph::replace_uses(Value* old_value, Value* new_value) {
  if (old_value == new_value) return;
  // All at once: one after the other would take time that grows with the square of their number.
  const std::vector<Use> uses = std::exchange(old_value->uses, {});
  for (const Use& use : uses) use.node->inputs[use.index] = new_value;
  if (new_value != nullptr) new_value->uses.insert(new_value->uses.end(), uses.begin(), uses.end());
  if (!is_output(old_value)) return;
  internal_check(new_value != nullptr && may_become_output(new_value), "an output replaced by a value of another name");
  std::swap(old_value->name, new_value->name);
  std::replace(outputs.begin(), outputs.end(), old_value, new_value);
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

bool Graph::is_used(const Value* value) const { return value != nullptr && (!value->uses.empty() || is_output(value)); }

bool Graph::may_become_output(const Value* value) const {
  return !is_output(value) && std::find(inputs.begin(), inputs.end(), value) == inputs.end();
}

void Graph::erase(Node* node) {
  for (size_t i = 0; i < node->inputs.size(); ++i) remove_use(node->inputs[i], node, i);
  for (Value* output : node->outputs) {
    if (output == nullptr) continue;
    internal_check(!is_used(output), "erasing a node whose outputs nobody uses");
    output->producer = nullptr;
  }
  nodes_.erase(node->place);
}

void Graph::erase_unused() {
  const auto used = [&](const Value* value) { return is_used(value); };
  // Backwards, so that one sweep removes whole chains.
  for (auto position = nodes_.end(); position != nodes_.begin();) {
    --position;
    Node* node = position->get();
    if (std::ranges::any_of(node->outputs, used)) continue;
    for (size_t i = 0; i < node->inputs.size(); ++i) remove_use(node->inputs[i], node, i);
    for (Value* output : node->outputs)
      if (output != nullptr) output->producer = nullptr;
    position = nodes_.erase(position);
  }
  std::set<const Value*> kept(inputs.begin(), inputs.end());
  kept.insert(outputs.begin(), outputs.end());
  for (const auto& node : nodes_) {
    kept.insert(node->inputs.begin(), node->inputs.end());
    kept.insert(node->outputs.begin(), node->outputs.end());
  }
  std::erase_if(values_, [&](const auto& value) { return !kept.contains(value.get()); });
}

void verify(const Graph& graph) {
  std::set<const Value*> available(graph.inputs.begin(), graph.inputs.end());
  std::map<const Value*, size_t> uses;
  // The uses that each value knows of, gathered once.
  std::set<std::tuple<const Value*, const Node*, size_t>> known;
  for (const auto& node : graph.nodes())
    for (const Value* input : node->inputs)
      if (input != nullptr && uses.emplace(input, 0).second)
        for (const Use& use : input->uses) known.emplace(input, use.node, use.index);
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Value* input = node->inputs[i];
      if (input == nullptr) continue;
      internal_check(input->constant || available.contains(input), "a value is used before it is made");
      internal_check(known.contains({input, node.get(), i}), "a use that its value does not know of");
      ++uses[input];
    }
    for (const Value* output : node->outputs) {
      if (output == nullptr) continue;
      internal_check(output->producer == node.get(), "an output whose producer is another node");
      internal_check(available.insert(output).second, "a value that is made twice");
    }
  }
  for (const auto& [value, count] : uses)
    internal_check(value->uses.size() == count, "a value with a use by a node outside the graph");
  for (const Value* output : graph.outputs)
    internal_check(output->constant || available.contains(output), "an output that nothing makes");
}

namespace {

std::string describe(const Value& value) {
  std::string text = fmt::format("%{}: {}", printable(value.name), info(value.dtype).name);
  if (value.shape) text += to_string(*value.shape);
  return text;
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text;
  for (const Value* input : graph.inputs) text += fmt::format("input {}\n", describe(*input));
  for (const auto& value : graph.values())
    if (value->constant) text += fmt::format("constant {}{}\n", describe(*value), print_elements(*value->constant));
  for (const auto& node : graph.nodes()) {
    std::vector<std::string> outputs, inputs, attributes;
    for (const Value* output : node->outputs) outputs.push_back(output == nullptr ? "_" : describe(*output));
    for (const Value* input : node->inputs) inputs.push_back(input == nullptr ? "_" : "%" + printable(input->name));
    for (const NamedAttribute& attribute : node->attributes)
      attributes.push_back(printable(attribute.name) + "=" + to_string(attribute.value));
    text += fmt::format("{} = {}({})", fmt::join(outputs, ", "), printable(node->origin.type), fmt::join(inputs, ", "));
    if (!attributes.empty()) text += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
    // The facts that are known of a tensor of integers.
    for (const Value* output : node->outputs)
      if (output != nullptr && output->elements) text += "  # " + to_string(Shape(*output->elements));
    text += "\n";
  }
  for (const Guard& guard : graph.guards)
    text += fmt::format("guard {} {} {}  # {}\n", guard.left.to_string(),
                        guard.kind == Guard::Kind::equal ? "==" : ">=", guard.right.to_string(),
                        printable(guard.reason, 4000));
  for (const Value* output : graph.outputs) text += fmt::format("output %{}\n", printable(output->name));
  return text;
}

}  // namespace onnxc
