// Support vector machines of ai.onnx.ml, as products of matrices: the kernel function of each row and support vector,
// then sums that coefficients weigh.
#include <algorithm>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/ml/scores.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

constexpr const char* ml = "ai.onnx.ml";
constexpr int64_t most_weights = int64_t{1} << 28;  // in one matrix for pairs of classes: 1 GiB

Value* float_number(ExpandContext& c, float value) { return c.number(DType::float32, static_cast<double>(value)); }

Value* matrix(ExpandContext& c, int64_t rows, int64_t columns, const std::vector<float>& values) {
  return c.constant(Tensor::of(DType::float32, {rows, columns}, values));
}

// The features [rows, features], as float32; [m] counts as [1, m].
Value* features_of(ExpandContext& c) {
  expect_type(c, 0, Types::numeric);
  c.check(c.rank(0) == 1 || c.rank(0) == 2, "rows of features, [rows, features], are expected, found {}",
          short_text(c.shape(0)));
  Value* x = as_float(c, 0);
  return c.rank(0) == 2 ? x : c.add("Unsqueeze", {x, c.integers({0})});
}

std::vector<float> required(const NodeReader& c, const char* name) {
  std::vector<float> values = c.reals(name);
  c.check(!values.empty(), "attribute '{}' is missing", name);
  return values;
}

// The support vectors [count, features].
struct Supports {
  int64_t count, features;
  std::vector<float> values;

  Supports(const NodeReader& c, int64_t vectors) : count(vectors), values(required(c, "support_vectors")) {
    c.check(std::ssize(values) % count == 0, "attribute 'support_vectors' has {}, for {}",
            counted(values.size(), "value"), counted(count, "vector"));
    features = std::ssize(values) / count;
  }
};

// exp(-gamma |x - v|^2). The difference is taken first: |x|^2 - 2 x v + |v|^2 would lose it.
Value* radial(ExpandContext& c, Value* x, const Supports& supports, float gamma) {
  // A row of one feature would broadcast to them all.
  x = c.add("Reshape", {x, c.integers({c.rank(0) == 1 ? 1 : 0, 1, supports.features})});
  Value* difference = c.add("Sub", {x, matrix(c, supports.count, supports.features, supports.values)});
  Value* squared = c.add("ReduceSumSquare", {difference, c.integers({2})}, {{"keepdims", int64_t{0}}});
  return c.add("Exp", {c.add("Mul", {squared, float_number(c, -gamma)})});
}

// The kernel function of each row and support vector, [rows, supports].
Value* kernel(ExpandContext& c, Value* x, const Supports& supports) {
  const std::string type = c.text("kernel_type", "LINEAR");
  c.check(type == "LINEAR" || type == "POLY" || type == "RBF" || type == "SIGMOID",
          "attribute 'kernel_type' is '{}', none of LINEAR, POLY, RBF, SIGMOID", type);
  const std::vector<float> parameters = c.reals("kernel_params", {0, 0, 0});
  c.check(parameters.size() == 3, "attribute 'kernel_params' has {}; gamma, coef0 and degree are expected",
          counted(parameters.size(), "value"));
  const float gamma = parameters[0], coef0 = parameters[1], degree = parameters[2];
  if (type == "RBF") return radial(c, x, supports, gamma);
  Value* vectors = matrix(c, supports.count, supports.features, supports.values);
  Value* product = c.add("Gemm", {x, vectors}, {{"transB", int64_t{1}}});
  if (type == "LINEAR") return product;
  Value* scaled = c.add("Add", {c.add("Mul", {product, float_number(c, gamma)}), float_number(c, coef0)});
  return type == "POLY" ? c.add("Pow", {scaled, float_number(c, degree)}) : c.add("Tanh", {scaled});
}

// ONNX-ML SVMRegressor 1: y [rows, 1]. Without support vectors the coefficients are those of a linear function.
void expand_regressor(ExpandContext& c) {
  c.check(c.text("post_transform", "NONE") == "NONE", "attribute 'post_transform' '{}' is not supported",
          c.text("post_transform", "NONE"));
  Value* x = features_of(c);
  const int64_t vectors = c.integer("n_supports", 0);
  const std::vector<float> coefficients = required(c, "coefficients"), rho = required(c, "rho");
  c.check(vectors >= 0 && (vectors == 0 || vectors == std::ssize(coefficients)),
          "attribute 'n_supports' is {}, and there are {}", vectors, counted(coefficients.size(), "coefficient"));
  if (vectors > 0) x = kernel(c, x, Supports(c, vectors));
  Value* y = c.add("Gemm", {x, matrix(c, 1, std::ssize(coefficients), coefficients), float_number(c, rho[0])},
                   {{"transB", int64_t{1}}});
  if (c.integer("one_class", 0) != 0) {
    Value* is_inside = c.add("Greater", {y, float_number(c, 0)});
    y = c.add("Where", {is_inside, float_number(c, 1), float_number(c, -1)});
  }
  c.give(0, y);
}

// --------------------------------------------------------------------------------------------------- SVMClassifier

// One machine decides between each two classes i < j, in this order: (0, 1), (0, 2), ..., (1, 2), ...
struct Pairs {
  int64_t classes, count;
  std::vector<std::pair<int64_t, int64_t>> of;

  explicit Pairs(int64_t a_classes) : classes(a_classes), count(a_classes * (a_classes - 1) / 2) {
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j) of.emplace_back(i, j);
  }
};

// [supports, pairs]: what each support vector counts for in each pair. Coefficients are [classes - 1, supports], as
// LIBSVM stores them: row j - 1 of a vector of class i, and row i of one of class j, are for the pair (i, j).
std::vector<float> pair_weights(const Pairs& pairs, const std::vector<int64_t>& per_class, int64_t vectors,
                                const std::vector<float>& coefficients) {
  std::vector<float> weights(static_cast<size_t>(vectors * pairs.count));
  std::vector<int64_t> first(per_class.size() + 1);
  for (size_t i = 0; i < per_class.size(); ++i) first[i + 1] = first[i] + per_class[i];
  for (int64_t pair = 0; pair < pairs.count; ++pair) {
    const auto [i, j] = pairs.of[static_cast<size_t>(pair)];
    const auto take = [&](int64_t of_class, int64_t row) {
      for (int64_t v = first[static_cast<size_t>(of_class)]; v < first[static_cast<size_t>(of_class) + 1]; ++v)
        weights[static_cast<size_t>(v * pairs.count + pair)] = coefficients[static_cast<size_t>(row * vectors + v)];
    };
    take(i, j - 1);
    take(j, i);
  }
  return weights;
}

// The class that most pairs decide for, the first of several, [rows]: a pair's vote is for i if its score is above 0.
Value* most_votes(ExpandContext& c, const Pairs& pairs, Value* scores) {
  std::vector<float> gained(static_cast<size_t>(pairs.count * pairs.classes)),
      without(static_cast<size_t>(pairs.classes));
  for (int64_t pair = 0; pair < pairs.count; ++pair) {
    const auto [i, j] = pairs.of[static_cast<size_t>(pair)];
    gained[static_cast<size_t>(pair * pairs.classes + i)] = 1;
    gained[static_cast<size_t>(pair * pairs.classes + j)] = -1;
    ++without[static_cast<size_t>(j)];
  }
  Value* is_first = c.add("Greater", {scores, float_number(c, 0)});
  Value* counted = c.add("Cast", {is_first}, {{"to", static_cast<int64_t>(DType::float32)}});
  return best_class(
      c, c.add("Gemm", {counted, matrix(c, pairs.count, pairs.classes, gained), matrix(c, 1, pairs.classes, without)}));
}

// The scores of two classes from that of their pair, as onnxruntime has them.
Value* both_scores(ExpandContext& c, Value* score, const std::string& transform) {
  c.check(
      transform != "PROBIT",
      "attribute 'post_transform' is PROBIT, and there is one score for both classes: what it gives is not defined");
  Value* other = transform == "NONE" || transform == "LOGISTIC" ? c.add("Neg", {score})
                                                                : c.add("Sub", {float_number(c, 1), score});
  Value* scores = c.add("Concat", {other, score}, {{"axis", int64_t{1}}});
  return transform == "LOGISTIC" ? transformed(c, scores, transform) : scores;
}

// [rows, classes, classes] of the probabilities [rows, pairs] that the first of a pair is it: 0 on the diagonal.
Value* in_matrices(ExpandContext& c, const Pairs& pairs, Value* first) {
  Value* second = c.add("Sub", {float_number(c, 1), first});
  Value* none = c.add("Mul", {c.add("ReduceMax", {first, c.integers({1})}), float_number(c, 0)});
  Value* all = c.add("Concat", {first, second, none}, {{"axis", int64_t{1}}});
  std::vector<int64_t> places(static_cast<size_t>(pairs.classes * pairs.classes), 2 * pairs.count);
  for (int64_t pair = 0; pair < pairs.count; ++pair) {
    const auto [i, j] = pairs.of[static_cast<size_t>(pair)];
    places[static_cast<size_t>(i * pairs.classes + j)] = pair;
    places[static_cast<size_t>(j * pairs.classes + i)] = pairs.count + pair;
  }
  Value* gathered = c.add("Gather", {all, c.integers(places)}, {{"axis", int64_t{1}}});
  return c.add("Reshape", {gathered, c.integers({0, pairs.classes, pairs.classes})});
}

// J. Platt's probabilities of pairs, coupled (ops/ml/coupling.cpp): [rows, classes].
Value* class_probabilities(ExpandContext& c, const Pairs& pairs, Value* scores) {
  const std::vector<float> a = c.reals("prob_a"), b = c.reals("prob_b");
  c.check(std::ssize(a) == pairs.count && std::ssize(b) == pairs.count,
          "attributes 'prob_a' and 'prob_b' have {} and {}; {} have {}", a.size(), counted(b.size(), "value"),
          counted(pairs.classes, "class"), counted(pairs.count, "pair"));
  Value* scaled = c.add("Add", {c.add("Mul", {scores, matrix(c, 1, pairs.count, a)}), matrix(c, 1, pairs.count, b)});
  Value* first =
      c.add("Clip", {c.add("Sigmoid", {c.add("Neg", {scaled})}), float_number(c, 1e-7F), float_number(c, 1 - 1e-7F)});
  Value* r = in_matrices(c, pairs, first);
  Value* turned = c.add("Transpose", {r}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  Value* apart = c.add("Neg", {c.add("Mul", {r, turned})});
  Value* own = c.add("ReduceSumSquare", {r, c.integers({1})});
  std::vector<float> diagonal(static_cast<size_t>(pairs.classes * pairs.classes));
  for (int64_t i = 0; i < pairs.classes; ++i) diagonal[static_cast<size_t>(i * pairs.classes + i)] = 1;
  Value* is_own = c.add("Cast", {matrix(c, pairs.classes, pairs.classes, diagonal)},
                        {{"to", static_cast<int64_t>(DType::boolean)}});
  return c.add_row(internal_domain, "Coupling", {c.add("Where", {is_own, own, apart})}, 1)[0];
}

void expand_pairs(ExpandContext& c, Value* labels, const std::vector<int64_t>& per_class) {
  const int64_t classes = labels->constant->size(), count = classes * (classes - 1) / 2;
  int64_t vectors = 0;
  for (int64_t of_class : per_class) {
    c.check(of_class >= 0 && of_class < int64_t{1} << 31, "attribute 'vectors_per_class' holds {}", of_class);
    vectors += of_class;
  }
  const std::vector<float> coefficients = required(c, "coefficients"), rho = required(c, "rho");
  c.check(std::ssize(per_class) == classes && vectors > 0, "attribute 'vectors_per_class' has {}, for {}",
          counted(per_class.size(), "value"), counted(classes, "class"));
  c.check(vectors <= std::ssize(coefficients), "{} given for {}", counted_are(coefficients.size(), "coefficient"),
          counted(vectors, "support vector"));
  c.check(std::ssize(coefficients) == (classes - 1) * vectors && std::ssize(rho) == count,
          "{} and {} of 'rho' are given; {} and {} have {} and {}", counted(coefficients.size(), "coefficient"),
          counted(rho.size(), "value"), counted(classes, "class"), counted(vectors, "support vector"),
          (classes - 1) * vectors, count);
  c.check(std::max(vectors, classes) <= most_weights / count, "{} and {} more than can be compiled",
          counted(classes, "class"), counted_are(vectors, "support vector"));
  const Pairs pairs(classes);
  Value* weights = matrix(c, vectors, pairs.count, pair_weights(pairs, per_class, vectors, coefficients));
  Value* scores =
      c.add("Gemm", {kernel(c, features_of(c), Supports(c, vectors)), weights, matrix(c, 1, pairs.count, rho)});
  c.give(0, c.add("Gather", {labels, most_votes(c, pairs, scores)}));
  const std::string transform = post_transform(c);
  if (c.has_attribute("prob_a") || c.has_attribute("prob_b"))
    return c.give(1, transformed(c, class_probabilities(c, pairs, scores), transform));
  c.give(1, pairs.classes == 2 ? both_scores(c, scores, transform) : transformed(c, scores, transform));
}

// ONNX-ML SVMClassifier 1: the scores of pairs [rows, pairs] or, if 'prob_a' is given, the probabilities of classes,
// and of each row the label that most pairs decide for. Two classes have a score each. Without support vectors a linear
// function for each class.
void expand_classifier(ExpandContext& c) {
  Value* labels = integers_or_strings(c, "classlabels_ints", "classlabels_strings");
  const int64_t classes = labels->constant->size();
  c.check(classes >= 2, "labels of two classes or more are expected, found {}", classes);
  const std::vector<int64_t> per_class = c.NodeReader::integers("vectors_per_class");
  if (!per_class.empty()) return expand_pairs(c, labels, per_class);
  const std::vector<float> coefficients = required(c, "coefficients"), rho = required(c, "rho");
  c.check(std::ssize(coefficients) % classes == 0, "{} given for {}", counted_are(coefficients.size(), "coefficient"),
          counted(classes, "class"));
  Value* weights = matrix(c, classes, std::ssize(coefficients) / classes, coefficients);
  Value* scores = c.add("Gemm", {features_of(c), weights, float_number(c, rho[0])}, {{"transB", int64_t{1}}});
  c.give(0, c.add("Gather", {labels, best_class(c, scores)}));
  c.give(1, transformed(c, scores, post_transform(c)));
}

constexpr OpRow rows[] = {
    {.domain = ml, .name = "SVMRegressor", .expand = expand_regressor},
    {.domain = ml, .name = "SVMClassifier", .expand = expand_classifier},
};

}  // namespace

std::span<const OpRow> support_vector_ops() { return rows; }

}  // namespace onnxc
