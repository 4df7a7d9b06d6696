#include "passes/lowering/choose_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "passes/lowering/definition_cost.h"
#include "passes/lowering/layout_plan.h"
#include "passes/lowering/lower.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// The node's definition: it reads any layout, and writes the same if its operator follows layouts.
Offer definition_of(const Node& node, const Offers& offers, std::optional<double> cost) {
  const bool follows = node.op->layout == LayoutRule::follows && !node.outputs.empty() && has_blocks(node.outputs[0]);
  return {.kernel = definition_name,
          .gives = follows ? LayoutDemand::none : LayoutDemand::rows,
          .activations = offers.empty() ? 0 : offers.front().activations,
          .cost = cost,
          .lower = [&node](LoweringContext& context) { lower_by_definition(node, context); }};
}

std::string why_not(const NodeChoice& choice, size_t offer) {
  const Offer& other = choice.offers[offer];
  if (!other.declined.empty()) return other.declined;
  if (!other.cost) return "another comes first";
  const double copies = choice.plan_costs[offer] - *other.cost;
  return copies > 0 ? fmt::format("{:.3g} with copies", choice.plan_costs[offer]) : "costs more";
}

}  // namespace

std::string_view name_of(LayoutDemand layout) {
  switch (layout) {
    case LayoutDemand::none:
      return "any";
    case LayoutDemand::rows:
      return "rows";
    case LayoutDemand::blocks:
      return "blocks";
  }
  internal_error("a layout");
}

std::string verdict(const NodeChoice& choice, size_t offer) {
  return offer == choice.chosen ? "taken" : why_not(choice, offer);
}

const Offer* KernelChoices::chosen(const Node& node) const {
  const auto found = nodes.find(&node);
  return found == nodes.end() ? nullptr : &found->second.offers[found->second.chosen];
}

void check_offers(const Node& node, const Offers& offers) {
  for (const Offer& offer : offers) {
    const auto check = [&](bool holds, std::string_view what) {
      if (!holds) internal_error(fmt::format("{}: the offer {}: {}", node.describe(), offer.kernel, what));
    };
    check(!offer.kernel.empty() && offer.lower != nullptr, "it has a name and can be lowered");
    check(offer.kernel != definition_name || &offer == &offers.back(), "the definition is the last");
    check(offer.activations == offers.front().activations && offer.activations <= node.inputs.size(),
          "all offers of a node have the same activations");
    check(!offer.cost || (std::isfinite(*offer.cost) && *offer.cost >= 0), "a cost is a number from 0 on");
    check(offer.reads != LayoutDemand::blocks || has_blocks(node.inputs[0]),
          "what it reads in blocks can be in blocks");
    check(offer.gives == LayoutDemand::rows || has_blocks(node.outputs[0]), "what it gives in blocks can be in blocks");
    const bool is_definition = &offer == &offers.back();
    check(is_definition || offer.gives != LayoutDemand::none || has_blocks(node.inputs[0]),
          "the layout that it keeps is that of its input");
  }
}

KernelChoices choose_kernels(const Graph& graph, const Target& target) {
  KernelChoices result;
  result.cost_unit = target.cost_unit;
  UsualSizes sizes(graph);
  std::vector<PricedNode> priced;
  for (const auto& node : graph.nodes()) {
    Offers& offers = result.nodes[node.get()].offers;
    offers = target.offers(*node, graph);
    DefinitionCost definition = definition_cost(*node, target, sizes);
    const bool has_kernels = std::ranges::any_of(offers, [](const Offer& offer) { return offer.declined.empty(); });
    offers.push_back(definition_of(*node, offers, definition.cost));
    if (has_kernels && !target.weighs_definitions) offers.back().declined = "a kernel supports it";
    check_offers(*node, offers);
    priced.push_back({node.get(), &offers, std::move(definition.loaded), std::move(definition.pointwise)});
  }
  LayoutPlan plan(graph, target, std::move(priced), sizes);
  plan.solve();
  size_t number = 0;
  for (const auto& node : graph.nodes()) {
    NodeChoice& choice = result.nodes.at(node.get());
    choice.plan_costs = plan.plan_costs(number++);
    choice.chosen = static_cast<size_t>(std::ranges::min_element(choice.plan_costs) - choice.plan_costs.begin());
    for (const Value* output : node->outputs)
      if (output != nullptr && plan.is_in_blocks(*output))
        result.layouts.emplace(output, target.blocked_layout(output->shape->size()));
  }
  return result;
}

std::string to_string(const Graph& graph, const KernelChoices& choices) {
  std::string text = fmt::format(
      "# each node: the kernels that offer to compute it, and its definition as loops; the layouts that they read and\n"
      "# give, and the cost for one image in {}, with 64 for each free dim of an input;\n"
      "# - if it is not estimated: of those the first that fits is taken\n",
      choices.cost_unit);
  size_t width = 28;
  for (const auto& [node, choice] : choices.nodes)
    for (const Offer& offer : choice.offers) width = std::max(width, offer.kernel.size());
  for (const auto& node : graph.nodes()) {
    const bool is_in_blocks =
        std::ranges::any_of(node->outputs, [&](const Value* output) { return choices.layouts.contains(output); });
    text += node->describe() + (is_in_blocks ? ", in blocks\n" : "\n");
    const NodeChoice& choice = choices.nodes.at(node.get());
    for (size_t i = 0; i < choice.offers.size(); ++i) {
      const Offer& offer = choice.offers[i];
      text +=
          fmt::format("  {:<{}} {:>6} -> {:<6} {:>10}  {}\n", offer.kernel, width, name_of(offer.reads),
                      name_of(offer.gives), offer.cost ? fmt::format("{:.3g}", *offer.cost) : "-", verdict(choice, i));
    }
  }
  return text;
}

}  // namespace onnxc
