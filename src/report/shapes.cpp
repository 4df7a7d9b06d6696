#include "report/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/nodes.h"
#include "report/size_lines.h"
#include "support/text.h"

namespace onnxc {
namespace {

using nlohmann::ordered_json;

// A declared symbol of another tensor stands for any size, and only a number can disagree; that of an input is its own,
// and disagrees if a rule left it one size, or gives it by others.
bool disagrees(const Value& value) {
  if (!value.declared_shape || !value.shape) return false;
  if (value.declared_shape->size() != value.shape->size()) return true;
  for (size_t i = 0; i < value.shape->size(); ++i) {
    const Expr &declared = (*value.declared_shape)[i], &found = (*value.shape)[i];
    const bool is_input = value.producer == nullptr && !value.constant;
    if (is_input ? declared.to_string() != found.to_string() : declared.constant() && !(declared == found)) return true;
  }
  return false;
}

constexpr size_t longest_reason = 4000;

// The reason for a node at fault; else null.
const std::string* fault_of(const ShownShapes& shown, const Node& node) {
  for (const ShapeFaults::Fault& fault : shown.faults)
    if (fault.node == &node) return &fault.text;
  return nullptr;
}

// ------------------------------------------------------------------------------------------------------- table

std::string describe(const ShapeView& view, const Value* value) {
  if (value == nullptr) return "(none)";
  std::string text = fmt::format("{} {}", printable(value->name), info(value->dtype).name);
  text += value->shape ? to_string(*value->shape) : " of unknown shape";
  if (value->elements && value->elements->size() <= 8) text += fmt::format(" = {}", to_string(*value->elements));
  if (value->shape && view.has_sizes()) text += fmt::format("  at {}", to_string(view.at_sizes(*value->shape)));
  if (disagrees(*value)) text += fmt::format("  (the file declares {})", to_string(*value->declared_shape));
  return text;
}

// The condition of a node in a branch, which is 0 or 1.
std::string when(const Expr& condition) {
  return condition.is_constant(1) ? "" : fmt::format(" when {} is not 0", condition.to_string());
}

std::string node_lines(const ShownShapes& shown, const Node& node) {
  std::string text =
      fmt::format("{} {}{}\n", printable(node.origin.type), quote(node.origin.name), when(node.condition));
  const SourcePlace& place = node.origin.place;
  if (place.is_known())
    text += fmt::format("    at  {}{}{}\n", place.describe(), place.code.empty() ? "" : ": ", printable(place.code));
  for (const Value* input : node.inputs)
    if (input != nullptr) text += fmt::format("    in  {}\n", describe(shown.view, input));
  for (const Value* output : node.outputs)
    if (output != nullptr) text += fmt::format("    out {}\n", describe(shown.view, output));
  if (const std::string* fault = fault_of(shown, node))
    text += fmt::format("    fault: {}\n", printable_message(*fault));
  return text;
}

std::string guard_line(const ShapeView& view, const Guard& guard) {
  const bool is_broken = view.has_sizes() && view.holds(guard) == false;
  return fmt::format("rule    {} {} {}{}  ({}){}\n", guard.left.to_string(), relation(guard), guard.right.to_string(),
                     when(guard.condition), printable(guard.reason, longest_reason),
                     is_broken ? "  does not hold at these sizes" : "");
}

// ------------------------------------------------------------------------------------------------------- JSON

void add_condition(ordered_json& entry, const Expr& condition) {
  if (!condition.is_constant(1)) entry["when"] = condition.to_string();
}

ordered_json dims_json(const Shape& shape) {
  ordered_json dims = ordered_json::array();
  for (const Expr& dim : shape) {
    if (std::optional<int64_t> constant = dim.constant())
      dims.push_back(*constant);
    else
      dims.push_back(dim.to_string());
  }
  return dims;
}

ordered_json tensor_json(const ShapeView& view, const Value* value) {
  if (value == nullptr) return nullptr;
  ordered_json tensor;
  tensor["name"] = value->name;
  tensor["dtype"] = info(value->dtype).name;
  tensor["dims"] = value->shape ? dims_json(*value->shape) : ordered_json(nullptr);
  if (value->shape && view.has_sizes()) tensor["at"] = dims_json(view.at_sizes(*value->shape));
  if (value->elements) tensor["elements"] = dims_json(*value->elements);
  if (disagrees(*value)) tensor["declared"] = dims_json(*value->declared_shape);
  return tensor;
}

ordered_json tensors_json(const ShapeView& view, const std::vector<Value*>& values) {
  ordered_json tensors = ordered_json::array();
  for (const Value* value : values) tensors.push_back(tensor_json(view, value));
  return tensors;
}

ordered_json node_json(const ShownShapes& shown, const Node& node) {
  ordered_json entry = {{"name", node.origin.name},
                        {"op_type", node.origin.type},
                        {"domain", node.origin.domain},
                        {"inputs", tensors_json(shown.view, node.inputs)},
                        {"outputs", tensors_json(shown.view, node.outputs)}};
  if (node.origin.place.is_known()) entry["source"] = source_json(node.origin.place);
  add_condition(entry, node.condition);
  if (const std::string* fault = fault_of(shown, node)) entry["fault"] = *fault;
  return entry;
}

ordered_json guard_json(const ShapeView& view, const Guard& guard) {
  ordered_json entry = {{"left", guard.left.to_string()},
                        {"relation", relation(guard)},
                        {"right", guard.right.to_string()},
                        {"reason", guard.reason}};
  add_condition(entry, guard.condition);
  const std::optional<bool> holds = view.has_sizes() ? view.holds(guard) : std::nullopt;
  if (holds) entry["holds"] = *holds;
  return entry;
}

}  // namespace

const char* relation(const Guard& guard) { return guard.kind == Guard::Kind::equal ? "==" : ">="; }

std::string shapes_table(const ShownShapes& shown) {
  const auto& [graph, view, faults, stop] = shown;
  std::string text;
  if (view.shows_all())
    for (const Value* input : graph.inputs) text += fmt::format("input   {}\n", describe(view, input));
  for (const auto& node : graph.nodes())
    if (view.shows(*node)) text += node_lines(shown, *node);
  if (view.shows_all()) {
    for (const Value* output : graph.outputs) text += fmt::format("output  {}\n", describe(view, output));
    for (const RunTimeSymbol& each : graph.run_time_symbols)
      text += fmt::format("run     {} = {}\n", printable(each.symbol.name()), printable(each.reason, longest_reason));
    for (const SizeLine& line : size_lines(graph.size_rules))
      text += fmt::format("sizes   {}\n", printable(line.text(), longest_reason));
    for (const Guard& guard : graph.guards) text += guard_line(view, guard);
  }
  if (!stop.empty()) text += fmt::format("stopped: {}\n", printable_message(stop));
  return text;
}

std::string shapes_json(const ShownShapes& shown) {
  const auto& [graph, view, faults, stop] = shown;
  ordered_json dump;
  dump["format"] = "onnxc-shapes";
  dump["version"] = 1;
  dump["inputs"] = tensors_json(view, graph.inputs);
  dump["outputs"] = tensors_json(view, graph.outputs);
  dump["nodes"] = ordered_json::array();
  for (const auto& node : graph.nodes())
    if (view.shows(*node)) dump["nodes"].push_back(node_json(shown, *node));
  dump["run_time"] = ordered_json::array();
  for (const RunTimeSymbol& each : graph.run_time_symbols)
    dump["run_time"].push_back({{"symbol", each.symbol.name()}, {"reason", each.reason}});
  dump["sizes"] = ordered_json::array();
  for (const SizeRule& rule : graph.size_rules)
    dump["sizes"].push_back({{"symbol", rule.symbol.name()}, {"legal", rule.legal}, {"reasons", rule.reasons}});
  dump["guards"] = ordered_json::array();
  for (const Guard& guard : graph.guards) dump["guards"].push_back(guard_json(view, guard));
  dump["stop"] = stop.empty() ? ordered_json(nullptr) : ordered_json(stop);
  return dump.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace onnxc
