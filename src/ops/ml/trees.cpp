// Ensembles of decision trees: a walk for each row and tree, then a sum over the leaves.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/ml/forest.h"
#include "ops/ml/scores.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

// A table of places is read once a step, which is written out for each step.
constexpr int64_t most_steps = 256;

enum class Aggregate : uint8_t { average, sum, minimum, maximum };  // as TreeEnsemble numbers them

// The facts that a row gives of its operator.
struct Trees {
  Forest forest;
  Aggregate aggregate;
  std::vector<float> base;  // for each target; may be empty
  DType compared;           // the type in which features are compared, and weights added
  DType output;
};

DType compared_type(const NodeReader& c) { return is_floating(c.dtype(0)) ? info(c.dtype(0)).compute : DType::float32; }

// ONNX-ML TreeEnsemble 5.
Trees tree_ensemble(const NodeReader& c) {
  const int64_t aggregate = c.integer("aggregate_function", 1);
  c.check(aggregate >= 0 && aggregate <= 3, "attribute 'aggregate_function' is {}", aggregate);
  c.check(c.integer("post_transform", 0) == 0, "attribute 'post_transform' {} is not supported yet",
          c.integer("post_transform", 0));
  return {read_tree_ensemble(c), static_cast<Aggregate>(aggregate), {}, compared_type(c), c.dtype(0)};
}

// Attribute 'base_values', or since version 3 'base_values_as_tensor'.
std::vector<float> base_values(const NodeReader& c) {
  const Tensor* tensor = c.tensor("base_values_as_tensor");
  if (tensor == nullptr) return c.reals("base_values");
  const std::vector<double> values = tensor->as_double();
  return {values.begin(), values.end()};
}

// ONNX-ML TreeEnsembleRegressor 1, 3.
Trees tree_regressor(const NodeReader& c) {
  static constexpr std::pair<const char*, Aggregate> names[] = {{"AVERAGE", Aggregate::average},
                                                                {"SUM", Aggregate::sum},
                                                                {"MIN", Aggregate::minimum},
                                                                {"MAX", Aggregate::maximum}};
  const std::string name = c.text("aggregate_function", "SUM");
  const auto* found = std::ranges::find_if(names, [&](const auto& each) { return name == each.first; });
  c.check(found != std::end(names), "attribute 'aggregate_function' is '{}', none of AVERAGE, SUM, MIN, MAX", name);
  c.check(c.text("post_transform", "NONE") == "NONE", "attribute 'post_transform' '{}' is not supported yet",
          c.text("post_transform", "NONE"));
  return {read_tree_regressor(c), found->second, base_values(c), compared_type(c), DType::float32};
}

// The sums of TreeEnsembleClassifier 1, 3: of each class, or of the one that counts.
Trees tree_classifier(const NodeReader& c) {
  return {read_tree_classifier(c, tree_classes(c)), Aggregate::sum, base_values(c), compared_type(c), DType::float32};
}

template <Trees (*read)(const NodeReader&)>
void infer_trees(InferContext& c) {
  expect_type(c, 0, Types::numeric);
  const Trees trees = read(c);
  const Forest& forest = trees.forest;
  const Shape& x = c.shape(0);
  c.check(x.size() == 2, "rows of features, [rows, features], are expected, found {}", short_text(x));
  c.check(forest.depth <= most_steps, "its deepest tree has {}; at most {} are compiled",
          counted(forest.depth, "level"), most_steps);
  c.check(!forest.roots.empty(), "it has no tree");
  c.check(trees.base.empty() || std::ssize(trees.base) == forest.targets, "attribute 'base_values' has {} for {}",
          counted(trees.base.size(), "value"), counted(forest.targets, "target"));
  c.at_least(x[1], forest.features, "the trees ask for more features than a row has");
  c.output(0, trees.output, {x[0], forest.targets});
}

Operand table(DefineContext& c, const char* role, const std::vector<int64_t>& values) {
  return c.constant_operand(role, Tensor::of(DType::int64, {std::ssize(values)}, values));
}

Scalar compare(TreeTest test, const Scalar& x, const Scalar& number) {
  switch (test) {
    case TreeTest::less_or_equal:
      return scalar::binary(ScalarOp::less_or_equal, x, number);
    case TreeTest::less:
      return less(x, number);
    case TreeTest::greater_or_equal:
      return scalar::binary(ScalarOp::less_or_equal, number, x);
    case TreeTest::greater:
      return less(number, x);
    case TreeTest::equal:
      return equal(x, number);
    case TreeTest::not_equal:
      return negated(equal(x, number));
    case TreeTest::is_member:
      break;
  }
  internal_error("a test for members is a chain of tests");
}

// The tables of a forest, and one step through them.
struct Walk {
  Operand roots, feature, number, if_true, if_false;
  std::optional<Operand> tests, nan_is_true;  // if nodes differ in it
  std::vector<TreeTest> kinds;

  Walk(DefineContext& c, const Trees& trees)
      : roots(table(c, "roots", trees.forest.roots)),
        feature(table(c, "features", trees.forest.feature)),
        number(
            c.constant_operand("splits", float_tensor(trees.compared, {trees.forest.places()}, trees.forest.number))),
        if_true(table(c, "if_true", trees.forest.if_true)),
        if_false(table(c, "if_false", trees.forest.if_false)) {
    const Forest& forest = trees.forest;
    for (TreeTest test : forest.tests)
      if (std::ranges::find(kinds, test) == kinds.end()) kinds.push_back(test);
    if (kinds.size() > 1) {
      std::vector<int64_t> numbers;
      for (TreeTest test : forest.tests) numbers.push_back(static_cast<int64_t>(test));
      tests = table(c, "tests", numbers);
    }
    if (std::ranges::find(forest.nan_is_true, true) != forest.nan_is_true.end())
      nan_is_true = table(c, "nan_is_true", {forest.nan_is_true.begin(), forest.nan_is_true.end()});
  }

  // `x` gives a feature of the row.
  Scalar next(const Expr& place, const std::function<Scalar(const Scalar&)>& x) const {
    const Scalar value = x(feature({place})), split = number({place});
    Scalar holds = compare(kinds.front(), value, split);
    for (size_t i = 1; i < kinds.size(); ++i) {
      const Scalar is_kind = equal((*tests)({place}), scalar::index(static_cast<int64_t>(kinds[i])));
      holds = scalar::select(is_kind, compare(kinds[i], value, split), holds);
    }
    if (nan_is_true) {
      const Scalar is_true = equal((*nan_is_true)({place}), scalar::index(1));
      holds = any_of(holds, both(is_true, scalar::unary(ScalarOp::is_nan, value)));
    }
    return scalar::select(holds, if_true({place}), if_false({place}));
  }
};

// The leaf of each row in each tree: [rows, trees].
Operand find_leaves(DefineContext& c, const Trees& trees) {
  Operand x = c.in(0);
  const Walk walk(c, trees);
  const Operand leaves = c.temporary("leaves", DType::int64, {x.shape[0], walk.roots.shape[0]});
  NestBuilder nest("tree_walk");
  const std::vector<Expr> at = nest.parallel(leaves.shape);
  Expr place = nest.let(walk.roots({at[1]}));
  for (int64_t step = 0; step < trees.forest.depth; ++step)
    place = nest.let(walk.next(place, [&](const Scalar& feature) {
      return scalar::cast(trees.compared, x.compute({at[0], nest.let(feature)}));
    }));
  nest.store(leaves, at, scalar::index(place));
  c.emit(std::move(nest));
  return leaves;
}

// The value of a target that no leaf adds to, for a minimum or a maximum.
double neutral(Aggregate aggregate) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return aggregate == Aggregate::minimum ? infinity : aggregate == Aggregate::maximum ? -infinity : 0;
}

ReduceKind reduction(Aggregate aggregate) {
  return aggregate == Aggregate::minimum   ? ReduceKind::minimum
         : aggregate == Aggregate::maximum ? ReduceKind::maximum
                                           : ReduceKind::sum;
}

template <Trees (*read)(const NodeReader&)>
void define_trees(DefineContext& c) {
  const Trees trees = read(c);
  const Forest& forest = trees.forest;
  const Operand leaves = find_leaves(c, trees), y = c.out(0);
  std::vector<double> added = forest.weights;
  for (size_t i = 0; i < added.size(); ++i)
    if (!forest.has_weight[i]) added[i] = neutral(trees.aggregate);
  const Operand weights =
      c.constant_operand("weights", float_tensor(trees.compared, {forest.places(), forest.targets}, added));
  NestBuilder nest("tree_sum");
  const std::vector<Expr> at = nest.parallel(y.shape);
  const Expr tree = nest.reduce(leaves.shape[1]);
  Scalar result = nest.accumulate(reduction(trees.aggregate), weights({nest.let(leaves({at[0], tree})), at[1]}));
  if (trees.aggregate == Aggregate::average) result = result / number(result, static_cast<double>(forest.roots.size()));
  if (const double nothing = neutral(trees.aggregate); nothing != 0)
    result = scalar::select(equal(result, number(result, nothing)), number(result, 0), result);
  if (!trees.base.empty()) {
    const std::vector<double> wide(trees.base.begin(), trees.base.end());
    result = result + c.constant_operand("base", float_tensor(trees.compared, {forest.targets}, wide))({at[1]});
  }
  nest.store(y, at, scalar::cast(y.dtype, result));
  c.emit(std::move(nest));
}

// Whether a leaf takes from a class.
bool has_negative_weight(const NodeReader& c) {
  const Tensor* tensor = c.tensor("class_weights_as_tensor");
  if (tensor != nullptr) return std::ranges::any_of(tensor->as_double(), [](double weight) { return weight < 0; });
  return std::ranges::any_of(c.reals("class_weights"), [](float weight) { return weight < 0; });
}

// ONNX-ML TreeEnsembleClassifier 1, 3: a score for each class, and of each row the label of the greatest.
//
// In a model of two classes leaves may add to only one. ONNX's text does not say what the other's score is. As in
// onnxruntime, with which such models agree, a sum of weights that are never negative is a probability, and decides at
// 0.5; any other decides at 0.
void expand_tree_classifier(ExpandContext& c) {
  const std::string transform = post_transform(c);
  const TreeClasses classes = tree_classes(c);
  const size_t base = base_values(c).size();
  c.check(!classes.only || base == 0 || (base == 1 && *classes.only == 0),
          "attribute 'base_values' has {}, and of 2 classes leaves add only to number {}: the result of that is not "
          "defined",
          counted(base, "value"), classes.only.value_or(0));
  Value* labels = integers_or_strings(c, "classlabels_int64s", "classlabels_strings");
  Value* sums = c.add_row(internal_domain, "ClassSums", {c.in(0)}, 1, c.node().attributes)[0];
  if (!classes.only) {
    c.give(0, c.add("Gather", {labels, best_class(c, sums)}));
    return c.give(1, transformed(c, sums, transform));
  }
  const bool is_probability = !has_negative_weight(c);
  Value* is_second = c.add("Greater", {sums, c.number(DType::float32, is_probability ? 0.5 : 0)});
  Value* best =
      c.add("Cast", {c.add("Squeeze", {is_second, c.integers({1})})}, {{"to", static_cast<int64_t>(DType::int64)}});
  c.give(0, c.add("Gather", {labels, best}));
  // The score of the first class; no transform is applied to a pair that is made of one score, but for LOGISTIC.
  const bool is_only_second = *classes.only == 1, is_logistic = transform == "LOGISTIC";
  c.check(transform != "PROBIT" || is_only_second,
          "attribute 'post_transform' is PROBIT, and there is one score for both "
          "classes: what it gives is not defined");
  Value* other = is_only_second                   ? c.add("Mul", {sums, c.number(DType::float32, 0)})
                 : is_probability && !is_logistic ? c.add("Sub", {c.number(DType::float32, 1), sums})
                                                  : c.add("Neg", {sums});
  Value* pair = c.add("Concat", {other, sums}, {{"axis", int64_t{1}}});
  c.give(1, is_only_second || is_logistic ? transformed(c, pair, transform) : pair);
}

constexpr const char* ml = "ai.onnx.ml";

using enum StorageRule;

constexpr OpRow rows[] = {
    {.domain = ml,
     .name = "TreeEnsemble",
     .infer = infer_trees<tree_ensemble>,
     .define = define_trees<tree_ensemble>,
     .storage = unchanged,
     .first_version = 5},
    {.domain = ml,
     .name = "TreeEnsembleRegressor",
     .infer = infer_trees<tree_regressor>,
     .define = define_trees<tree_regressor>,
     .storage = unchanged},
    {.domain = ml, .name = "TreeEnsembleClassifier", .expand = expand_tree_classifier},
    {internal_domain, "ClassSums", infer_trees<tree_classifier>, define_trees<tree_classifier>, unchanged},
};

}  // namespace

std::span<const OpRow> tree_ops() { return rows; }

}  // namespace onnxc
