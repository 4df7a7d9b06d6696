#include "report/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "support/text.h"

namespace onnxc {
namespace {

using nlohmann::ordered_json;

bool disagrees(const Value& value) {
  if (!value.declared_shape || !value.shape) return false;
  if (value.declared_shape->size() != value.shape->size()) return true;
  // A declared symbol stands for any size; only a number can disagree.
  for (size_t i = 0; i < value.shape->size(); ++i)
    if ((*value.declared_shape)[i].constant() && !((*value.declared_shape)[i] == (*value.shape)[i])) return true;
  return false;
}

constexpr size_t longest_reason = 4000;

const char* relation(const Guard& guard) { return guard.kind == Guard::Kind::equal ? "==" : ">="; }

// ------------------------------------------------------------------------------------------------------- table

std::string describe(const Value* value) {
  if (value == nullptr) return "(none)";
  std::string text = fmt::format("{} {}", printable(value->name, 60), info(value->dtype).name);
  text += value->shape ? to_string(*value->shape) : " of unknown shape";
  if (value->elements && value->elements->size() <= 8) text += fmt::format(" = {}", to_string(*value->elements));
  if (disagrees(*value)) text += fmt::format("  (the file declares {})", to_string(*value->declared_shape));
  return text;
}

// Of what stands in a branch; a condition is 0 or 1.
std::string when(const Expr& condition) {
  return condition.is_constant(1) ? "" : fmt::format(" when {} is not 0", condition.to_string());
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

ordered_json tensor_json(const Value* value) {
  if (value == nullptr) return nullptr;
  ordered_json tensor;
  tensor["name"] = value->name;
  tensor["dtype"] = info(value->dtype).name;
  tensor["dims"] = value->shape ? dims_json(*value->shape) : ordered_json(nullptr);
  if (value->elements) tensor["elements"] = dims_json(*value->elements);
  if (disagrees(*value)) tensor["declared"] = dims_json(*value->declared_shape);
  return tensor;
}

ordered_json tensors_json(const std::vector<Value*>& values) {
  ordered_json tensors = ordered_json::array();
  for (const Value* value : values) tensors.push_back(tensor_json(value));
  return tensors;
}

}  // namespace

std::string shapes_table(const Graph& graph, const std::string& stop) {
  std::string text;
  for (const Value* input : graph.inputs) text += fmt::format("input   {}\n", describe(input));
  for (const auto& node : graph.nodes()) {
    text += fmt::format("{} {}{}\n", printable(node->origin.type), quote(node->origin.name), when(node->condition));
    for (const Value* input : node->inputs)
      if (input != nullptr) text += fmt::format("    in  {}\n", describe(input));
    for (const Value* output : node->outputs)
      if (output != nullptr) text += fmt::format("    out {}\n", describe(output));
    if (!stop.empty() && !node->outputs.empty() && node->outputs[0] != nullptr && !node->outputs[0]->shape) {
      text += fmt::format("stopped here: {}\n", printable_message(stop));
      return text;
    }
  }
  for (const Value* output : graph.outputs) text += fmt::format("output  {}\n", describe(output));
  for (const RunTimeSymbol& each : graph.run_time_symbols)
    text += fmt::format("run     {} = {}\n", printable(each.symbol.name()), printable(each.reason, longest_reason));
  for (const SizeRule& rule : graph.size_rules)
    text += fmt::format("sizes   {}\n", printable(rule.describe(), longest_reason));
  for (const Guard& guard : graph.guards)
    text += fmt::format("rule    {} {} {}{}  ({})\n", guard.left.to_string(), relation(guard), guard.right.to_string(),
                        when(guard.condition), printable(guard.reason, longest_reason));
  if (!stop.empty()) text += fmt::format("stopped: {}\n", printable_message(stop));
  return text;
}

std::string shapes_json(const Graph& graph, const std::string& stop) {
  ordered_json dump;
  dump["format"] = "onnxc-shapes";
  dump["version"] = 1;
  dump["inputs"] = tensors_json(graph.inputs);
  dump["outputs"] = tensors_json(graph.outputs);
  dump["nodes"] = ordered_json::array();
  for (const auto& node : graph.nodes()) {
    dump["nodes"].push_back({{"name", node->origin.name},
                             {"op_type", node->origin.type},
                             {"domain", node->origin.domain},
                             {"inputs", tensors_json(node->inputs)},
                             {"outputs", tensors_json(node->outputs)}});
    add_condition(dump["nodes"].back(), node->condition);
  }
  dump["run_time"] = ordered_json::array();
  for (const RunTimeSymbol& each : graph.run_time_symbols)
    dump["run_time"].push_back({{"symbol", each.symbol.name()}, {"reason", each.reason}});
  dump["sizes"] = ordered_json::array();
  for (const SizeRule& rule : graph.size_rules)
    dump["sizes"].push_back({{"symbol", rule.symbol.name()}, {"legal", rule.legal}, {"reasons", rule.reasons}});
  dump["guards"] = ordered_json::array();
  for (const Guard& guard : graph.guards) {
    dump["guards"].push_back({{"left", guard.left.to_string()},
                              {"relation", relation(guard)},
                              {"right", guard.right.to_string()},
                              {"reason", guard.reason}});
    add_condition(dump["guards"].back(), guard.condition);
  }
  dump["stop"] = stop.empty() ? ordered_json(nullptr) : ordered_json(stop);
  return dump.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace onnxc
