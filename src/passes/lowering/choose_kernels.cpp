#include "passes/lowering/choose_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/op.h"
#include "passes/lowering/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Whether it takes part in the choice for a node whose input is in blocks, or is not.
bool takes_part(const Offer& offer, bool is_in_blocks) {
  return offer.declined.empty() &&
         (offer.needs == LayoutDemand::none || (offer.needs == LayoutDemand::blocks) == is_in_blocks);
}

// The layout in which the kernels of a node read input 0: all of its offers agree.
LayoutDemand reads(const NodeChoice* choice) {
  return choice == nullptr || choice->offers.empty() ? LayoutDemand::none : choice->offers.front().reads;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Target& target) : graph_(graph), target_(target) {}

  KernelChoices run() {
    choices_.cost_unit = target_.cost_unit;
    for (const auto& node : graph_.nodes())
      if (Offers offers = target_.offers(*node, graph_); !offers.empty())
        choices_.nodes[node.get()].offers = std::move(offers);
    const auto& nodes = graph_.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) pass_on_demands(**node);
    for (const auto& node : nodes) choose(*node);
    return std::move(choices_);
  }

 private:
  NodeChoice* find(const Node& node) {
    const auto found = choices_.nodes.find(&node);
    return found == choices_.nodes.end() ? nullptr : &found->second;
  }

  // Backwards: what a node's kernels read, its input shall have. An operator that follows any layout passes on what the
  // readers of its outputs want. One reader that wants blocks decides for all: otherwise only it would need a copy.
  void pass_on_demands(const Node& node) {
    const LayoutDemand own = reads(find(node));
    LayoutDemand demand = own;
    if (own == LayoutDemand::none && node.op->layout == LayoutRule::follows)
      for (const Value* output : node.outputs)
        if (output != nullptr && !graph_.is_output(output)) demand = std::max(demand, demands_[output]);
    for (const Value* input : node.inputs) {
      LayoutDemand& of_input = demands_[input];
      of_input = std::max(of_input, demand);
      if (own != LayoutDemand::none) break;  // the others are its weights
    }
  }

  // Whether a value of this rank can be in blocks.
  static bool has_blocks(const Value* value) { return value != nullptr && value->shape && value->shape->size() >= 3; }

  // Forwards: the kernel of a node, and the layouts of its outputs.
  void choose(const Node& node) {
    NodeChoice* choice = find(node);
    if (choice != nullptr) {
      const Value& output = *node.outputs[0];
      const bool wants_blocks = !graph_.is_output(&output) && demands_[&output] == LayoutDemand::blocks;
      choice->output_wanted = wants_blocks ? LayoutDemand::blocks : LayoutDemand::rows;
      choice->copy_cost = copy_cost(output);
      choice->chosen = cheapest(node, *choice);
    }
    const Offer* offer = choices_.chosen(node);
    // A kernel that reads only the layout that it needs follows it, like an operator without a kernel.
    const bool follows = offer != nullptr && offer->needs != LayoutDemand::none && offer->reads != LayoutDemand::none;
    const bool decides = offer != nullptr && offer->gives != LayoutDemand::none && !follows;
    if (decides ? offer->gives == LayoutDemand::blocks : follows_blocks(node)) put_outputs_in_blocks(node, decides);
  }

  // Whether an operator that follows any layout has an input in blocks.
  bool follows_blocks(const Node& node) const {
    if (node.op->layout != LayoutRule::follows || node.outputs.empty() || !has_blocks(node.outputs[0])) return false;
    return std::ranges::any_of(node.inputs, [&](const Value* input) {
      return choices_.layouts.contains(input) && input->shape->size() == node.outputs[0]->shape->size();
    });
  }

  void put_outputs_in_blocks(const Node& node, bool is_decided_by_kernel) {
    for (const Value* output : node.outputs) {
      if (!has_blocks(output) || graph_.is_output(output)) continue;
      if (is_decided_by_kernel || demands_[output] != LayoutDemand::rows)
        choices_.layouts.emplace(output, target_.blocked_layout(output->shape->size()));
    }
  }

  // One image of the value, copied from blocks to rows.
  double copy_cost(const Value& value) const {
    if (!has_blocks(&value)) return 0;
    const Shape& shape = *value.shape;
    auto usual = [&](const Expr& size) { return static_cast<double>(usual_size(graph_, size).value_or(0)); };
    double vectors = usual(ceil_div(shape[1], target_.block_channels));
    for (size_t axis = 2; axis < shape.size(); ++axis) vectors *= usual(shape[axis]);
    return vectors * target_.copy_to_rows_cost;
  }

  std::optional<size_t> cheapest(const Node& node, const NodeChoice& choice) const {
    const bool is_in_blocks = choices_.layouts.contains(node.inputs[0]);
    const bool wants_rows = choice.output_wanted == LayoutDemand::rows;
    std::optional<size_t> best;
    double least = 0;
    for (size_t i = 0; i < choice.offers.size(); ++i) {
      const Offer& offer = choice.offers[i];
      if (!takes_part(offer, is_in_blocks)) continue;
      const bool gives_rows = offer.gives == LayoutDemand::rows;
      if (gives_rows && !wants_rows && has_blocks_alternative(choice, is_in_blocks)) continue;
      const double cost = offer.cost.value_or(0) + (wants_rows && !gives_rows ? choice.copy_cost : 0);
      if (best && cost >= least) continue;
      best = i;
      least = cost;
    }
    return best;
  }

  static bool has_blocks_alternative(const NodeChoice& choice, bool is_in_blocks) {
    return std::ranges::any_of(choice.offers, [&](const Offer& offer) {
      return takes_part(offer, is_in_blocks) && offer.gives == LayoutDemand::blocks;
    });
  }

  const Graph& graph_;
  const Target& target_;
  KernelChoices choices_;
  std::map<const Value*, LayoutDemand> demands_;
};

std::string why_not(const NodeChoice& choice, const Offer& offer) {
  if (!offer.declined.empty()) return offer.declined;
  if (offer.needs != LayoutDemand::none) return fmt::format("needs its input in {}", name_of(offer.needs));
  if (offer.gives != choice.output_wanted)
    return offer.gives == LayoutDemand::blocks
               ? (offer.cost ? fmt::format("{:.3g} with the copy to rows", *offer.cost + choice.copy_cost)
                             : std::string("rows are wanted"))
               : "blocks are wanted";
  return offer.cost ? "costs more" : "another comes first";
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
  return offer == choice.chosen ? "taken" : why_not(choice, choice.offers[offer]);
}

const Offer* KernelChoices::chosen(const Node& node) const {
  const auto found = nodes.find(&node);
  return found == nodes.end() || !found->second.chosen ? nullptr : &found->second.offers[*found->second.chosen];
}

KernelChoices choose_kernels(const Graph& graph, const Target& target) { return Chooser(graph, target).run(); }

std::string to_string(const Graph& graph, const KernelChoices& choices) {
  std::string text = fmt::format(
      "# each node: the kernels that offer to compute it, the layouts that they read and give,\n"
      "# and the cost for one image, in {}, with 64 for each free dim of an input;\n"
      "# - where it is not estimated: of those the first that fits is taken\n",
      choices.cost_unit);
  size_t width = 28;
  for (const auto& [node, choice] : choices.nodes)
    for (const Offer& offer : choice.offers) width = std::max(width, offer.kernel.size());
  for (const auto& node : graph.nodes()) {
    text += node->describe() + "\n";
    const auto found = choices.nodes.find(node.get());
    if (found == choices.nodes.end()) {
      text += "  loops: no kernel supports it\n";
      continue;
    }
    const NodeChoice& choice = found->second;
    for (size_t i = 0; i < choice.offers.size(); ++i) {
      const Offer& offer = choice.offers[i];
      text +=
          fmt::format("  {:<{}} {:>6} -> {:<6} {:>10}  {}\n", offer.kernel, width, name_of(offer.reads),
                      name_of(offer.gives), offer.cost ? fmt::format("{:.3g}", *offer.cost) : "-", verdict(choice, i));
    }
    if (!choice.chosen) text += "  loops\n";
  }
  return text;
}

}  // namespace onnxc
