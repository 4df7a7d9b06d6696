// The plan of choose_kernels as costs of labels: which sum is least, and what its labels are.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "passes/lowering/target.h"
#include "passes/lowering/two_labels.h"
#include "passes/lowering/usual_size.h"

namespace onnxc {

// Whether a value can be in blocks at all.
bool has_blocks(const Value* value);

// A node with the ways to compute it.
struct PricedNode {
  const Node* node;
  const Offers* offers;                   // the last is the definition
  std::map<const Value*, double> loaded;  // elements that the definition loads of each input
  std::set<const Value*> pointwise;       // inputs whose epilogue the definition may be (definition_cost.h)
};

class LayoutPlan {
 public:
  LayoutPlan(const Graph& graph, const Target& target, std::vector<PricedNode> nodes, UsualSizes& sizes);

  // Finds the labels.
  void solve() { result_ = labels_.least(); }

  bool is_in_blocks(const Value& value) const;
  // The costs of each offer for the node of that number, with the copies between its layouts and those that the plan
  // has there; infinity for one that takes no part in the choice.
  std::vector<double> plan_costs(size_t node) const;

 private:
  using Variable = TwoLabels::Variable;

  struct PlannedValue {
    Variable layout = {};  // of its buffer
    bool is_given_by_kernel = false;
    Variable given = {};                // the layout in which that kernel writes it
    std::vector<Variable> wanted = {};  // by the kernels that read it
    double elements = 0, padding = 0;   // padding of one image, in vectors
    double strides = 0;                 // reading all of it in strides
    double copy_to_rows = 0, copy_to_blocks = 0;

    bool is_output = false;             // of the model
    std::vector<size_t> readers = {};   // the numbers of nodes
    std::optional<size_t> kernel = {};  // the node whose kernel computes it, at its end or in an epilogue

    double copy(bool to_blocks) const { return to_blocks ? copy_to_blocks : copy_to_rows; }
  };
  struct PlannedNode : PricedNode {
    bool has_kernels = false;
    Variable reads = {}, gives = {};   // of its kernels
    bool has_epilogue = false;         // its kernels would compute what follows; its definition does not
    const Value* continued = nullptr;  // the input whose kernel may compute the definition in its epilogue
    // At most what a fusion saves that a copy of the activations, or of the output, prevents.
    double lost_by_reading = 0, lost_by_giving = 0;
  };

  void add_value(const Value* value, UsualSizes& sizes);
  void add_variables(PlannedNode& planned);
  void add_kernel_variables(PlannedNode& planned);
  // The only node that reads a value once nests are fused, which computes one that is read once inside its reader.
  std::optional<size_t> only_reader(const Value* value) const;
  void find_epilogues(size_t node);
  void add_costs(const PlannedValue& value);
  void add_costs_of_kernels(const PlannedNode& planned);
  void add_costs_of_loops(const PlannedNode& planned);
  void add_savings(size_t node);

  // The saving of a fusion of both nodes' kernels if the value between them is in that layout.
  double saving(const PlannedNode& first, const PlannedNode& second, LayoutDemand between) const;
  // The cost of copying all activations.
  double copies(const PlannedNode& planned, bool to_blocks) const;
  // The cost of reading an input of the definition in strides.
  double strided(const PlannedNode& planned, const Value& input) const;
  // The cost of an offer between two layouts, that of the activations and that of the output; copies included.
  double cost_between(const PlannedNode& planned, const Offer& offer, bool reads_blocks, bool gives_blocks) const;
  double definition_between(const PlannedNode& planned, bool reads_blocks, bool gives_blocks) const;

  const Graph& graph_;
  const Target& target_;
  std::vector<PlannedNode> nodes_;
  std::map<const Value*, PlannedValue> values_;  // that can be in blocks
  std::vector<const Value*> in_order_;           // the same, so that the plan does not depend on addresses
  TwoLabels labels_;
  TwoLabels::Result result_ = {};
};

}  // namespace onnxc
