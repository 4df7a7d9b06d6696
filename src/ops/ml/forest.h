// The decision trees of ai.onnx.ml as tables, read from the attributes of either form that ONNX has had.
#pragma once

#include <optional>
#include <vector>

#include "ops/node_reader.h"

namespace onnxc {

// How a node compares a feature x with its number: what goes on to its `if_true`. The values are those of nodes_modes.
enum class TreeTest : uint8_t { less_or_equal, less, greater_or_equal, greater, equal, not_equal, is_member };

// A place is a node or, after all nodes, a leaf, which leads to itself: a walk of `depth` steps ends on a leaf.
struct Forest {
  int64_t features = 0;  // that it asks for
  int64_t targets = 0;
  int64_t depth = 0;           // of the deepest tree
  std::vector<int64_t> roots;  // a place for each tree
  // For each place.
  std::vector<TreeTest> tests;  // never is_member: that is a chain of nodes
  std::vector<int64_t> feature, if_true, if_false;
  std::vector<double> number;
  std::vector<bool> nan_is_true;
  // [places, targets]: what a leaf adds, and to which targets; nothing for a node.
  std::vector<double> weights;
  std::vector<bool> has_weight;

  int64_t places() const { return std::ssize(feature); }
};

// The classes of TreeEnsembleClassifier.
struct TreeClasses {
  int64_t count;                // of labels
  std::optional<int64_t> only;  // of two classes the one that leaves add to, where they leave the other out

  int64_t targets() const { return only ? 1 : count; }
};

TreeClasses tree_classes(const NodeReader& c);

// ONNX-ML TreeEnsemble 5, TreeEnsembleRegressor 1, 3, TreeEnsembleClassifier 1, 3. Fail naming the attribute if they
// are not trees: an index out of range, a node that is its own ancestor, lists of unequal length.
Forest read_tree_ensemble(const NodeReader& c);
Forest read_tree_regressor(const NodeReader& c);
// A target is a class; if `only` one counts, it is the one target.
Forest read_tree_classifier(const NodeReader& c, const TreeClasses& classes);

}  // namespace onnxc
