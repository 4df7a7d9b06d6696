// Operators that draw random numbers: RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/random/random_numbers.h"

namespace onnxc {
namespace {

// Attribute 'dtype', or what it is without.
DType drawn_type(const NodeReader& node, DType otherwise, Types types) {
  return node.has_attribute("dtype") ? dtype_attribute(node, "dtype", node.integer("dtype"), types) : otherwise;
}

void check_parameters(const NodeReader& c) {
  const float low = c.real("low", 0), high = c.real("high", 1), scale = c.real("scale", 1);
  c.check(low <= high, "attribute 'low' is {}, which is above 'high', {}", low, high);
  c.check(scale >= 0, "attribute 'scale', a standard deviation, is {}", scale);
}

// ONNX RandomNormal 1, 22, RandomUniform 1, 22: of the shape that an attribute names.
void infer_random(InferContext& c) {
  check_parameters(c);
  Shape shape;
  for (int64_t dim : c.integers("shape")) {
    c.check(dim >= 0, "attribute 'shape' holds {}", dim);
    shape.emplace_back(dim);
  }
  c.draws_random_numbers();
  c.output(0, drawn_type(c, DType::float32, Types::floating), shape);
}

// ONNX RandomNormalLike 1, 22, RandomUniformLike 1, 22.
void infer_random_like(InferContext& c) {
  check_parameters(c);
  const DType dtype = drawn_type(c, c.dtype(0), Types::floating);
  c.check(is_floating(dtype),
          "the input's type, {}, is not one that numbers are drawn in; attribute 'dtype' names another",
          info(dtype).name);
  c.draws_random_numbers();
  c.output(0, dtype, c.shape(0));
}

void define_normal(DefineContext& c) {
  const RandomNumbers random(c);
  const Operand y = c.out(0);
  const DType compute = info(y.dtype).compute;
  c.elementwise([&](const std::vector<Expr>& i) {
    const Scalar drawn = random.normal(compute, place_of(y.shape, i));
    return drawn * number(drawn, static_cast<double>(c.real("scale", 1))) +
           number(drawn, static_cast<double>(c.real("mean", 0)));
  });
}

// In [low, high): what is rounded to `high` becomes `low`, as in PyTorch. Without a scale nothing is rounded.
void define_uniform(DefineContext& c) {
  const RandomNumbers random(c);
  const Operand y = c.out(0);
  const DType compute = info(y.dtype).compute;
  const double low = static_cast<double>(c.real("low", 0)), high = static_cast<double>(c.real("high", 1));
  c.elementwise([&](const std::vector<Expr>& i) {
    const Scalar drawn = random.uniform(compute, place_of(y.shape, i), significant_bits(y.dtype));
    if (low == 0 && high == 1) return drawn;
    const Scalar wide = drawn * number(drawn, high - low) + number(drawn, low);
    const Scalar rounded = scalar::cast(compute, scalar::cast(y.dtype, wide));
    return scalar::select(less(rounded, number(rounded, high)), rounded, number(rounded, low));
  });
}

// ONNX Bernoulli 15, 22: 1 with the probability that the input gives. (ONNX's function body compares the other way
// round, and gives 1 with the probability of a 0.)
void infer_bernoulli(InferContext& c) {
  expect_type(c, 0, Types::floating);
  c.draws_random_numbers();
  c.output(0, drawn_type(c, c.dtype(0), Types::any), c.shape(0));
}

void define_bernoulli(DefineContext& c) {
  const RandomNumbers random(c);
  const Operand p = c.in(0), y = c.out(0);
  c.elementwise([&](const std::vector<Expr>& i) {
    const Scalar probability = p.compute(i);
    const Scalar is_one = less(random.uniform(probability.dtype(), place_of(y.shape, i)), probability);
    return scalar::cast(y.dtype, is_one);
  });
}

// ------------------------------------------------------------------------------------------------------ Multinomial

// ONNX Multinomial 7, 22: for each row of logarithms of probabilities, classes drawn with replacement. Their running
// sums are of float64, in which 2^24 classes keep their shares.
void expand_multinomial(ExpandContext& c) {
  expect_type(c, 0, Types::floating);
  c.check(c.rank(0) == 2, "[rows, classes] are expected, found {}", short_text(c.shape(0)));
  Value* shares = c.add("Softmax", {c.in(0)}, {{"axis", int64_t{1}}});
  shares = c.add("Cast", {shares}, {{"to", static_cast<int64_t>(DType::float64)}});
  Value* sums = c.add("CumSum", {shares, c.integers({1})});
  c.give_row(internal_domain, "DrawClasses", {sums}, c.node().attributes);
}

void infer_draw_classes(InferContext& c) {
  const int64_t samples = c.integer("sample_size", 1);
  c.check(samples >= 0, "attribute 'sample_size' is {}", samples);
  const DType dtype = drawn_type(c, DType::int32, Types::integer);
  c.check(dtype == DType::int32 || dtype == DType::int64, "attribute 'dtype' names {}; int32 and int64 are possible",
          info(dtype).name);
  c.not_empty(c.shape(0)[1], c.shape(0)[0] * samples, "there is no class to draw");
  c.draws_random_numbers();
  c.output(0, dtype, {c.shape(0)[0], samples});
}

// The class is the number of running sums that are not above the number drawn. The last running sum always exceeds the
// number drawn, so the class exists; a class of probability 0 repeats the previous sum and is never drawn.
void define_draw_classes(DefineContext& c) {
  const RandomNumbers random(c);
  const Operand sums = c.in(0), y = c.out(0), drawn = c.temporary("drawn", DType::float64, y.shape);
  const Expr& classes = sums.shape[1];
  NestBuilder draw("draw");
  const std::vector<Expr> at = draw.parallel(y.shape);
  const Scalar total = sums({at[0], classes - 1});
  draw.store(drawn, at, random.uniform(DType::float64, place_of(y.shape, at)) * total);
  c.emit(std::move(draw));

  NestBuilder count("count_classes");
  const std::vector<Expr> indices = count.parallel(y.shape);
  const Expr k = count.reduce(classes);
  const Scalar is_below = scalar::binary(ScalarOp::less_or_equal, sums({indices[0], k}), drawn(indices));
  const Scalar found = count.accumulate(ReduceKind::sum, scalar::cast(DType::int64, is_below));
  count.store(y, indices, scalar::cast(y.dtype, found));
  c.emit(std::move(count));
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "RandomNormal", infer_random, define_normal, unchanged},
    {"", "RandomUniform", infer_random, define_uniform, unchanged},
    {"", "RandomNormalLike", infer_random_like, define_normal, unchanged, follows},
    {"", "RandomUniformLike", infer_random_like, define_uniform, unchanged, follows},
    {"", "Bernoulli", infer_bernoulli, define_bernoulli, unchanged, follows},
    {.domain = "", .name = "Multinomial", .expand = expand_multinomial},
    {internal_domain, "DrawClasses", infer_draw_classes, define_draw_classes, unchanged},
};

}  // namespace

std::span<const OpRow> random_ops() { return rows; }

}  // namespace onnxc
