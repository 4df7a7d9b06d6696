// Gives each variable the label 0 or 1, so that a sum of costs of single variables and of pairs of variables is least.
//
// Method: a minimum cut between a source, on whose side labels are 0, and a sink. A pair is an edge if two equal labels
// cost no more than two different ones. If they cost more, one of both variables is flipped: its cost then stands for
// the other label.
// Exact: if flips make all pairs edges. They do for every chain and tree, and for every graph whose pairs all prefer
// equal labels. Else a pair on a circle that no flip mends is made to cost as much as it prefers, so the result is an
// upper bound; it is improved label by label until no single change lowers the true cost.
// If several results have the least cost, it is the one with the most labels of 1 (of 0 for those that are flipped).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace onnxc {

class TwoLabels {
 public:
  // Nothing: a variable whose label is 0 for sure.
  using Variable = std::optional<size_t>;
  using PairCosts = std::array<std::array<double, 2>, 2>;  // [label of the first][label of the second]

  Variable add();
  void add_costs(Variable variable, double of_0, double of_1);
  void add_costs(Variable first, Variable second, const PairCosts& costs);

  // The cost of labels for all variables, but for a constant.
  double cost(const std::vector<bool>& labels) const;

  struct Result {
    std::vector<bool> labels;
    bool is_exact;

    bool operator[](Variable variable) const { return variable && labels[*variable]; }
  };
  Result least() const;

 private:
  struct Flips {
    std::vector<bool> of;  // each variable
    bool mend_all;         // pairs
  };
  Flips flips() const;
  void improve(std::vector<bool>& labels) const;

  std::vector<double> costs_of_1_;  // beyond those of 0
  std::map<std::pair<size_t, size_t>, PairCosts> pairs_;
};

}  // namespace onnxc
