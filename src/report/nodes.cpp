#include "report/nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "codegen/cpu/call/kernel_spec.h"
#include "passes/lowering/lower.h"
#include "support/text.h"

namespace onnxc {
namespace {

using nlohmann::ordered_json;

// What one node became.
struct Fate {
  std::string became;  // "kernel", "loops", "sizes", "loop", or "no step": computed at compile time, folded into
                       // another, or a view
  std::optional<size_t> step;
  std::string description;
  std::vector<std::string> fused_with;
};

std::pair<std::string, std::string> describe(const Program& program, const Step& step) {
  if (const auto* call = std::get_if<KernelCall>(&step.work)) return {"kernel", kernel_title(program, *call)};
  if (std::holds_alternative<SymbolBinding>(step.work)) return {"sizes", "of this run"};
  if (std::holds_alternative<LoopBegin>(step.work) || std::holds_alternative<LoopEnd>(step.work))
    return {"loop", "of steps"};
  return {"loops", std::get<LoopNest>(step.work).name};
}

bool is_copy(const Step& step) {
  if (const auto* nest = std::get_if<LoopNest>(&step.work)) return nest->name == copy_nest_name;
  const auto* call = std::get_if<KernelCall>(&step.work);
  return call == nullptr || call->spec->describe().starts_with(fmt::format("{} to ", copy_nest_name));
}

// A node's fate is the last of its steps, the one that gives its output; a copy into another layout, or the reading of
// sizes from it, only follows it.
std::vector<Fate> fates(const std::vector<Origin>& nodes, const Program& program) {
  std::map<std::string, size_t> last_step;
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (const Origin& origin : program.steps[i].origins)
      if (!is_copy(program.steps[i]) || !last_step.contains(origin.name)) last_step[origin.name] = i;
  std::vector<Fate> result;
  for (const Origin& node : nodes) {
    auto found = last_step.find(node.name);
    if (found == last_step.end()) {
      result.push_back({"no step", std::nullopt, "", {}});
      continue;
    }
    const Step& step = program.steps[found->second];
    auto [became, description] = describe(program, step);
    Fate fate{became, found->second, description, {}};
    for (const Origin& other : step.origins)
      if (other.name != node.name) fate.fused_with.push_back(other.name);
    result.push_back(std::move(fate));
  }
  return result;
}

}  // namespace

std::vector<Origin> origins(const Graph& graph) {
  std::vector<Origin> result;
  for (const auto& node : graph.nodes()) result.push_back(node->origin);
  return result;
}

std::string nodes_table(const std::vector<Origin>& nodes, const Program& program) {
  constexpr size_t longest = 40, longest_description = 80;
  const bool has_places = std::ranges::any_of(nodes, [](const Origin& node) { return node.place.is_known(); });
  std::vector<std::array<std::string, 7>> rows = {
      {"operator", "node", "became", "step", "as", "together with", has_places ? "from" : ""}};
  std::map<std::string, size_t> counts;
  std::vector<Fate> all = fates(nodes, program);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Fate& fate = all[i];
    ++counts[fate.became];
    std::string others;
    for (const std::string& name : fate.fused_with) others += (others.empty() ? "" : ", ") + printable(name, longest);
    rows.push_back({printable(nodes[i].type, longest), printable(nodes[i].name, longest), fate.became,
                    fate.step ? std::to_string(*fate.step) : "-", printable(fate.description, longest_description),
                    others, nodes[i].place.describe()});
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
  text += fmt::format("\n{} nodes in {} steps:", nodes.size(), program.steps.size());
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
                      {"description", fate.description},
                      {"fused_with", fate.fused_with},
                      {"source", source_json(nodes[i].place)}});
  }
  return report;
}

ordered_json source_json(const SourcePlace& place) {
  if (!place.is_known()) return nullptr;
  return {{"module", place.module}, {"line", place.line}, {"code", place.code}};
}

}  // namespace onnxc
