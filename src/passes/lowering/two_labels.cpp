#include "passes/lowering/two_labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "passes/lowering/minimum_cut.h"

namespace onnxc {
namespace {

using PairCosts = TwoLabels::PairCosts;

// The excess of what two equal labels cost over what two different ones cost.
double excess_of_equal(const PairCosts& costs) { return costs[0][0] + costs[1][1] - costs[0][1] - costs[1][0]; }

PairCosts flipped(const PairCosts& costs, bool first, bool second) {
  PairCosts result;
  for (const size_t i : {0, 1})
    for (const size_t j : {0, 1}) result[i][j] = costs[i ^ size_t{first}][j ^ size_t{second}];
  return result;
}

// Sets of variables, each with its flip against that of its set.
class FlippedSets {
 public:
  explicit FlippedSets(size_t count) : parents_(count), flips_(count) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
  }

  // The set, and the flip against it.
  std::pair<size_t, bool> find(size_t variable) {
    bool flip = false;
    size_t set = variable;
    for (; parents_[set] != set; set = parents_[set]) flip ^= flips_[set];
    // The way is short the next time.
    for (bool left = flip; variable != set;) {
      const bool step = flips_[variable];
      flips_[variable] = left;
      left ^= step;
      variable = std::exchange(parents_[variable], set);
    }
    return {set, flip};
  }

  // Whether both can be flipped alike, or differently.
  bool join(size_t first, size_t second, bool differently) {
    const auto [a, flip_of_first] = find(first);
    const auto [b, flip_of_second] = find(second);
    const bool flip = (flip_of_first != flip_of_second) != differently;
    if (a == b) return !flip;
    // The smaller number stays, so that what is not tied to anything is not flipped.
    parents_[std::max(a, b)] = std::min(a, b);
    flips_[std::max(a, b)] = flip;
    return true;
  }

 private:
  std::vector<size_t> parents_;
  std::vector<bool> flips_;
};

}  // namespace

TwoLabels::Variable TwoLabels::add() {
  costs_of_1_.push_back(0);
  return costs_of_1_.size() - 1;
}

void TwoLabels::add_costs(Variable variable, double of_0, double of_1) {
  if (variable) costs_of_1_[*variable] += of_1 - of_0;
}

void TwoLabels::add_costs(Variable first, Variable second, const PairCosts& costs) {
  if (!first) return add_costs(second, costs[0][0], costs[0][1]);
  if (!second) return add_costs(first, costs[0][0], costs[1][0]);
  if (*first == *second) return add_costs(first, costs[0][0], costs[1][1]);
  const bool is_turned = *first > *second;
  PairCosts& sum = pairs_[is_turned ? std::pair(*second, *first) : std::pair(*first, *second)];
  for (const size_t i : {0, 1})
    for (const size_t j : {0, 1}) sum[i][j] += is_turned ? costs[j][i] : costs[i][j];
}

double TwoLabels::cost(const std::vector<bool>& labels) const {
  double sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) sum += labels[i] ? costs_of_1_[i] : 0;
  for (const auto& [pair, costs] : pairs_) sum += costs[size_t{labels[pair.first]}][size_t{labels[pair.second]}];
  return sum;
}

// The pairs that prefer most come first.
TwoLabels::Flips TwoLabels::flips() const {
  std::vector<std::pair<double, std::pair<size_t, size_t>>> preferences;
  for (const auto& [pair, costs] : pairs_)
    if (const double excess = excess_of_equal(costs); excess != 0) preferences.push_back({excess, pair});
  std::ranges::sort(preferences, {}, [](const auto& each) { return std::pair(-std::abs(each.first), each.second); });
  FlippedSets sets(costs_of_1_.size());
  Flips result{{}, true};
  for (const auto& [excess, pair] : preferences) result.mend_all &= sets.join(pair.first, pair.second, excess > 0);
  for (size_t i = 0; i < costs_of_1_.size(); ++i) result.of.push_back(sets.find(i).second);
  return result;
}

TwoLabels::Result TwoLabels::least() const {
  const Flips flips = this->flips();
  std::vector<double> costs_of_1 = costs_of_1_;
  for (size_t i = 0; i < costs_of_1.size(); ++i)
    if (flips.of[i]) costs_of_1[i] = -costs_of_1[i];
  MinimumCut cut(costs_of_1.size());
  for (const auto& [pair, own] : pairs_) {
    const auto& [first, second] = pair;
    PairCosts costs = flipped(own, flips.of[first], flips.of[second]);
    // The dearer of two different labels becomes dearer still.
    if (const double excess = excess_of_equal(costs); excess > 0)
      (costs[0][1] > costs[1][0] ? costs[0][1] : costs[1][0]) += excess;
    costs_of_1[first] += costs[1][0] - costs[0][0];
    costs_of_1[second] += costs[1][1] - costs[1][0];
    cut.add_edge(first, second, std::max(0.0, -excess_of_equal(costs)));
  }
  for (size_t i = 0; i < costs_of_1.size(); ++i)
    costs_of_1[i] > 0 ? cut.add_edge_from_source(i, costs_of_1[i]) : cut.add_edge_to_sink(i, -costs_of_1[i]);
  Result result{cut.side_of_sink(), flips.mend_all};
  for (size_t i = 0; i < costs_of_1.size(); ++i)
    if (flips.of[i]) result.labels[i] = !result.labels[i];
  if (!result.is_exact) improve(result.labels);
  return result;
}

void TwoLabels::improve(std::vector<bool>& labels) const {
  // The pairs of each variable.
  std::vector<std::vector<std::pair<const std::pair<size_t, size_t>*, const PairCosts*>>> pairs(labels.size());
  for (const auto& [pair, costs] : pairs_)
    for (const size_t variable : {pair.first, pair.second}) pairs[variable].push_back({&pair, &costs});
  const auto cost_near = [&](size_t variable) {
    double sum = labels[variable] ? costs_of_1_[variable] : 0;
    for (const auto& [pair, costs] : pairs[variable])
      sum += (*costs)[size_t{labels[pair->first]}][size_t{labels[pair->second]}];
    return sum;
  };
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (size_t i = 0; i < labels.size(); ++i) {
      const double before = cost_near(i);
      labels[i] = !labels[i];
      // Less by more than rounding, or it would not end.
      const bool gains = before - cost_near(i) > 1e-9 * std::abs(before);
      if (!gains) labels[i] = !labels[i];
      is_better |= gains;
    }
  }
}

}  // namespace onnxc
