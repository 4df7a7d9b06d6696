#include "report/report_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/nodes.h"
#include "report/page/page.h"

namespace onnxc {
namespace {

using Json = Page::Json;

// "conv3d float32[N, 64, D//2]"
std::string describe(const Value& value) {
  return fmt::format("{} {}{}", value.name, info(value.dtype).name,
                     value.shape ? to_string(*value.shape) : " of unknown shape");
}

std::string describe(const SourcePlace& place) {
  return place.code.empty() ? place.describe() : fmt::format("{}: {}", place.describe(), place.code);
}

std::vector<Page::GraphNode> graph_nodes(const Graph& graph) {
  std::map<const Node*, size_t> places;
  std::vector<Page::GraphNode> nodes;
  for (const auto& node : graph.nodes()) {
    Page::GraphNode shown{fmt::format("{}  {}", node->origin.type, node->origin.name), {}};
    for (const Value* output : node->outputs)
      if (output != nullptr) shown.lines.push_back(describe(*output));
    if (node->origin.place.is_known()) shown.lines.push_back(describe(node->origin.place));
    for (const Value* input : node->inputs)
      if (input != nullptr && input->producer != nullptr) shown.inputs.push_back(places.at(input->producer));
    places.emplace(node.get(), nodes.size());
    nodes.push_back(std::move(shown));
  }
  return nodes;
}

std::string numbers(const Json& steps) { return steps.empty() ? "" : step_numbers(steps.get<std::vector<size_t>>()); }

}  // namespace

void add_graph(Page& page, const Graph& graph) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const Value* input : graph.inputs) facts.emplace_back("input", describe(*input));
  for (const Value* output : graph.outputs) facts.emplace_back("output", describe(*output));
  for (const SizeRule& rule : graph.size_rules) facts.emplace_back("legal sizes", rule.describe());
  for (const RunTimeSymbol& symbol : graph.run_time_symbols)
    facts.emplace_back("known in a run", fmt::format("{}: {}", symbol.symbol.name(), symbol.reason));
  page.add_facts("Model", facts);
  page.add_graph(
      "Graph",
      "The model's nodes in the order in which they are computed, with the shapes that they give. A line from "
      "further above is a tensor that waits for its reader, such as a skip connection.",
      graph_nodes(graph));
}

double largest_cost(const nlohmann::ordered_json& offers) {
  double largest = 0;
  for (const Json& offer : offers)
    if (!offer.at("cost").is_null()) largest = std::max(largest, offer.at("cost").get<double>());
  return largest;
}

void add_offers(Page& page, const std::string& where, const std::string& unit, const nlohmann::ordered_json& offers) {
  const double scale = largest_cost(offers) >= 1e6 ? 1e6 : 1;
  std::vector<Json> rows;
  for (const Json& offer : offers)
    rows.push_back({offer.at("node"), offer.at("op_type"), offer.at("kernel"),
                    fmt::format("{} to {}", offer.at("reads").get<std::string>(), offer.at("gives").get<std::string>()),
                    offer.at("cost").is_null() ? Json() : Json(offer.at("cost").get<double>() / scale),
                    offer.at("choice")});
  if (rows.empty()) return;
  page.add_table(
      "Kernels that offer, on " + where,
      fmt::format("The cost is that of one image, in {}{}, with 64 for each free dim of an input; copies between "
                  "layouts are weighed with it. The last offer is the node's definition as loops. Without a "
                  "cost the first that fits is taken.",
                  scale > 1 ? "millions of " : "", unit),
      {{.name = "node"},
       {.name = "operator"},
       {.name = "kernel"},
       {.name = "layouts"},
       {.name = "cost", .is_number = true, .has_bar = true, .decimals = 3},
       {.name = "choice"}},
      std::move(rows));
}

void add_nodes(Page& page, const std::string& where, const nlohmann::ordered_json& nodes,
               const nlohmann::ordered_json& steps) {
  std::vector<Json> rows;
  for (const Json& node : nodes) {
    const Json& source = node.at("source");
    std::string others;
    for (const Json& name : node.at("fused_with")) others += (others.empty() ? "" : "\n") + name.get<std::string>();
    rows.push_back({node.at("op_type"), node.at("name"), node.at("became"), numbers(node.at("steps")),
                    node.at("description"), others, source.is_null() ? Json("") : source.at("module"),
                    source.is_null() ? Json("") : source.at("line")});
  }
  page.add_table(
      "Steps of each node, on " + where,
      "A fast kernel, plain loops, or no step of its own: computed at compile time, folded into another node, "
      "or only a view.",
      {{.name = "operator"},
       {.name = "node"},
       {.name = "became"},
       {.name = "steps"},
       {.name = "as"},
       {.name = "together with"},
       {.name = "module"},
       {.name = "line"}},
      std::move(rows));
  std::vector<Json> others;
  for (const Json& step : steps)
    if (!step.at("why").is_null()) others.push_back({step.at("step"), step.at("description"), step.at("why")});
  if (!others.empty())
    page.add_table("Steps of no node, on " + where, "Steps that the compile added to those of the file's nodes.",
                   {{.name = "step", .is_number = true}, {.name = "as"}, {.name = "why"}}, std::move(others));
}

void add_kernels(Page& page, const nlohmann::ordered_json& kernels) {
  std::vector<Json> rows;
  for (const Json& kernel : kernels)
    rows.push_back({kernel.at("name"), kernel.at("description"), kernel.at("steps").size(), kernel.at("modelled_us"),
                    kernel.at("bound").is_null() ? Json("") : kernel.at("bound"), kernel.at("planned_lds_bytes"),
                    kernel.at("vector_registers"), kernel.at("spilled_registers"), kernel.at("waves")});
  page.add_table("Kernels of the GPU",
                 "Microseconds of a launch and what bounds it, as the cost model expects them; none of it is measured.",
                 {{.name = "kernel"},
                  {.name = "what"},
                  {.name = "steps", .is_number = true},
                  {.name = "us", .is_number = true, .has_bar = true, .decimals = 1},
                  {.name = "bound"},
                  {.name = "LDS bytes", .is_number = true},
                  {.name = "vector registers", .is_number = true},
                  {.name = "spilled", .is_number = true},
                  {.name = "waves", .is_number = true}},
                 std::move(rows));
}

}  // namespace onnxc
