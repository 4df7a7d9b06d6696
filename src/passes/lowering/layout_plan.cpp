#include "passes/lowering/layout_plan.h"

#include <algorithm>
#include <limits>
#include <span>

#include "ops/op.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// The price of writing blocks if none was read, in parts of a copy: it decides only between equal plans.
constexpr double blocks_without_reason = 1e-4;

bool takes_part(const Offer& offer) { return offer.declined.empty(); }
bool follows(const Node& node) { return node.op->layout == LayoutRule::follows; }
bool deals_in_blocks(const Offer& offer) {
  return takes_part(offer) && (offer.reads == LayoutDemand::blocks || offer.gives == LayoutDemand::blocks);
}

// Whether blocks are among the layouts that an offer may have there, for each of them.
std::vector<bool> choices_of(LayoutDemand demand) {
  if (demand == LayoutDemand::none) return {false, true};
  return {demand == LayoutDemand::blocks};
}

std::vector<bool> choices_of(TwoLabels::Variable variable) {
  return variable ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

// Each once. A constant costs nothing in either layout: it is small, or packed.
std::vector<const Value*> with_layouts(std::span<Value* const> inputs) {
  std::vector<const Value*> result;
  for (const Value* input : inputs)
    if (has_blocks(input) && !input->constant && std::ranges::find(result, input) == result.end())
      result.push_back(input);
  return result;
}

std::vector<const Value*> activations(const PricedNode& node) {
  const std::span<Value* const> inputs = node.node->inputs;
  return with_layouts(inputs.first(std::min(node.offers->front().activations, inputs.size())));
}

}  // namespace

bool has_blocks(const Value* value) { return value != nullptr && value->shape && value->shape->size() >= 3; }

LayoutPlan::LayoutPlan(const Graph& graph, const Target& target, std::vector<PricedNode> nodes, UsualSizes& sizes)
    : graph_(graph), target_(target) {
  for (PricedNode& node : nodes) {
    for (const Value* input : node.node->inputs) add_value(input, sizes);
    for (const Value* output : node.node->outputs) add_value(output, sizes);
    for (const Value* input : std::set<const Value*>(node.node->inputs.begin(), node.node->inputs.end()))
      if (const auto found = values_.find(input); found != values_.end())
        found->second.readers.push_back(nodes_.size());
    const bool has_kernels = std::any_of(node.offers->begin(), node.offers->end() - 1, takes_part);
    nodes_.push_back({std::move(node), has_kernels});
  }
  if (std::ranges::none_of(nodes_,
                           [](const PlannedNode& node) { return std::ranges::any_of(*node.offers, deals_in_blocks); }))
    return;  // all labels are rows
  for (PlannedNode& node : nodes_) add_variables(node);
  for (size_t node = 0; node < nodes_.size(); ++node) find_epilogues(node);
  for (const Value* value : in_order_) add_costs(values_.at(value));
  for (size_t node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].has_kernels) add_savings(node);
  for (const PlannedNode& node : nodes_) node.has_kernels ? add_costs_of_kernels(node) : add_costs_of_loops(node);
}

bool LayoutPlan::is_in_blocks(const Value& value) const {
  const auto found = values_.find(&value);
  return found != values_.end() && result_[found->second.layout];
}

// ------------------------------------------------------------------------------------------------------- variables

void LayoutPlan::add_value(const Value* value, UsualSizes& sizes) {
  if (!has_blocks(value) || value->constant || values_.contains(value)) return;
  const Shape& shape = *value->shape;
  double voxels = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) voxels *= sizes.of(shape[axis]);
  const double blocks = sizes.of(ceil_div(shape[1], target_.block_channels));
  const double full_blocks = sizes.of(shape[1]) / static_cast<double>(target_.block_channels);
  const LayoutCosts& costs = target_.costs;
  in_order_.push_back(value);
  values_[value] = {.elements = sizes.of(shape[0]) * sizes.of(shape[1]) * voxels,
                    .padding = (blocks - full_blocks) * voxels,
                    .strides = blocks * voxels * std::max(costs.copy_to_rows, costs.copy_to_blocks),
                    .copy_to_rows = blocks * voxels * costs.copy_to_rows + costs.copy_step,
                    .copy_to_blocks = blocks * voxels * costs.copy_to_blocks + costs.copy_step,
                    .is_output = graph_.is_output(value)};
}

void LayoutPlan::add_variables(PlannedNode& planned) {
  const Node& node = *planned.node;
  if (planned.has_kernels) add_kernel_variables(planned);
  for (const Value* output : node.outputs) {
    if (!has_blocks(output) || graph_.is_output(output)) continue;
    const bool by_kernel = planned.has_kernels && output == node.outputs[0];
    if (by_kernel ? planned.gives.has_value() : !planned.has_kernels && follows(node))
      values_.at(output).layout = labels_.add();
  }
}

void LayoutPlan::add_kernel_variables(PlannedNode& planned) {
  const std::vector<const Value*> inputs = activations(planned);
  const Value* const output = planned.node->outputs[0];
  const auto any_in_blocks = [&](LayoutDemand Offer::* demand) {
    return std::ranges::any_of(
        *planned.offers, [&](const Offer& offer) { return takes_part(offer) && offer.*demand != LayoutDemand::rows; });
  };
  if (any_in_blocks(&Offer::reads) && !inputs.empty()) planned.reads = labels_.add();
  for (const Value* input : inputs) values_.at(input).wanted.push_back(planned.reads);
  if (!has_blocks(output)) return;
  if (any_in_blocks(&Offer::gives)) planned.gives = labels_.add();
  PlannedValue& given = values_.at(output);
  given.is_given_by_kernel = true;
  given.given = planned.gives;
}

std::optional<size_t> LayoutPlan::only_reader(const Value* value) const {
  const PlannedValue& planned = values_.at(value);
  const auto is_computed_in_another = [&](size_t reader) {
    const PlannedNode& node = nodes_[reader];
    if (node.has_kernels || !node.pointwise.contains(value)) return false;
    const PlannedValue& output = values_.at(node.node->outputs[0]);
    return !output.is_output && output.readers.size() == 1 && !nodes_[output.readers.front()].has_kernels &&
           std::ranges::find(planned.readers, output.readers.front()) != planned.readers.end();
  };
  std::vector<size_t> left;
  std::ranges::copy_if(planned.readers, std::back_inserter(left),
                       [&](size_t reader) { return !is_computed_in_another(reader); });
  return planned.is_output || left.size() != 1 ? std::nullopt : std::optional(left.front());
}

void LayoutPlan::find_epilogues(size_t node) {
  PlannedNode& planned = nodes_[node];
  if (planned.node->outputs.empty() || !has_blocks(planned.node->outputs[0])) return;
  PlannedValue& output = values_.at(planned.node->outputs[0]);
  if (planned.has_kernels) output.kernel = node;
  if (planned.has_kernels || !follows(*planned.node)) return;
  for (const Value* input : with_layouts(planned.node->inputs)) {
    const PlannedValue& value = values_.at(input);
    if (!value.kernel || !planned.pointwise.contains(input) || only_reader(input) != node) continue;
    planned.continued = input;
    output.kernel = value.kernel;
    nodes_[*value.kernel].has_epilogue = true;
    return;
  }
}

// ----------------------------------------------------------------------------------------------------------- costs

// A copy to the layout in which the value is not given, if somebody wants it: the value's own buffer, or a kernel.
void LayoutPlan::add_costs(const PlannedValue& value) {
  const Variable given = value.is_given_by_kernel ? value.given : value.layout;
  std::vector<Variable> wanted = value.wanted;
  wanted.push_back(value.layout);
  if (std::ranges::all_of(wanted, [&](Variable each) { return each == given; })) return;
  // More than the copies that it would save.
  const double penalty = 2 * (value.copy_to_rows + value.copy_to_blocks) + 1;
  const Variable blocks = labels_.add();  // 0 only if nobody wants blocks
  for (const Variable each : wanted) labels_.add_costs(each, blocks, {{{0, 0}, {penalty, 0}}});
  labels_.add_costs(given, blocks, {{{0, value.copy_to_blocks}, {0, 0}}});
  const Variable no_rows = labels_.add();  // 1 only if nobody wants rows
  for (const Variable each : wanted) labels_.add_costs(each, no_rows, {{{0, penalty}, {0, 0}}});
  labels_.add_costs(given, no_rows, {{{0, 0}, {value.copy_to_rows, 0}}});
}

void LayoutPlan::add_costs_of_kernels(const PlannedNode& planned) {
  TwoLabels::PairCosts costs = {};
  for (const bool reads : choices_of(planned.reads))
    for (const bool gives : choices_of(planned.gives)) {
      double least = infinity;
      for (const Offer& offer : *planned.offers)
        if (takes_part(offer)) least = std::min(least, cost_between(planned, offer, reads, gives));
      costs[size_t{reads}][size_t{gives}] = least;
    }
  labels_.add_costs(planned.reads, planned.gives, costs);
  labels_.add_costs(planned.gives, target_.costs.preference_for_blocks, 0);
}

void LayoutPlan::add_costs_of_loops(const PlannedNode& planned) {
  const Node& node = *planned.node;
  const std::vector<const Value*> inputs = with_layouts(node.inputs);
  std::vector<const Value*> outputs;
  std::ranges::copy_if(node.outputs, std::back_inserter(outputs), has_blocks);
  for (const Value* input : inputs)
    if (outputs.empty()) labels_.add_costs(values_.at(input).layout, 0, strided(planned, *input));
  for (const Value* output : outputs) {
    const PlannedValue& written = values_.at(output);
    bool has_reason = false;
    for (const Value* input : inputs) {
      // In another layout it is a step of its own, not an epilogue.
      const double step = input == planned.continued ? target_.costs.copy_step : 0;
      const double strides = strided(planned, *input) / static_cast<double>(outputs.size()) + step;
      const bool has_same_axes = input->shape->size() == output->shape->size();
      labels_.add_costs(values_.at(input).layout, has_same_axes ? written.layout : std::nullopt,
                        {{{0, strides}, {strides, 0}}});
      has_reason |= has_same_axes;
    }
    const double reason = has_reason ? 0 : blocks_without_reason * written.copy_to_blocks;
    labels_.add_costs(written.layout, 0, written.padding * target_.costs.moved_vector + reason);
  }
}

// For a kernel that is the only reader of what another computes.
void LayoutPlan::add_savings(size_t node) {
  PlannedNode& second = nodes_[node];
  const std::vector<const Value*> inputs = activations(second);
  if (inputs.size() != 1) return;
  const PlannedValue& between = values_.at(inputs.front());
  if (!between.kernel || only_reader(inputs.front()) != node) return;
  PlannedNode& first = nodes_[*between.kernel];
  if (!(first.node->condition == second.node->condition)) return;
  const double in_rows = saving(first, second, LayoutDemand::rows);
  const double in_blocks = saving(first, second, LayoutDemand::blocks);
  labels_.add_costs(first.gives, second.reads, {{{-in_rows, 0}, {0, -in_blocks}}});
  first.lost_by_giving = second.lost_by_reading = std::max(in_rows, in_blocks);
}

double LayoutPlan::saving(const PlannedNode& first, const PlannedNode& second, LayoutDemand between) const {
  double least = infinity;
  for (const Offer& before : *first.offers)
    for (const Offer& after : *second.offers) {
      if (!takes_part(before) || !takes_part(after)) continue;
      if (before.gives == LayoutDemand::none || after.reads == LayoutDemand::none) return 0;  // not known which it is
      if (before.gives != between || after.reads != between) continue;
      double most = 0;
      for (const Fusion& fusion : target_.fusions)
        if (fusion.saving) most = std::max(most, fusion.saving(before, after));
      least = std::min(least, most);
    }
  return least == infinity ? 0 : least;
}

double LayoutPlan::copies(const PlannedNode& planned, bool to_blocks) const {
  double sum = 0;
  for (const Value* input : activations(planned)) sum += values_.at(input).copy(to_blocks);
  return sum;
}

double LayoutPlan::strided(const PlannedNode& planned, const Value& input) const {
  const auto loaded = planned.loaded.find(&input);
  if (loaded == planned.loaded.end()) return 0;
  const PlannedValue& value = values_.at(&input);
  return std::min(1.0, loaded->second / std::max(1.0, value.elements)) * value.strides;
}

double LayoutPlan::cost_between(const PlannedNode& planned, const Offer& offer, bool reads_blocks,
                                bool gives_blocks) const {
  if (&offer == &planned.offers->back()) return definition_between(planned, reads_blocks, gives_blocks);
  const Value* const output = planned.node->outputs[0];
  double least = infinity;
  for (const bool reads : choices_of(offer.reads))
    for (const bool gives : offer.gives == LayoutDemand::none ? std::vector<bool>{reads} : choices_of(offer.gives)) {
      double copied = reads == reads_blocks ? 0 : copies(planned, reads) + planned.lost_by_reading;
      if (gives != gives_blocks) copied += values_.at(output).copy(gives_blocks) + planned.lost_by_giving;
      least = std::min(least, copied);
    }
  return offer.cost.value_or(0) + least;
}

double LayoutPlan::definition_between(const PlannedNode& planned, bool reads_blocks, bool gives_blocks) const {
  const bool writes_blocks = follows(*planned.node) && gives_blocks;
  double cost = planned.offers->back().cost.value_or(0) + (planned.has_epilogue ? target_.costs.copy_step : 0);
  if (reads_blocks != writes_blocks)
    for (const Value* input : activations(planned)) cost += strided(planned, *input);
  if (!gives_blocks) return cost;
  const PlannedValue& output = values_.at(planned.node->outputs[0]);
  return cost + (writes_blocks ? output.padding * target_.costs.moved_vector : output.copy_to_blocks);
}

std::vector<double> LayoutPlan::plan_costs(size_t node) const {
  const PlannedNode& planned = nodes_.at(node);
  std::vector<double> result;
  for (const Offer& offer : *planned.offers) {
    if (!takes_part(offer))
      result.push_back(infinity);
    else if (planned.has_kernels)
      result.push_back(cost_between(planned, offer, result_[planned.reads], result_[planned.gives]));
    else
      result.push_back(offer.cost.value_or(0));
  }
  return result;
}

}  // namespace onnxc
