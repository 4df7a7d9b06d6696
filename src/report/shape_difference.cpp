#include "report/shape_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ir/attribute_text.h"
#include "report/node_alignment.h"
#include "report/nodes.h"
#include "report/shapes.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Symbols = std::map<Symbol, Expr>;
using Values = std::vector<Value*>;

// In the order in which `other` has these names, if it has just these; else as they are.
Values in_order_of(const Values& other, const Values& values) {
  Values ordered;
  for (const Value* each : other) {
    const auto named = std::ranges::find(values, each->name, &Value::name);
    if (named == values.end()) return values;
    ordered.push_back(*named);
  }
  return ordered.size() == values.size() ? ordered : values;
}

// The symbols of `before` as `after` calls them: those of the same dims of the inputs, and those of a run by their
// names.
Symbols common_symbols(const Graph& before, const Graph& after) {
  Symbols symbols;
  const auto add = [&](const Expr& from, const Expr& to) {
    const std::optional<Symbol> symbol = from.without_quotients().as_symbol();
    if (symbol && to.without_quotients().as_symbol()) symbols.emplace(*symbol, to.without_quotients());
  };
  const Values others = in_order_of(before.inputs, after.inputs);
  for (size_t i = 0; i < std::min(before.inputs.size(), others.size()); ++i) {
    const std::optional<Shape>&shape = before.inputs[i]->shape, &other = others[i]->shape;
    for (size_t axis = 0; shape && other && axis < std::min(shape->size(), other->size()); ++axis)
      add((*shape)[axis], (*other)[axis]);
  }
  for (const RunTimeSymbol& symbol : before.run_time_symbols)
    for (const RunTimeSymbol& other : after.run_time_symbols)
      if (symbol.symbol.name() == other.symbol.name()) add(symbol.symbol, other.symbol);
  return symbols;
}

// Texts of one of the graphs, in symbols that both have.
class Texts {
 public:
  explicit Texts(Symbols symbols = {}) : symbols_(std::move(symbols)) {}

  Expr common(const Expr& expr) const { return expr.without_quotients().substitute(symbols_); }
  // "float32[N, 64, D//2]", "int64[2] = [N, 64]"; "" for none.
  std::string of(const Value* value) const {
    if (value == nullptr) return "";
    std::string text(info(value->dtype).name);
    text += value->shape ? to_string(common(*value->shape)) : " of unknown shape";
    if (value->elements && value->elements->size() <= 8)
      text += fmt::format(" = {}", to_string(common(*value->elements)));
    return text;
  }
  std::string of(const Values& values) const {
    std::string text;
    for (const Value* value : values) text += of(value) + "; ";
    return text;
  }
  std::string of(const SizeRule& rule) const {
    return fmt::format("{} = {}", common(rule.symbol).to_string(), rule.legal);
  }
  std::string of(const Guard& guard) const {
    return fmt::format("{} {} {}", common(guard.left).to_string(), relation(guard), common(guard.right).to_string());
  }

 private:
  Shape common(const Shape& shape) const {
    Shape result;
    for (const Expr& dim : shape) result.push_back(common(dim));
    return result;
  }

  Symbols symbols_;
};

NodeKey key_of(const Node& node, const Texts& texts) {
  return {node.origin.domain + "::" + node.origin.type, node.origin.name, node.origin.place.module,
          texts.of(node.outputs)};
}

// Keyed by an attribute's name: its text in the node before and in the one after, "" if a node lacks it.
std::map<std::string, std::pair<std::string, std::string>> attributes_of(const Node& before, const Node& after) {
  std::map<std::string, std::pair<std::string, std::string>> texts;
  for (const NamedAttribute& attribute : before.attributes) texts[attribute.name].first = to_string(attribute.value);
  for (const NamedAttribute& attribute : after.attributes) texts[attribute.name].second = to_string(attribute.value);
  return texts;
}

std::string title(const Node& node) {
  return fmt::format("{} {}", printable(node.origin.type), quote(node.origin.name));
}

// The source of a node's input.
std::string source_of(const Value& value) {
  if (value.producer != nullptr) return title(*value.producer);
  return value.constant ? "a constant" : "input " + quote(value.name);
}

class Comparison {
 public:
  Comparison(const ComparedGraph& before, const ComparedGraph& after, const ShapeView& view)
      : view_(view),
        symbols_(common_symbols(before.graph, after.graph)),
        texts_before_(symbols_),
        result_{before, after} {}

  ShapeDifference run() && {
    for (const auto& [symbol, other] : symbols_)
      if (symbol.name() != other.as_symbol()->name())
        result_.symbols.push_back({"symbol", symbol.name(), other.as_symbol()->name()});
    const Graph &before = result_.before.graph, &after = result_.after.graph;
    compare_values("input", before.inputs, in_order_of(before.inputs, after.inputs), result_.interface);
    compare_nodes(before, after);
    compare_values("output", before.outputs, in_order_of(before.outputs, after.outputs), result_.interface);
    compare_rules("sizes", before.size_rules, after.size_rules);
    compare_rules("rule", before.guards, after.guards);
    return std::move(result_);
  }

 private:
  // Compares by position.
  void compare_values(const char* what, const Values& before, const Values& after, std::vector<Change>& changes) const {
    for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      const Value* first = i < before.size() ? before[i] : nullptr;
      const Value* second = i < after.size() ? after[i] : nullptr;
      const std::string text_before = texts_before_.of(first), text_after = texts_after_.of(second);
      if (text_before != text_after)
        changes.push_back({fmt::format("{} {} {}", what, i, quote((second != nullptr ? second : first)->name)),
                           text_before, text_after});
    }
  }

  void compare_nodes(const Graph& before, const Graph& after) {
    std::vector<const Node*> nodes[2];
    std::vector<NodeKey> keys[2];
    const auto collect = [&](const Graph& graph, const Texts& texts, size_t side) {
      for (const auto& node : graph.nodes()) {
        nodes[side].push_back(node.get());
        keys[side].push_back(key_of(*node, texts));
      }
    };
    collect(before, texts_before_, 0);
    collect(after, texts_after_, 1);
    for (const NodePair& pair : align_nodes(keys[0], keys[1])) {
      NodeChange node{.before_place = pair.before.value_or(0), .after_place = pair.after.value_or(0)};
      if (pair.before) node.before = nodes[0][*pair.before];
      if (pair.after) node.after = nodes[1][*pair.after];
      if (pair.before && pair.after) {
        counterparts_[node.before] = node.after;
        compare_node(node);
        if (node.changes.empty()) {
          ++result_.alike;
          continue;
        }
      }
      if (view_.shows(*(node.after != nullptr ? node.after : node.before))) result_.nodes.push_back(std::move(node));
    }
  }

  void compare_node(NodeChange& node) const {
    for (const auto& [name, texts] : attributes_of(*node.before, *node.after))
      if (texts.first != texts.second) node.changes.push_back({printable(name), texts.first, texts.second});
    compare_sources(node);
    const bool differs_itself = !node.changes.empty();
    compare_values("in", node.before->inputs, node.after->inputs, node.changes);
    node.begins = differs_itself || !reads_another_shape(node);
    compare_values("out", node.before->outputs, node.after->outputs, node.changes);
  }

  // Whether inputs come from the same nodes.
  void compare_sources(NodeChange& node) const {
    const Values &before = node.before->inputs, &after = node.after->inputs;
    for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      if (before[i] == nullptr || after[i] == nullptr) continue;
      const auto counterpart = counterparts_.find(before[i]->producer);
      const Node* expected = counterpart == counterparts_.end() ? nullptr : counterpart->second;
      const bool is_same = after[i]->producer == expected && after[i]->output_index == before[i]->output_index &&
                           (before[i]->producer == nullptr) == (expected == nullptr) &&
                           before[i]->constant.has_value() == after[i]->constant.has_value();
      if (!is_same)
        node.changes.push_back({fmt::format("in {} comes from", i), source_of(*before[i]), source_of(*after[i])});
    }
  }

  // For a node or an input of the model; constants are the node's own.
  bool reads_another_shape(const NodeChange& node) const {
    const Values &before = node.before->inputs, &after = node.after->inputs;
    for (size_t i = 0; i < std::min(before.size(), after.size()); ++i)
      if (before[i] != nullptr && after[i] != nullptr && !after[i]->constant &&
          texts_before_.of(before[i]) != texts_after_.of(after[i]))
        return true;
    return false;
  }

  // The rules that only one of the graphs has.
  template <class Rule>
  void compare_rules(const char* what, const std::vector<Rule>& before, const std::vector<Rule>& after) {
    std::vector<std::string> lines[2];
    for (const Rule& rule : before) lines[0].push_back(texts_before_.of(rule));
    for (const Rule& rule : after) lines[1].push_back(texts_after_.of(rule));
    const auto lacks = [](const std::vector<std::string>& all, const std::string& line) {
      return std::ranges::find(all, line) == all.end();
    };
    for (const std::string& line : lines[0])
      if (lacks(lines[1], line)) result_.rules.push_back({what, line, ""});
    for (const std::string& line : lines[1])
      if (lacks(lines[0], line)) result_.rules.push_back({what, "", line});
  }

  const ShapeView& view_;
  Symbols symbols_;
  Texts texts_before_, texts_after_;
  std::map<const Node*, const Node*> counterparts_;
  ShapeDifference result_;
};

// ------------------------------------------------------------------------------------------------------- table

constexpr size_t longest_line = 4000;

std::string lines_of(const Change& change, std::string_view indent) {
  std::string text;
  if (!change.before.empty()) text += fmt::format("{}- {}\n", indent, printable(change.before, longest_line));
  if (!change.after.empty()) text += fmt::format("{}+ {}\n", indent, printable(change.after, longest_line));
  return text;
}

std::string place_line(const Node& node) {
  const std::string place = node.origin.place.describe();
  return place.empty() ? "" : fmt::format("    at  {}\n", place);
}

std::string lines_of_one(const Node& node, char sign, size_t place, const Texts& texts) {
  std::string text = fmt::format("{} {} ({})\n{}", sign, title(node), place, place_line(node));
  for (const Value* output : node.outputs)
    if (output != nullptr) text += fmt::format("    out {} {}\n", printable(output->name), texts.of(output));
  return text;
}

std::string lines_of(const NodeChange& node) {
  if (node.after == nullptr) return lines_of_one(*node.before, '-', node.before_place, Texts());
  if (node.before == nullptr) return lines_of_one(*node.after, '+', node.after_place, Texts());
  const std::string head = fmt::format("  {} ({}, was {})", title(*node.after), node.after_place, node.before_place);
  if (!node.begins) {
    const auto output = std::ranges::find_if(node.changes, [](const Change& c) { return c.what.starts_with("out "); });
    const Change& shown = output == node.changes.end() ? node.changes.front() : *output;
    return fmt::format("{} follows: {} {} was {}\n", head, shown.what, shown.after, shown.before);
  }
  std::string text = head + "\n" + place_line(*node.after);
  for (const Change& change : node.changes) text += fmt::format("    {}\n{}", change.what, lines_of(change, "    "));
  return text;
}

// ------------------------------------------------------------------------------------------------------- JSON

using nlohmann::ordered_json;

ordered_json text_json(const std::string& text) { return text.empty() ? ordered_json(nullptr) : ordered_json(text); }

ordered_json changes_json(const std::vector<Change>& changes) {
  ordered_json list = ordered_json::array();
  for (const Change& change : changes)
    list.push_back({{"what", change.what}, {"before", text_json(change.before)}, {"after", text_json(change.after)}});
  return list;
}

ordered_json node_json(const Node* node, size_t place) {
  if (node == nullptr) return nullptr;
  return {{"name", node->origin.name},
          {"op_type", node->origin.type},
          {"place", place},
          {"source", source_json(node->origin.place)}};
}

}  // namespace

ShapeDifference compare_shapes(const ComparedGraph& before, const ComparedGraph& after, const ShapeView& view) {
  return Comparison(before, after, view).run();
}

std::string difference_table(const ShapeDifference& difference) {
  const auto& [before, after, symbols, interface, nodes, rules, alike] = difference;
  std::string text;
  for (const auto& [graph, sign] : {std::pair(&before, "---"), std::pair(&after, "+++")}) {
    text += fmt::format("{} {}: {}\n", sign, printable(graph->name), counted(graph->graph.nodes().size(), "node"));
    if (!graph->stop.empty()) text += fmt::format("    stopped: {}\n", printable_message(graph->stop));
  }
  for (const Change& symbol : symbols)
    text += fmt::format("symbol {} was {}\n", printable(symbol.after), printable(symbol.before));
  for (const Change& change : interface) text += fmt::format("{}\n{}", change.what, lines_of(change, "    "));
  size_t differing = 0, beginning = 0, gone = 0, added = 0;
  std::string following;  // after the others, which say why
  for (const NodeChange& node : nodes) {
    (node.begins ? text : following) += lines_of(node);
    if (node.before == nullptr || node.after == nullptr) {
      ++(node.after == nullptr ? gone : added);
    } else {
      ++differing;
      beginning += node.begins ? 1 : 0;
    }
  }
  text += following;
  for (const Change& rule : rules) text += fmt::format("{}\n{}", rule.what, lines_of(rule, "    "));
  if (difference.is_empty()) return text + fmt::format("no difference in {}\n", counted(alike, "node"));
  return text + fmt::format("{} alike, {} differ ({} of them by themselves), {} gone, {} new\n", counted(alike, "node"),
                            differing, beginning, gone, added);
}

std::string difference_json(const ShapeDifference& difference) {
  ordered_json json = {{"format", "onnxc-shape-difference"}, {"version", 1}};
  json["models"] = {difference.before.name, difference.after.name};
  json["stops"] = {text_json(difference.before.stop), text_json(difference.after.stop)};
  json["symbols"] = changes_json(difference.symbols);
  json["interface"] = changes_json(difference.interface);
  json["nodes"] = ordered_json::array();
  for (const NodeChange& node : difference.nodes)
    json["nodes"].push_back({{"before", node_json(node.before, node.before_place)},
                             {"after", node_json(node.after, node.after_place)},
                             {"begins", node.begins},
                             {"changes", changes_json(node.changes)}});
  json["rules"] = changes_json(difference.rules);
  json["alike"] = difference.alike;
  return json.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace onnxc
