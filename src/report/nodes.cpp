#include "report/nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "codegen/step_title.h"
#include "passes/lowering/lower.h"
#include "support/count_text.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

using nlohmann::ordered_json;

// The fate of one node.
struct Fate {
  std::string became = "no step";  // "kernel", "loops", "sizes", "loop", or "no step": computed at compile time, folded
                                   // into another, or a view
  std::optional<size_t> step = {};  // that gives its output
  std::vector<size_t> steps;        // all that have a part in it
  std::string description;          // the titles of those that compute
  std::vector<std::string> fused_with;
};

const char* kind_of(const Step& step) {
  if (std::holds_alternative<KernelCall>(step.work)) return "kernel";
  if (std::holds_alternative<SymbolBinding>(step.work)) return "sizes";
  return std::holds_alternative<LoopNest>(step.work) ? "loops" : "loop";
}

// A copy into another layout, or the reading of sizes, which only follows what computes.
bool is_copy(const Step& step) {
  if (const auto* nest = std::get_if<LoopNest>(&step.work)) return nest->name == copy_nest_name;
  const auto* call = std::get_if<KernelCall>(&step.work);
  return call == nullptr || call->spec->describe().starts_with(fmt::format("{} to ", copy_nest_name));
}

// `steps`: those of one node; the last gives its output.
Fate fate_of(const std::string& node, const Program& program, const std::vector<size_t>& steps) {
  std::vector<size_t> computing;
  std::ranges::copy_if(steps, std::back_inserter(computing), [&](size_t i) { return !is_copy(program.steps[i]); });
  if (computing.empty()) computing = {steps.front()};
  Fate fate;
  fate.step = computing.back();
  fate.steps = steps;
  fate.became = kind_of(program.steps[computing.back()]);
  std::vector<std::string> titles;
  for (const size_t i : computing) {
    const Step& step = program.steps[i];
    if (std::holds_alternative<KernelCall>(step.work)) fate.became = "kernel";
    std::string title = step_title(program, step);
    if (std::ranges::find(titles, title) == titles.end()) titles.push_back(std::move(title));
  }
  fate.description = list_text(titles, " + ");
  for (const Origin& other : program.steps[computing.back()].origins)
    if (other.name != node) fate.fused_with.push_back(other.name);
  return fate;
}

std::vector<Fate> fates(const std::vector<Origin>& nodes, const Program& program) {
  std::map<std::string, std::vector<size_t>> steps;
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (const Origin& origin : program.steps[i].origins) steps[origin.name].push_back(i);
  std::vector<Fate> result;
  for (const Origin& node : nodes) {
    const auto found = steps.find(node.name);
    result.push_back(found == steps.end() ? Fate() : fate_of(node.name, program, found->second));
  }
  return result;
}

// Why a step belongs to none of the file's nodes; empty if it does.
std::string why_of_no_node(const Step& step, const std::set<std::string>& names) {
  std::vector<std::string> added;
  for (const Origin& origin : step.origins) {
    if (names.contains(origin.name)) return {};
    added.push_back(fmt::format("{} {}", printable(origin.type), quote(origin.name)));
  }
  return added.empty() ? "of no node" : fmt::format("for {}, which is not a node of the file", list_text(added));
}

std::set<std::string> names_of(const std::vector<Origin>& nodes) {
  std::set<std::string> names;
  for (const Origin& node : nodes) names.insert(node.name);
  return names;
}

}  // namespace

std::string step_numbers(const std::vector<size_t>& steps) {
  if (steps.empty()) return "-";
  if (steps.size() == 1) return std::to_string(steps.front());
  if (steps.back() - steps.front() + 1 == steps.size()) return fmt::format("{}-{}", steps.front(), steps.back());
  return list_text(std::vector<int64_t>(steps.begin(), steps.end()));
}

std::vector<Origin> origins(const Graph& graph) {
  std::vector<Origin> result;
  for (const auto& node : graph.nodes()) result.push_back(node->origin);
  return result;
}

std::string nodes_table(const std::vector<Origin>& nodes, const Program& program) {
  constexpr size_t longest = 40, longest_description = 80;
  const bool has_places = std::ranges::any_of(nodes, [](const Origin& node) { return node.place.is_known(); });
  std::vector<std::array<std::string, 7>> rows = {
      {"operator", "node", "became", "steps", "as", "together with", has_places ? "from" : ""}};
  std::map<std::string, size_t> counts;
  std::vector<Fate> all = fates(nodes, program);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Fate& fate = all[i];
    ++counts[fate.became];
    std::string others;
    for (const std::string& name : fate.fused_with) others += (others.empty() ? "" : ", ") + printable(name, longest);
    rows.push_back({printable(nodes[i].type, longest), printable(nodes[i].name, longest), fate.became,
                    step_numbers(fate.steps), printable(fate.description, longest_description), others,
                    nodes[i].place.describe()});
  }
  std::array<size_t, 7> widths{};
  for (const auto& row : rows)
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line =
        fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:<{}}  {:<{}}  {}", row[0], widths[0], row[1], widths[1], row[2],
                    widths[2], row[3], widths[3], row[4], widths[4], row[5], has_places ? widths[5] : 0, row[6]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const std::set<std::string> names = names_of(nodes);
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (const std::string why = why_of_no_node(program.steps[i], names); !why.empty())
      text += fmt::format("step {}, {}: {}\n", i, printable(step_title(program, program.steps[i])), why);
  text += fmt::format("\n{} in {}:", counted(nodes.size(), "node"), counted(program.steps.size(), "step"));
  std::string separator = " ";
  for (const auto& [became, count] : counts)
    text += std::exchange(separator, ", ") + fmt::format("{} {}", count, became);
  return text + "\n";
}

ordered_json nodes_json(const std::vector<Origin>& nodes, const Program& program) {
  ordered_json report = ordered_json::array();
  std::vector<Fate> all = fates(nodes, program);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Fate& fate = all[i];
    report.push_back({{"name", nodes[i].name},
                      {"op_type", nodes[i].type},
                      {"became", fate.became},
                      {"step", fate.step ? ordered_json(*fate.step) : ordered_json(nullptr)},
                      {"steps", fate.steps},
                      {"description", fate.description},
                      {"fused_with", fate.fused_with},
                      {"source", source_json(nodes[i].place)}});
  }
  return report;
}

ordered_json steps_json(const std::vector<Origin>& nodes, const Program& program) {
  const std::set<std::string> names = names_of(nodes);
  ordered_json report = ordered_json::array();
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    ordered_json entry = {{"step", i}, {"description", step_title(program, step)}, {"nodes", ordered_json::array()}};
    for (const Origin& origin : step.origins)
      if (names.contains(origin.name)) entry["nodes"].push_back(origin.name);
    const std::string why = why_of_no_node(step, names);
    entry["why"] = why.empty() ? ordered_json(nullptr) : ordered_json(why);
    report.push_back(std::move(entry));
  }
  return report;
}

ordered_json offers_json(const Graph& graph, const KernelChoices& choices) {
  ordered_json report = ordered_json::array();
  for (const auto& node : graph.nodes()) {
    const auto found = choices.nodes.find(node.get());
    if (found == choices.nodes.end()) continue;  // -O0
    const NodeChoice& choice = found->second;
    for (size_t i = 0; i < choice.offers.size(); ++i) {
      const Offer& offer = choice.offers[i];
      report.push_back({{"node", node->origin.name},
                        {"op_type", node->origin.type},
                        {"kernel", offer.kernel},
                        {"reads", name_of(offer.reads)},
                        {"gives", name_of(offer.gives)},
                        {"cost", offer.cost ? ordered_json(*offer.cost) : ordered_json(nullptr)},
                        {"choice", verdict(choice, i)}});
    }
  }
  return report;
}

ordered_json source_json(const SourcePlace& place) {
  if (!place.is_known()) return nullptr;
  return {{"module", place.module}, {"line", place.line}, {"code", place.code}};
}

}  // namespace onnxc
