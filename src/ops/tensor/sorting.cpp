#include "ops/tensor/sorting.h"

#include "ops/elementwise/elementwise.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr int64_t chunk = 256;

// Lines whose runs of some length, from the first element on, are in order; the last may be shorter.
class Runs {
 public:
  Runs(DefineContext& c, const Operand& x, size_t axis, const Precedes& precedes)
      : c_(c), shape_(x.shape), axis_(axis), extent_(*x.shape[axis].constant()), precedes_(precedes) {
    sort_chunks(x);
    while (length_ < extent_) merge_pairs();
  }
  const SortedLines& lines() const { return lines_; }

 private:
  std::vector<Expr> with(std::vector<Expr> at, const Expr& position) const {
    at[axis_] = position;
    return at;
  }
  SortedLines make_lines(DType dtype) const {
    return {c_.temporary("sorted", dtype, shape_), c_.temporary("positions", DType::int64, shape_)};
  }

  void sort_chunks(const Operand& x) {
    Operand places = c_.temporary("chunk_places", DType::int64, shape_);
    {
      NestBuilder nest("chunk_places");
      const std::vector<Expr> at = nest.parallel(shape_);
      const Expr first = floor_div(at[axis_], chunk) * chunk, other = first + nest.reduce(chunk);
      const Scalar a = x.compute(with(at, min(other, extent_ - 1))), b = x.compute(at);
      const Scalar is_other = both(less(other, extent_), comes_before(precedes_, a, b, less(other, at[axis_])));
      nest.store(places, at,
                 nest.accumulate(ReduceKind::sum, scalar::cast(DType::int64, is_other)) + scalar::index(first));
      c_.emit(std::move(nest));
    }
    lines_ = make_lines(x.dtype);
    NestBuilder nest("sort_chunks");
    const std::vector<Expr> at = nest.parallel(shape_), to = with(at, nest.let(places(at)));
    nest.store(lines_.values, to, x(at));
    nest.store(lines_.positions, to, scalar::index(at[axis_]));
    c_.emit(std::move(nest));
    length_ = chunk;
  }

  // Makes one run of each two that follow each other.
  void merge_pairs() {
    const SortedLines merged = make_lines(lines_.values.dtype);
    NestBuilder nest("merge");
    const std::vector<Expr> at = nest.parallel(shape_);
    const Expr place = at[axis_], pair = floor_div(place, 2 * length_) * (2 * length_);
    const Expr is_right = mod(floor_div(place, length_), 2);
    const Expr other = pair + (1 - is_right) * length_, others = min(max(extent_ - other, 0), length_);
    const Scalar own = lines_.values.compute(at);
    // Among equal elements those of the left run stand before.
    Expr before = 0;
    for (int64_t step = length_; step > 0; step /= 2) {
      const Expr tried = before + step;
      const Scalar last = lines_.values.compute(with(at, min(other + tried - 1, extent_ - 1)));
      const Scalar stands_before =
          scalar::select(less(0, is_right), negated(precedes_(own, last)), precedes_(last, own));
      before = nest.let(
          scalar::select(both(less(tried, others + 1), stands_before), scalar::index(tried), scalar::index(before)));
    }
    const std::vector<Expr> to = with(at, pair + mod(place, length_) + before);
    nest.store(merged.values, to, lines_.values(at));
    nest.store(merged.positions, to, lines_.positions(at));
    c_.emit(std::move(nest));
    lines_ = merged;
    length_ *= 2;
  }

  DefineContext& c_;
  Shape shape_;
  size_t axis_;
  int64_t extent_, length_ = 1;
  const Precedes& precedes_;
  SortedLines lines_;
};

}  // namespace

Scalar ascending(const Scalar& a, const Scalar& b) {
  if (a.dtype() == DType::boolean) return both(negated(a), b);
  if (a.dtype() == DType::string) return scalar::call(StringFunction::precedes, {a, b});
  const Scalar is_less = less(a, b);
  if (!is_floating(a.dtype())) return is_less;
  auto is_nan = [](const Scalar& x) { return scalar::unary(ScalarOp::is_nan, x); };
  return any_of(is_less, both(is_nan(b), negated(is_nan(a))));
}

Scalar comes_before(const Precedes& precedes, const Scalar& a, const Scalar& b, const Scalar& stands_earlier) {
  return any_of(precedes(a, b), both(negated(precedes(b, a)), stands_earlier));
}

SortedLines sort_lines(DefineContext& c, const Operand& x, size_t axis, const Precedes& precedes) {
  internal_check(x.shape[axis].constant().has_value(), "a line of unknown extent would be sorted");
  return Runs(c, x, axis, precedes).lines();
}

}  // namespace onnxc
