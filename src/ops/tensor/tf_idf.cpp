// TfIdfVectorizer (ONNX 9): how often each n-gram of a list stands in a sequence.
#include <algorithm>

#include "support/count_text.h"

#include "ops/families.h"

namespace onnxc {
namespace {

struct TfIdfSpec {
  std::vector<int64_t> pool, starts, coordinates;
  std::vector<float> weights;  // of each n-gram; empty means 1
  int64_t skips, shortest, longest;
  int64_t size;  // of the output
  bool counts_once, weighs;

  // The n-grams of length n: their beginning in the pool, and how many there are.
  int64_t first(int64_t n) const { return starts[static_cast<size_t>(n - 1)]; }
  int64_t end(int64_t n) const { return n < std::ssize(starts) ? starts[static_cast<size_t>(n)] : std::ssize(pool); }
  int64_t count(int64_t n) const { return (end(n) - first(n)) / n; }
};

TfIdfSpec resolve_tf_idf(const NodeReader& c) {
  const std::string mode = c.text("mode", "");
  c.check(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode must be one of TF, IDF, TFIDF, found '{}'", mode);
  TfIdfSpec spec{c.integers("pool_int64s"),
                 c.integers("ngram_counts"),
                 c.integers("ngram_indexes"),
                 c.reals("weights"),
                 c.integer("max_skip_count"),
                 c.integer("min_gram_length"),
                 c.integer("max_gram_length"),
                 0,
                 mode == "IDF",
                 mode != "TF"};
  c.check(1 <= spec.shortest && spec.shortest <= spec.longest && spec.longest <= std::ssize(spec.starts),
          "attributes 'min_gram_length' {} and 'max_gram_length' {} do not fit 'ngram_counts' of {}", spec.shortest,
          spec.longest, counted(spec.starts.size(), "length"));
  c.check(spec.skips >= 0 && spec.skips <= INT32_MAX, "attribute 'max_skip_count' is {}", spec.skips);
  int64_t grams = 0, begin = 0;
  for (int64_t n = 1; n <= std::ssize(spec.starts); ++n) {
    c.check(spec.first(n) == begin && spec.end(n) >= begin && spec.end(n) <= std::ssize(spec.pool) &&
                (spec.end(n) - begin) % n == 0,
            "attribute 'ngram_counts' does not divide the pool of {} into n-grams of length {}",
            counted(spec.pool.size(), "number"), n);
    grams += spec.count(n);
    begin = spec.end(n);
  }
  c.check(grams == std::ssize(spec.coordinates), "attribute 'ngram_indexes' has {} for {} n-grams",
          counted(spec.coordinates.size(), "value"), grams);
  for (int64_t coordinate : spec.coordinates) {
    c.check(coordinate >= 0 && coordinate < INT32_MAX, "attribute 'ngram_indexes' holds {}", coordinate);
    spec.size = std::max(spec.size, coordinate + 1);
  }
  c.check(spec.weights.empty() || spec.weights.size() == spec.coordinates.size(),
          "attribute 'weights' has {} for {} n-grams", counted(spec.weights.size(), "value"), spec.coordinates.size());
  return spec;
}

// X [length] or [rows, length] gives Y [size] or [rows, size].
void infer_tf_idf(InferContext& c) {
  const TfIdfSpec spec = resolve_tf_idf(c);
  c.check(c.dtype(0) == DType::int32 || c.dtype(0) == DType::int64, "integers are expected, found {}",
          info(c.dtype(0)).name);
  const Shape& x = c.shape(0);
  c.check(x.size() == 1 || x.size() == 2, "a sequence, or one a row, is expected, found {}", short_text(x));
  Shape shape = x;
  shape.back() = spec.size;
  c.output(0, DType::float32, shape);
}

Tensor whole_numbers(const std::vector<int64_t>& values, std::vector<int64_t> dims) {
  return Tensor::of(DType::int64, std::move(dims), values);
}

// frequencies[row, the coordinate of gram j] += the number of its occurrences, whose tokens may stand up to `skips`
// apart. Skipping means nothing to a single token.
void count_grams(DefineContext& c, const TfIdfSpec& spec, const Operand& x, const Operand& frequencies, int64_t n,
                 int64_t grams_before) {
  const int64_t grams = spec.count(n);
  if (grams == 0) return;
  auto part = [](const std::vector<int64_t>& list, int64_t begin, int64_t count) {
    return std::vector<int64_t>(list.begin() + begin, list.begin() + begin + count);
  };
  const std::string role = fmt::format("of_length_{}", n);
  const Operand pool =
      c.constant_operand("grams_" + role, whole_numbers(part(spec.pool, spec.first(n), grams * n), {grams, n}));
  const Operand coordinates =
      c.constant_operand("coordinates_" + role, whole_numbers(part(spec.coordinates, grams_before, grams), {grams}));
  NestBuilder nest("occurrences");
  const Expr row = nest.parallel(x.shape[0]), gram = nest.ordered(grams);
  const Expr distance = nest.reduce(n == 1 ? 1 : spec.skips + 1) + 1, start = nest.reduce(x.shape[1]);
  const Scalar no = scalar::constant(DType::boolean, 0);
  Scalar is_here;
  for (int64_t k = 0; k < n; ++k) {
    const Scalar token = scalar::cast(DType::int64, x({row, start + k * distance}));
    is_here = both(is_here, scalar::binary(ScalarOp::equal, token, pool({gram, k})));
  }
  const Scalar found = scalar::select(less(start + (n - 1) * distance, x.shape[1]), is_here, no);
  nest.store(frequencies, {row, nest.let(coordinates({gram}))},
             nest.accumulate(ReduceKind::sum, scalar::cast(DType::int64, found)), StoreKind::add);
  c.emit(std::move(nest));
}

void define_tf_idf(DefineContext& c) {
  const TfIdfSpec spec = resolve_tf_idf(c);
  const Operand given = c.in(0), y = c.out(0);
  const Expr rows = given.rank() == 1 ? Expr(1) : given.shape[0];
  const Operand x = c.reshaped(given, {rows, given.shape.back()});
  const Operand frequencies = c.temporary("frequencies", DType::int64, {rows, spec.size});
  NestBuilder start("frequencies");
  start.store(frequencies, start.parallel(frequencies.shape), scalar::index(0));
  c.emit(std::move(start));
  int64_t grams_before = 0;
  for (int64_t n = 1; n <= std::ssize(spec.starts); ++n) {
    if (spec.shortest <= n && n <= spec.longest) count_grams(c, spec, x, frequencies, n, grams_before);
    grams_before += spec.count(n);
  }
  std::optional<Operand> weights;
  if (spec.weighs && !spec.weights.empty()) {
    std::vector<float> by_coordinate(static_cast<size_t>(spec.size), 1);
    for (size_t i = 0; i < spec.weights.size(); ++i)
      by_coordinate.at(static_cast<size_t>(spec.coordinates[i])) = spec.weights[i];
    weights = c.constant_operand("weights", Tensor::of(DType::float32, {spec.size}, by_coordinate));
  }
  c.elementwise([&](const std::vector<Expr>& out) {
    const Scalar found = frequencies({given.rank() == 1 ? Expr(0) : out[0], out.back()});
    const Scalar number =
        scalar::cast(y.dtype, spec.counts_once ? scalar::binary(ScalarOp::minimum, found, scalar::index(1)) : found);
    return weights ? number * (*weights)({out.back()}) : number;
  });
}

// Strings are counted by their handles: becomes CountGrams(whole numbers).
void expand_tf_idf(ExpandContext& c) {
  Value* x = c.in(0);
  std::vector<NamedAttribute> attributes = c.node().attributes;
  if (c.dtype(0) == DType::string) {
    c.check(!c.has_attribute("pool_int64s"), "its input has strings, and attribute 'pool_int64s' is given");
    x = c.add_row(internal_domain, "Handles", {x}, 1)[0];
    attributes.push_back({"pool_int64s", c.string_tensor(c.texts("pool_strings")).as_int64()});
  }
  c.give(0, c.add_row(internal_domain, "CountGrams", {x}, 1, std::move(attributes))[0]);
}

constexpr OpRow rows[] = {
    {.domain = "", .name = "TfIdfVectorizer", .expand = expand_tf_idf},
    {internal_domain, "CountGrams", infer_tf_idf, define_tf_idf, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> tf_idf_ops() { return rows; }

}  // namespace onnxc
