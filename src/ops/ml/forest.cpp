#include "ops/ml/forest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "support/count_text.h"

namespace onnxc {
namespace {

constexpr int64_t most_features = int64_t{1} << 31, most_weights = int64_t{1} << 28;

// A node's successor: a node, or ~i for leaf i.
struct TreeNode {
  TreeTest test;
  int64_t feature;
  double number;
  bool nan_is_true;
  int64_t if_true, if_false;
};

struct LeafWeight {
  int64_t leaf, target;
  double weight;
};

// For a tree in a pass over all: how many steps its deepest leaf is away.
class Depths {
 public:
  Depths(const NodeReader& c, const std::vector<TreeNode>& nodes)
      : c_(c), nodes_(nodes), known_(nodes.size(), unknown) {}

  int64_t of(int64_t root) {
    std::vector<int64_t> path{root};
    while (!path.empty()) {
      const int64_t at = path.back();
      if (at < 0 || known(at) >= 0) {
        path.pop_back();
        continue;
      }
      const TreeNode& node = nodes_[static_cast<size_t>(at)];
      known(at) = entered;
      int64_t deepest = 0;
      bool is_ready = true;
      for (int64_t next : {node.if_true, node.if_false}) {
        if (next < 0) continue;
        c_.check(known(next) != entered, "its node {} is reached from itself: that is not a tree", next);
        if (known(next) == unknown) {
          path.push_back(next);
          is_ready = false;
        }
        deepest = std::max(deepest, known(next));
      }
      if (is_ready) known(at) = deepest + 1;
    }
    return root < 0 ? 0 : known(root);
  }

 private:
  static constexpr int64_t unknown = -1, entered = -2;
  int64_t& known(int64_t node) { return known_[static_cast<size_t>(node)]; }

  const NodeReader& c_;
  const std::vector<TreeNode>& nodes_;
  std::vector<int64_t> known_;
};

// `roots` are successors as TreeNode has them.
Forest forest_of(const NodeReader& c, const std::vector<TreeNode>& nodes, std::vector<int64_t> roots, int64_t leaves,
                 int64_t targets, const std::vector<LeafWeight>& weights) {
  const int64_t count = std::ssize(nodes);
  Forest forest;
  Depths depths(c, nodes);
  for (int64_t node = 0; node < count; ++node) static_cast<void>(depths.of(node));
  for (int64_t root : roots) forest.depth = std::max(forest.depth, depths.of(root));
  const auto place = [&](int64_t next) { return next >= 0 ? next : count + ~next; };
  for (const TreeNode& node : nodes) {
    forest.features = std::max(forest.features, node.feature + 1);
    forest.tests.push_back(node.test);
    forest.feature.push_back(node.feature);
    forest.number.push_back(node.number);
    forest.nan_is_true.push_back(node.nan_is_true);
    forest.if_true.push_back(place(node.if_true));
    forest.if_false.push_back(place(node.if_false));
  }
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    forest.tests.push_back(nodes.empty() ? TreeTest::less_or_equal : nodes.front().test);
    forest.feature.push_back(0);
    forest.number.push_back(0);
    forest.nan_is_true.push_back(false);
    forest.if_true.push_back(count + leaf);
    forest.if_false.push_back(count + leaf);
  }
  for (int64_t& root : roots) root = place(root);
  forest.roots = std::move(roots);
  forest.targets = targets;
  c.check(targets >= 1 && targets <= most_weights / std::max<int64_t>(1, forest.places()), "{} given, for trees of {}",
          counted_are(targets, "target"), counted(forest.places(), "node"));
  forest.weights.resize(static_cast<size_t>(forest.places() * targets));
  forest.has_weight.resize(forest.weights.size());
  for (const LeafWeight& each : weights) {
    c.check(each.target >= 0 && each.target < targets, "a leaf adds to target {} of {}", each.target, targets);
    const auto at = static_cast<size_t>((count + each.leaf) * targets + each.target);
    forest.weights[at] += each.weight;
    forest.has_weight[at] = true;
  }
  return forest;
}

// An attribute with a value for each of `count` things; zeros if it is absent and may be.
std::vector<int64_t> list_of(const NodeReader& c, const char* name, size_t count, bool is_optional = false) {
  std::vector<int64_t> values = c.integers(name);
  if (values.empty() && is_optional) values.resize(count);
  c.check(values.size() == count, "attribute '{}' has {}, expected {}", name, counted(values.size(), "value"), count);
  return values;
}

int64_t feature_of(const NodeReader& c, int64_t feature) {
  c.check(feature >= 0 && feature < most_features, "attribute 'nodes_featureids' holds {}", feature);
  return feature;
}

// A test for one of several numbers is a chain of tests for one: the node becomes the first, the others follow the
// nodes.
void write_chain(std::vector<TreeNode>& nodes, size_t at, const std::vector<double>& members) {
  const TreeNode given = nodes[at];
  size_t last = at;
  nodes[at].test = TreeTest::equal;
  nodes[at].number = members.empty() ? std::nan("") : members.front();
  for (size_t i = 1; i < members.size(); ++i) {
    nodes[last].if_false = std::ssize(nodes);
    last = nodes.size();
    nodes.push_back({TreeTest::equal, given.feature, members[i], false, given.if_true, given.if_false});
  }
}

void write_chains(const NodeReader& c, std::vector<TreeNode>& nodes) {
  const Tensor* members = c.tensor("membership_values");
  const std::vector<double> all = members == nullptr ? std::vector<double>() : members->as_double();
  auto next = all.begin();
  const size_t count = nodes.size();
  for (size_t i = 0; i < count; ++i) {
    if (nodes[i].test != TreeTest::is_member) continue;
    const auto end = std::find_if(next, all.end(), [](double value) { return std::isnan(value); });
    c.check(next != all.end(), "attribute 'membership_values' has fewer sets than nodes test for one");
    write_chain(nodes, i, {next, end});
    next = end == all.end() ? end : end + 1;
  }
}

}  // namespace

Forest read_tree_ensemble(const NodeReader& c) {
  const std::vector<int64_t> features = c.integers("nodes_featureids");
  const size_t count = features.size();
  const Tensor *modes = c.tensor("nodes_modes"), *splits = c.tensor("nodes_splits"),
               *weights = c.tensor("leaf_weights");
  const std::vector<int64_t> targets = c.integers("leaf_targetids");
  c.check(modes != nullptr && splits != nullptr && weights != nullptr,
          "attributes 'nodes_modes', 'nodes_splits' and 'leaf_weights' are expected");
  const std::vector<int64_t> tests = modes->as_int64();
  const std::vector<double> numbers = splits->as_double(), added = weights->as_double();
  c.check(tests.size() == count && numbers.size() == count && added.size() == targets.size(),
          "{} and {} given for {}, {} for {}", counted(tests.size(), "test"), counted_are(numbers.size(), "split"),
          counted(count, "node"), counted(added.size(), "weight"), counted(targets.size(), "leaf"));
  const std::vector<int64_t> if_true = list_of(c, "nodes_truenodeids", count),
                             if_false = list_of(c, "nodes_falsenodeids", count),
                             true_is_leaf = list_of(c, "nodes_trueleafs", count),
                             false_is_leaf = list_of(c, "nodes_falseleafs", count),
                             nan_is_true = list_of(c, "nodes_missing_value_tracks_true", count, true);
  const auto successor = [&](int64_t id, int64_t is_leaf) {
    const int64_t most = is_leaf != 0 ? std::ssize(targets) : static_cast<int64_t>(count);
    c.check(id >= 0 && id < most, "a node leads to {} {} of {}", is_leaf != 0 ? "leaf" : "node", id, most);
    return is_leaf != 0 ? ~id : id;
  };
  std::vector<TreeNode> nodes;
  for (size_t i = 0; i < count; ++i) {
    c.check(tests[i] >= 0 && tests[i] <= static_cast<int64_t>(TreeTest::is_member), "attribute 'nodes_modes' holds {}",
            tests[i]);
    nodes.push_back({static_cast<TreeTest>(tests[i]), feature_of(c, features[i]), numbers[i], nan_is_true[i] != 0,
                     successor(if_true[i], true_is_leaf[i]), successor(if_false[i], false_is_leaf[i])});
  }
  write_chains(c, nodes);
  std::vector<int64_t> roots;
  for (int64_t root : c.integers("tree_roots")) roots.push_back(successor(root, 0));
  std::vector<LeafWeight> leaves;
  for (size_t i = 0; i < targets.size(); ++i) leaves.push_back({static_cast<int64_t>(i), targets[i], added[i]});
  return forest_of(c, nodes, std::move(roots), std::ssize(targets), c.integer("n_targets"), leaves);
}

namespace {

// Nothing for "LEAF".
std::optional<TreeTest> parse_test(const NodeReader& c, const std::string& mode) {
  static constexpr std::array names = {std::pair{"BRANCH_LEQ", TreeTest::less_or_equal},
                                       std::pair{"BRANCH_LT", TreeTest::less},
                                       std::pair{"BRANCH_GTE", TreeTest::greater_or_equal},
                                       std::pair{"BRANCH_GT", TreeTest::greater},
                                       std::pair{"BRANCH_EQ", TreeTest::equal},
                                       std::pair{"BRANCH_NEQ", TreeTest::not_equal}};
  for (const auto& [name, test] : names)
    if (mode == name) return test;
  c.check(mode == "LEAF", "attribute 'nodes_modes' holds '{}'", mode);
  return std::nullopt;
}

std::vector<std::string> texts(const NodeReader& c, const char* name) {
  const Attribute* attribute = c.node().find_attribute(name);
  const auto* values = attribute == nullptr ? nullptr : std::get_if<std::vector<std::string>>(attribute);
  c.check(values != nullptr, "attribute '{}' must be a list of texts", name);
  return *values;
}

// Numbers that are floats, or since version 3 a tensor.
std::vector<double> numbers_of(const NodeReader& c, const std::string& name) {
  if (const Tensor* tensor = c.tensor(name + "_as_tensor")) return tensor->as_double();
  const std::vector<float> values = c.reals(name);
  return {values.begin(), values.end()};
}

// The form of the regressor and the classifier. `leaf` is how the attributes on leaves begin: target or class.
Forest read_listed_trees(const NodeReader& c, const std::string& leaf, const std::vector<int64_t>& targets,
                         int64_t target_count) {
  const std::vector<std::string> modes = texts(c, "nodes_modes");
  const size_t count = modes.size();
  const std::vector<int64_t> trees = list_of(c, "nodes_treeids", count), ids = list_of(c, "nodes_nodeids", count),
                             features = list_of(c, "nodes_featureids", count),
                             if_true = list_of(c, "nodes_truenodeids", count),
                             if_false = list_of(c, "nodes_falsenodeids", count),
                             nan_is_true = list_of(c, "nodes_missing_value_tracks_true", count, true);
  const std::vector<double> numbers = numbers_of(c, "nodes_values");
  c.check(numbers.size() == count, "attribute 'nodes_values' has {}, expected {}", counted(numbers.size(), "value"),
          count);

  // The node for a tree and an id in it, or ~i for leaf i; trees in the order in which they come.
  std::map<std::pair<int64_t, int64_t>, int64_t> known;
  int64_t node_count = 0, leaf_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t number = parse_test(c, modes[i]) ? node_count++ : ~leaf_count++;
    c.check(known.emplace(std::pair(trees[i], ids[i]), number).second, "tree {} has two nodes {}", trees[i], ids[i]);
  }
  const auto at = [&](int64_t tree, int64_t id) {
    const auto found = known.find({tree, id});
    c.check(found != known.end(), "tree {} has no node {}", tree, id);
    return found->second;
  };
  std::vector<TreeNode> nodes;
  std::set<int64_t> reached;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<TreeTest> test = parse_test(c, modes[i]);
    if (!test) continue;
    nodes.push_back({*test, feature_of(c, features[i]), numbers[i], nan_is_true[i] != 0, at(trees[i], if_true[i]),
                     at(trees[i], if_false[i])});
    reached.insert({nodes.back().if_true, nodes.back().if_false});
  }
  // The root of a tree is the one node that no other leads to.
  std::map<int64_t, int64_t> root_of_tree;
  for (const auto& [key, number] : known)
    if (!reached.contains(number))
      c.check(root_of_tree.emplace(key.first, number).second, "tree {} has two roots", key.first);
  std::vector<int64_t> roots;
  for (const auto& [tree, root] : root_of_tree) roots.push_back(root);
  c.check(roots.size() == std::set<int64_t>(trees.begin(), trees.end()).size(), "one of the trees has no root");

  const std::vector<int64_t> leaf_trees = list_of(c, (leaf + "_treeids").c_str(), targets.size()),
                             leaf_ids = list_of(c, (leaf + "_nodeids").c_str(), targets.size());
  const std::vector<double> weights = numbers_of(c, leaf + "_weights");
  c.check(weights.size() == targets.size(), "attribute '{}_weights' has {}, expected {}", leaf,
          counted(weights.size(), "value"), targets.size());
  std::vector<LeafWeight> leaves;
  for (size_t i = 0; i < targets.size(); ++i) {
    const int64_t place = at(leaf_trees[i], leaf_ids[i]);
    c.check(place < 0, "node {} of tree {} has a weight, and is not a leaf", leaf_ids[i], leaf_trees[i]);
    leaves.push_back({~place, targets[i], weights[i]});
  }
  return forest_of(c, nodes, std::move(roots), leaf_count, target_count, leaves);
}

}  // namespace

Forest read_tree_regressor(const NodeReader& c) {
  return read_listed_trees(c, "target", c.integers("target_ids"), c.integer("n_targets"));
}

TreeClasses tree_classes(const NodeReader& c) {
  const bool has_integers = c.has_attribute("classlabels_int64s");
  c.check(has_integers != c.has_attribute("classlabels_strings"),
          "one of the attributes 'classlabels_int64s' and 'classlabels_strings' is expected");
  TreeClasses classes{
      has_integers ? std::ssize(c.integers("classlabels_int64s")) : std::ssize(c.texts("classlabels_strings")),
      std::nullopt};
  c.check(classes.count >= 2, "labels of two classes or more are expected, found {}", classes.count);
  const std::vector<int64_t> ids = c.integers("class_ids");
  if (classes.count == 2 && !ids.empty() && std::ranges::all_of(ids, [&](int64_t id) { return id == ids.front(); }))
    classes.only = ids.front();
  c.check(!classes.only || *classes.only == 0 || *classes.only == 1, "attribute 'class_ids' holds {}, for 2 classes",
          classes.only.value_or(0));
  return classes;
}

Forest read_tree_classifier(const NodeReader& c, const TreeClasses& classes) {
  std::vector<int64_t> targets = c.integers("class_ids");
  if (classes.only) std::ranges::fill(targets, 0);
  return read_listed_trees(c, "class", targets, classes.targets());
}

}  // namespace onnxc
