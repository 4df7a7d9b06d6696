// Operators of ai.onnx.ml on features, which exporters of scikit-learn write around a model.
#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/ml/scores.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

constexpr const char* ml = "ai.onnx.ml";

// ONNX-ML Binarizer 1: 1 if x is above the threshold, else 0.
Scalar binarized(const NodeReader& node, const Scalar& x) {
  const Scalar threshold = number(x, static_cast<double>(node.real("threshold", 0)));
  return scalar::select(less(threshold, x), number(x, 1), number(x, 0));
}

// ONNX-ML ArrayFeatureExtractor 1: the elements of the last axis at the indices; [m] counts as [1, m].
void expand_array_feature_extractor(ExpandContext& c) {
  Value* x = c.in(0);
  if (c.rank(0) == 1) x = c.add("Unsqueeze", {x, c.integers({0})});
  Value* indices = c.add("Reshape", {c.in(1), c.integers({-1})});
  c.give(0, c.add("Gather", {x, indices}, {{"axis", int64_t{-1}}}));
}

// ONNX-ML FeatureVectorizer 1: the features of all inputs one after another, as float32; [m] counts as [1, m].
void expand_feature_vectorizer(ExpandContext& c) {
  const std::vector<int64_t> sizes = c.NodeReader::integers("inputdimensions");
  c.check(sizes.empty() || sizes.size() == c.input_count(), "attribute 'inputdimensions' has {} for {}",
          counted(sizes.size(), "value"), counted(c.input_count(), "input"));
  std::vector<Value*> parts;
  for (size_t i = 0; i < c.input_count(); ++i) {
    expect_type(c, i, Types::numeric);
    c.check(c.rank(i) == 1 || c.rank(i) == 2, "input {} of one or two axes is expected, found {}", i,
            short_text(c.shape(i)));
    const std::optional<int64_t> features = c.shape(i).back().constant();
    c.check(sizes.empty() || !features || *features == sizes[i],
            "attribute 'inputdimensions' gives input {} {}, and it has {}", i,
            counted(sizes.empty() ? 0 : sizes[i], "feature"), features.value_or(0));
    Value* part = as_float(c, i);
    if (c.rank(i) == 1) part = c.add("Unsqueeze", {part, c.integers({0})});
    // Sizes that a run tells are held against the attribute there.
    if (!sizes.empty() && !features) part = c.add("Reshape", {part, c.integers({0, sizes[i]})});
    parts.push_back(part);
  }
  c.give(0, c.add("Concat", std::move(parts), {{"axis", int64_t{1}}}));
}

// An attribute with one number, or one for each feature of [rows, features], as a tensor.
Value* per_feature(ExpandContext& c, const char* name, DType dtype) {
  const std::vector<float> values = c.reals(name);
  c.check(!values.empty(), "attribute '{}' is missing", name);
  const std::vector<int64_t> dims{std::ssize(values)};
  return c.add("Cast", {c.constant(Tensor::of(DType::float32, dims, values))}, {{"to", static_cast<int64_t>(dtype)}});
}

// ONNX-ML Scaler 1: (x - offset) * scale, as float32.
void expand_scaler(ExpandContext& c) {
  Value* y = as_float(c, 0);
  if (c.has_attribute("offset")) y = c.add("Sub", {y, per_feature(c, "offset", DType::float32)});
  if (c.has_attribute("scale")) y = c.add("Mul", {y, per_feature(c, "scale", DType::float32)});
  c.give(0, y);
}

// ONNX-ML Normalizer 1: each row divided by its greatest element or its norm, if that is not 0.
void expand_normalizer(ExpandContext& c) {
  const std::string norm = c.text("norm", "MAX");
  Value* x = as_float(c, 0);
  const char* reduction = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : "ReduceL2";
  c.check(norm == "MAX" || norm == "L1" || norm == "L2", "attribute 'norm' is '{}', none of MAX, L1, L2", norm);
  Value* divisor = c.add(reduction, {x, c.integers({-1})});
  Value* is_zero = c.add("Equal", {divisor, c.number(DType::float32, 0)});
  c.give(0, c.add("Div", {x, c.add("Where", {is_zero, c.number(DType::float32, 1), divisor})}));
}

// ONNX-ML Imputer 1: NaN, or what equals 'replaced_value_float', becomes the value for its feature.
void expand_imputer(ExpandContext& c) {
  c.check(is_floating(c.dtype(0)), "an input of floating-point numbers is expected, found {}", info(c.dtype(0)).name);
  const float replaced = c.real("replaced_value_float", 0);
  Value* x = c.in(0);
  Value* is_missing = std::isnan(replaced) ? c.add("IsNaN", {x})
                                           : c.add("Equal", {x, c.number(c.dtype(0), static_cast<double>(replaced))});
  c.give(0, c.add("Where", {is_missing, per_feature(c, "imputed_value_floats", c.dtype(0)), x}));
}

// x [rows, features] by coefficients [targets, features], and an intercept for each target.
Value* linear(ExpandContext& c, int64_t targets) {
  const std::vector<float> coefficients = c.reals("coefficients");
  const int64_t count = std::ssize(coefficients);
  c.check(targets >= 1 && count > 0 && count % targets == 0, "{} given for {}; as many are expected for each",
          counted_are(count, "coefficient"), counted(targets, "target"));
  Value* weights = c.constant(Tensor::of(DType::float32, {targets, count / targets}, coefficients));
  std::vector<Value*> inputs{as_float(c, 0), weights};
  if (c.has_attribute("intercepts")) inputs.push_back(per_feature(c, "intercepts", DType::float32));
  return c.add("Gemm", std::move(inputs), {{"transB", int64_t{1}}});
}

// ONNX-ML LinearRegressor 1.
void expand_linear_regressor(ExpandContext& c) {
  c.check(c.text("post_transform", "NONE") == "NONE", "attribute 'post_transform' '{}' is not supported yet",
          c.text("post_transform", "NONE"));
  c.give(0, linear(c, c.integer("targets", 1)));
}

// ONNX-ML LinearClassifier 1: a score for each class, and of each row the label of the greatest.
void expand_linear_classifier(ExpandContext& c) {
  const std::string transform = post_transform(c);
  Value* labels = integers_or_strings(c, "classlabels_ints", "classlabels_strings");
  const int64_t classes = labels->constant->size();
  Value* scores = linear(c, classes);
  c.check(classes >= 2, "labels of two classes or more are expected, found {}", classes);
  c.give(0, c.add("Gather", {labels, best_class(c, scores)}));
  c.give(1, transformed(c, scores, transform));
}

// ONNX-ML OneHotEncoder 1: for each category, 1 if x is it and else 0.
void expand_one_hot_encoder(ExpandContext& c) {
  c.check(c.integer("zeros", 1) != 0,
          "attribute 'zeros' is 0: to fail for a value that is not a category is not supported");
  Value* categories = integers_or_strings(c, "cats_int64s", "cats_strings");
  Value* x = c.in(0);
  if (x->dtype != DType::string) x = c.add("Cast", {x}, {{"to", static_cast<int64_t>(DType::int64)}});
  Value* is_category = c.add("Equal", {c.add("Unsqueeze", {x, c.integers({-1})}), categories});
  c.give(0, c.add("Cast", {is_category}, {{"to", static_cast<int64_t>(DType::float32)}}));
}

constexpr OpRow rows[] = {
    {ml, "Binarizer", infer_like_input<Types::numeric>, define_unary_formula<binarized>, StorageRule::unchanged,
     LayoutRule::follows},
    {.domain = ml, .name = "ArrayFeatureExtractor", .expand = expand_array_feature_extractor},
    {.domain = ml, .name = "FeatureVectorizer", .expand = expand_feature_vectorizer},
    {.domain = ml, .name = "Scaler", .expand = expand_scaler},
    {.domain = ml, .name = "Normalizer", .expand = expand_normalizer},
    {.domain = ml, .name = "Imputer", .expand = expand_imputer},
    {.domain = ml, .name = "LinearRegressor", .expand = expand_linear_regressor},
    {.domain = ml, .name = "LinearClassifier", .expand = expand_linear_classifier},
    {.domain = ml, .name = "OneHotEncoder", .expand = expand_one_hot_encoder},
};

}  // namespace

std::span<const OpRow> ml_feature_ops() { return rows; }

}  // namespace onnxc
