// Reductions over axes, the positions of extremes, and running sums and products.
#include <algorithm>

#include "ops/axes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "ops/run_time_axes.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

// ------------------------------------------------------------------------------------------------------- Reduce*

// Axes that only a run knows: the node binds an extent for each axis among the kept ones, then among the folded ones.
FoldedAxes axes_of_run(const NodeReader& node) {
  const std::vector<Expr> symbols = symbols_of(node.node());
  const auto rank = static_cast<std::ptrdiff_t>(node.rank(0));
  return FoldedAxes::decided_by_run(node.shape(0), Shape(symbols.begin(), symbols.begin() + rank),
                                    Shape(symbols.begin() + rank, symbols.begin() + 2 * rank));
}

// The axes stand in attribute 'axes', or in input 1 (ReduceSum since version 13, the others since 18). None given means
// all of them, or none at all if attribute 'noop_with_empty_axes' says so.
FoldedAxes reduced_axes(const NodeReader& node) {
  size_t rank = node.rank(0);
  std::optional<std::vector<Expr>> axes = node.integers_from(1, "axes");
  if (!axes || axes->empty())
    return {node.shape(0), std::vector<bool>(rank, node.integer("noop_with_empty_axes", 0) == 0)};
  if (any_unknown(*axes)) return axes_of_run(node);
  std::vector<bool> folded(rank, false);
  for (const Expr& value : *axes) {
    size_t axis = node.axis(value.constant().value(), rank);
    node.check(!folded[axis], "axis {} is named twice in 'axes'", axis);
    folded[axis] = true;
  }
  return {node.shape(0), std::move(folded)};
}

bool keeps_dims(const NodeReader& node) { return node.integer("keepdims", 1) != 0; }

Shape reduced_shape(const NodeReader& node, const FoldedAxes& axes) {
  return keeps_dims(node) ? axes.shape_with_ones() : axes.kept_shape();
}

void infer_reduced(InferContext& c) {
  const std::optional<std::vector<Expr>> given = c.integers_from(1, "axes");
  if (!given || !any_unknown(*given)) return c.output(0, c.dtype(0), reduced_shape(c, reduced_axes(c)));
  const size_t rank = c.rank(0);
  guard_axes(c, *given, rank);
  c.check(given->size() <= rank, "{} named for a tensor of rank {}", counted_are(given->size(), "axis"), rank);
  Shape kept;
  for (const char* part : {"kept", "folded"})
    for (size_t axis = 0; axis < rank; ++axis) {
      const Expr extent =
          c.run_time_symbol(part, {0, Bounds::infinity}, fmt::format("{} extent of axis {}", part, axis));
      if (kept.size() < rank)
        kept.push_back(extent);
      else  // one of both is 1
        c.at_least(c.shape(0)[axis], kept[axis] + extent - 1, fmt::format("the extent of axis {}", axis));
    }
  if (keeps_dims(c)) return c.output(0, c.dtype(0), kept);
  output_of_rank(c, c.dtype(0), rank - given->size(), product(kept));
}

// Binds what infer_reduced left to the run.
void bind_extents(DefineContext& c, const FoldedAxes& axes) {
  if (!axes.are_decided_by_run()) return;
  const std::vector<Expr> listed = listed_axes(*c.integers_from(1, "axes"), c.rank(0));
  std::vector<Expr> symbols = symbols_of(c.node());
  std::vector<Scalar> values = extents_where(false, c.shape(0), listed),
                      folded = extents_where(true, c.shape(0), listed);
  values.insert(values.end(), folded.begin(), folded.end());
  if (!keeps_dims(c)) {
    const std::vector<Scalar> dims = dims_without_axes(c.shape(0), listed, c.rank(0) - c.out(0).rank());
    values.insert(values.end(), dims.begin(), dims.end());
  }
  c.bind(symbols, values);
}

template <Types types>
void infer_reduction(InferContext& c) {
  expect_type(c, 0, types);
  infer_reduced(c);
}

// ReduceMax and ReduceMin take booleans too since version 20: or, and.
void infer_extreme(InferContext& c) {
  expect_type(c, 0, Types::any);
  c.check(c.dtype(0) != DType::boolean || c.version() >= 20, "bool inputs are reduced since operator set 20, found {}",
          c.version());
  infer_reduced(c);
}

// A loop over the kept axes of input 0, with its other axes as reduce axes.
class ReductionNest {
 public:
  ReductionNest(DefineContext& c, std::string role, const FoldedAxes& axes)
      : c_(c),
        axes_(axes),
        nest_(std::move(role)),
        kept_(nest_.parallel(axes.kept_shape())),
        folded_(nest_.reduce(axes.folded_shape())) {}

  const std::vector<Expr>& kept() const { return kept_; }
  const std::vector<Expr>& folded() const { return folded_; }
  Scalar element() const { return c_.in(0).compute(axes_.join(kept_, folded_)); }
  Scalar fold(ReduceKind kind, const Scalar& element, const Expr& position = 0) {
    return nest_.accumulate(kind, element, position);
  }

  // Stores for each combination of the kept axes, with or without a dim of 1 for the others.
  void store(const Operand& output, const Scalar& value) {
    if (axes_.are_decided_by_run() && output.rank() != kept_.size()) return store_without_ones(output, value);
    bool with_ones = output.rank() != kept_.size();
    nest_.store(output, with_ones ? axes_.join(kept_, std::vector<Expr>(folded_.size(), 0)) : kept_, value);
    c_.emit(std::move(nest_));
  }

 private:
  void store_without_ones(const Operand& output, const Scalar& value) {
    Operand kept = c_.temporary("kept", output.dtype, axes_.kept_shape());
    nest_.store(kept, kept_, value);
    c_.emit(std::move(nest_));
    Operand reshaped = c_.reshaped(kept, output.shape);
    c_.elementwise([&](const std::vector<Expr>& i) { return reshaped(i); });
  }

  DefineContext& c_;
  const FoldedAxes& axes_;
  NestBuilder nest_;
  std::vector<Expr> kept_, folded_;
};

// How a reduction is made of a sum or another fold: what is folded, and what becomes of the result. Roots and
// logarithms of integers are taken in float64.
struct ReductionFormula {
  ReduceKind kind;
  Scalar (*element)(const Scalar& x) = nullptr;
  ScalarOp finish = ScalarOp::cast;  // cast: nothing more is done
  bool divides_by_count = false;
};

Scalar square(const Scalar& x) { return x * x; }

constexpr ReductionFormula sum_formula{ReduceKind::sum};
constexpr ReductionFormula mean_formula{ReduceKind::sum, nullptr, ScalarOp::cast, true};
constexpr ReductionFormula product_formula{ReduceKind::product};
constexpr ReductionFormula l1_formula{ReduceKind::sum, absolute};
constexpr ReductionFormula l2_formula{ReduceKind::sum, square, ScalarOp::square_root};
constexpr ReductionFormula log_sum_formula{ReduceKind::sum, nullptr, ScalarOp::logarithm};
constexpr ReductionFormula sum_square_formula{ReduceKind::sum, square};

template <const ReductionFormula& formula>
void define_reduction(DefineContext& c) {
  FoldedAxes axes = reduced_axes(c);
  bind_extents(c, axes);
  ReductionNest nest(c, c.node().origin.type, axes);
  Scalar x = nest.element();
  DType dtype = x.dtype();
  if (formula.finish != ScalarOp::cast && is_integer(dtype)) x = scalar::cast(DType::float64, x);
  Scalar result = nest.fold(formula.kind, formula.element != nullptr ? formula.element(x) : x);
  if (formula.divides_by_count)
    result = result / scalar::cast(result.dtype(), scalar::index(product(axes.folded_shape())));
  if (formula.finish != ScalarOp::cast) result = scalar::unary(formula.finish, result);
  nest.store(c.out(0), scalar::cast(dtype, result));
}

template <ReduceKind numbers, ReduceKind booleans>
void define_extreme(DefineContext& c) {
  FoldedAxes axes = reduced_axes(c);
  bind_extents(c, axes);
  ReductionNest nest(c, c.node().origin.type, axes);
  Scalar x = nest.element();
  nest.store(c.out(0), nest.fold(x.dtype() == DType::boolean ? booleans : numbers, x));
}

// log(sum of e^x) = m + log(sum of e^(x - m)) with m the largest x, so that nothing overflows; m is taken as 0 if it is
// infinite.
void define_log_sum_exp(DefineContext& c) {
  FoldedAxes axes = reduced_axes(c);
  bind_extents(c, axes);
  DType compute = is_integer(c.dtype(0)) ? DType::float64 : info(c.dtype(0)).compute;
  Operand largest = c.temporary("largest", compute, axes.kept_shape());
  {
    ReductionNest nest(c, "log_sum_exp_largest", axes);
    Scalar m = nest.fold(ReduceKind::maximum, scalar::cast(compute, nest.element()));
    Scalar infinite = scalar::unary(ScalarOp::is_infinite, m);
    nest.store(largest, scalar::select(infinite, number(m, 0), m));
  }
  ReductionNest nest(c, "log_sum_exp", axes);
  Scalar m = largest(nest.kept());
  Scalar sum = nest.fold(ReduceKind::sum, exponential(scalar::cast(compute, nest.element()) - m));
  nest.store(c.out(0), scalar::cast(info(c.dtype(0)).compute, m + logarithm(sum)));
}

// ----------------------------------------------------------------------------------------------- ArgMax and ArgMin

FoldedAxes argument_axis(const NodeReader& node) {
  return FoldedAxes::one(node.shape(0), node.axis(node.integer("axis", 0), node.rank(0)));
}

void infer_argument(InferContext& c) {
  expect_type(c, 0, Types::numeric);
  FoldedAxes axes = argument_axis(c);
  c.at_least(axes.folded_shape()[0], 1, "the dim in which a position is looked for");
  c.output(0, DType::int64, reduced_shape(c, axes));
}

template <ReduceKind first, ReduceKind last>
void define_argument(DefineContext& c) {
  FoldedAxes axes = argument_axis(c);
  ReductionNest nest(c, c.node().origin.type, axes);
  ReduceKind kind = c.integer("select_last_index", 0) != 0 ? last : first;
  nest.store(c.out(0), nest.fold(kind, nest.element(), nest.folded()[0]));
}

// ------------------------------------------------------------------------------------------- CumSum and CumProd

// For each axis of the input, 1 if the sums run along it, else 0.
std::vector<Expr> running_axis(const NodeReader& node) {
  return listed_axes(node.needed_elements(1, "axis"), node.rank(0));
}

void infer_running(InferContext& c) {
  expect_type(c, 0, Types::numeric);
  const std::vector<Expr> axis = c.needed_elements(1, "axis");
  c.check(axis.size() == 1, "one axis is expected, found {}", axis.size());
  if (axis[0].constant()) c.axis(*axis[0].constant(), c.rank(0));
  guard_axes(c, axis, c.rank(0));
  if (any_unknown(axis)) {
    for (size_t i = 0; i < c.rank(0); ++i)
      c.run_time_symbol("across", {0, Bounds::infinity}, fmt::format("extent of axis {} across the sums", i));
    c.run_time_symbol("along", {0, Bounds::infinity}, "extent along the sums");
  }
  c.output(0, c.dtype(0), c.shape(0));
}

// y[k] = y[k - 1] op x[k], along one axis in order; 'exclusive' leaves out x[k] itself, 'reverse' starts at the end.
// Half types run in a float32 temporary, so that errors do not add up.
template <ScalarOp op>
void define_running(DefineContext& c) {
  Operand x = c.in(0), y = c.out(0);
  const std::vector<Expr> runs = running_axis(c);
  bool exclusive = c.integer("exclusive", 0) != 0, reverse = c.integer("reverse", 0) != 0;
  DType compute = info(x.dtype).compute;
  Operand running = compute == x.dtype ? y : c.temporary("running", compute, y.shape);

  std::vector<Expr> across = x.shape;
  Expr along = 0;
  for (size_t i = 0; i < x.rank(); ++i) along += runs[i] * x.shape[i];
  if (any_unknown(runs)) {
    across = symbols_of(c.node());
    std::vector<Scalar> values = extents_where(false, x.shape, runs);
    values.push_back(scalar::index(along));
    c.bind(across, values);
    along = across.back();
  }
  NestBuilder nest(c.node().origin.type);
  std::vector<Expr> indices(x.rank());
  for (size_t i = 0; i < x.rank(); ++i)
    if (!runs[i].is_constant(1)) indices[i] = nest.parallel(across[i]);
  Expr step = nest.ordered(along);
  auto at = [&](const Expr& position) {
    std::vector<Expr> result = indices;
    for (size_t i = 0; i < x.rank(); ++i) result[i] += runs[i] * (reverse ? x.shape[i] - 1 - position : position);
    return result;
  };
  Scalar neutral = scalar::constant(compute, op == ScalarOp::add ? 0 : 1);
  Scalar is_first = scalar::binary(ScalarOp::equal, scalar::index(step), scalar::index(0));
  // As ir/loops/running_fold.h has it.
  Scalar before = scalar::select(is_first, neutral, running(at(step - 1)));
  Scalar element = exclusive ? scalar::select(is_first, neutral, x.compute(at(step - 1))) : x.compute(at(step));
  nest.store(running, at(step), scalar::binary(op, before, element));
  c.emit(std::move(nest));
  if (running.buffer != y.buffer) c.elementwise([&](const std::vector<Expr>& i) { return running(i); });
}

using enum ReduceKind;

constexpr OpRow rows[] = {
    {"", "ReduceSum", infer_reduction<Types::numeric>, define_reduction<sum_formula>, StorageRule::reduces},
    {"", "ReduceMean", infer_reduction<Types::numeric>, define_reduction<mean_formula>, StorageRule::reduces},
    {"", "ReduceProd", infer_reduction<Types::numeric>, define_reduction<product_formula>, StorageRule::unchanged},
    {"", "ReduceL1", infer_reduction<Types::numeric>, define_reduction<l1_formula>, StorageRule::unchanged},
    {"", "ReduceL2", infer_reduction<Types::numeric>, define_reduction<l2_formula>, StorageRule::unchanged},
    {"", "ReduceLogSum", infer_reduction<Types::numeric>, define_reduction<log_sum_formula>, StorageRule::unchanged},
    {"", "ReduceLogSumExp", infer_reduction<Types::numeric>, define_log_sum_exp, StorageRule::unchanged},
    {"", "ReduceSumSquare", infer_reduction<Types::numeric>, define_reduction<sum_square_formula>,
     StorageRule::unchanged},
    {"", "ReduceMax", infer_extreme, define_extreme<ReduceKind::maximum, any>, StorageRule::reduces},
    {"", "ReduceMin", infer_extreme, define_extreme<ReduceKind::minimum, all>, StorageRule::unchanged},
    {"", "ArgMax", infer_argument, define_argument<argument_maximum, last_argument_maximum>, StorageRule::unchanged},
    {"", "ArgMin", infer_argument, define_argument<argument_minimum, last_argument_minimum>, StorageRule::unchanged},
    {"", "CumSum", infer_running, define_running<ScalarOp::add>, StorageRule::unchanged},
    {"", "CumProd", infer_running, define_running<ScalarOp::multiply>, StorageRule::unchanged},
};

}  // namespace

std::span<const OpRow> reduction_ops() { return rows; }

}  // namespace onnxc
