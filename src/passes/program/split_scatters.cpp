#include "passes/program/split_scatters.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "ir/loops/operations.h"

namespace onnxc {
namespace {

constexpr int64_t shortest = 64;  // of a shorter loop one thread is done before three kernels have begun
constexpr double sum_bits = 60;   // of an integer sum, with a bit for the logarithm's rounding

Scalar below(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::less, a, b); }
Scalar same(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::equal, a, b); }
Scalar real(double value) { return scalar::constant(DType::float64, value); }
Scalar as_real(const Scalar& value) { return scalar::cast(DType::float64, value); }

// An ordered loop over updates that reads nothing of what it stores.
bool is_long_scatter(const LoopNest& nest) {
  if (!nest.accumulators.empty() || nest.stores.size() != 1) return false;
  Expr updates = 1;
  for (const Axis& axis : nest.axes) {
    if (axis.kind == AxisKind::reduce) return false;
    if (axis.kind == AxisKind::ordered) updates *= axis.extent;
  }
  if (updates.constant().value_or(shortest) < shortest) return false;
  const Store& store = nest.stores.front();
  return !loads_from(store.buffer, store.value) && !loads_from(store.buffer, store.condition) &&
         std::ranges::none_of(nest.lets, [&](const Let& let) { return loads_from(store.buffer, let.value); });
}

class Splitter {
 public:
  Splitter(Program& program, const Step& step, const LoopNest& nest, std::vector<Step>& steps)
      : program_(program), step_(step), nest_(nest), steps_(steps) {
    for (const Axis& axis : nest.axes) {
      if (axis.kind != AxisKind::ordered) continue;
      number_ = number_ * axis.extent + Expr(axis.symbol);
      updates_ *= axis.extent;
    }
    for (const Expr& extent : program.buffer(store().buffer).shape) {
      elements_.push_back({Symbol::axis("d" + std::to_string(elements_.size()), extent), extent, AxisKind::parallel});
      element_.emplace_back(elements_.back().symbol);
    }
  }

  void split() {
    const DType dtype = element_dtype();
    if (store().kind == StoreKind::assign)
      keep_the_last();
    else if (store().kind == StoreKind::add && is_floating(dtype) && dtype != DType::float64)
      sum_integers();
    else if (!is_floating(dtype) && dtype != DType::boolean && !is_order_free(store().kind, dtype))
      widen(DType::int32);
    else if (is_floating(dtype) && is_computed_wider(dtype) && is_order_free(store().kind, DType::float32))
      widen(DType::float32);
    else
      steps_.push_back(step_);
  }

 private:
  const Store& store() const { return nest_.stores.front(); }
  DType element_dtype() const { return program_.buffer(store().buffer).dtype; }
  Scalar old_element() const { return scalar::load(element_dtype(), store().buffer, element_); }
  Scalar value_as(DType dtype) const { return scalar::cast(dtype, store().value); }

  // A buffer with an element for each of those that the updates meet in.
  BufferId add_buffer(const char* suffix, DType dtype) {
    Buffer buffer;
    buffer.name = nest_.name + suffix;
    buffer.dtype = dtype;
    for (const Axis& axis : elements_) buffer.shape.push_back(axis.extent);
    buffer.layout = Layout::row_major(buffer.shape.size());
    return program_.add(std::move(buffer));
  }

  void emit(LoopNest nest) { steps_.push_back({std::move(nest), step_.origins, step_.condition}); }
  void emit_for_elements(const char* suffix, std::vector<Store> stores) {
    emit({nest_.name + suffix, elements_, {}, {}, std::move(stores)});
  }
  void emit_for_updates(const char* suffix, std::vector<Store> stores) {
    emit({nest_.name + suffix, nest_.axes, nest_.lets, {}, std::move(stores)});
  }
  Store to_element(BufferId buffer, const Scalar& value, const Scalar& condition = {}) const {
    return {buffer, element_, value, StoreKind::assign, condition};
  }
  Store of_update(BufferId buffer, const Scalar& value, StoreKind kind) const {
    return {buffer, store().indices, value, kind, store().condition};
  }
  Scalar at_update(BufferId buffer) const {
    return scalar::load(program_.buffer(buffer).dtype, buffer, store().indices);
  }

  void keep_the_last() {
    const bool is_short = updates_.constant().value_or(INT64_MAX) <= INT32_MAX;
    const DType dtype = is_short ? DType::int32 : DType::int64;
    const BufferId last = add_buffer("_last", dtype);
    const Scalar number = scalar::cast(dtype, scalar::index(number_));
    emit_for_elements("_none", {to_element(last, scalar::integer_constant(dtype, -1))});
    emit_for_updates("_last", {of_update(last, number, StoreKind::maximum)});
    LoopNest chosen = nest_;
    for (Axis& axis : chosen.axes) axis.kind = AxisKind::parallel;
    // An update that the condition leaves out has no element.
    const Scalar is_last = same(at_update(last), number);
    Scalar& condition = chosen.stores.front().condition;
    condition = condition ? scalar::select(condition, is_last, scalar::integer_constant(DType::boolean, 0)) : is_last;
    emit(std::move(chosen));
  }

  void widen(DType dtype) {
    const BufferId wide = add_buffer("_wide", dtype);
    emit_for_elements("_begin", {to_element(wide, scalar::cast(dtype, old_element()))});
    emit_for_updates("", {of_update(wide, value_as(dtype), store().kind)});
    emit_for_elements("_end",
                      {to_element(store().buffer, scalar::cast(element_dtype(), scalar::load(dtype, wide, element_)))});
  }

  void sum_integers() {
    const BufferId least = add_buffer("_least", DType::float32), most = add_buffer("_most", DType::float32),
                   sum = add_buffer("_sum", DType::int64), scale = add_buffer("_scale", DType::float64);
    const Scalar zero = scalar::constant(DType::float32, 0);
    auto element = [&](BufferId buffer) { return scalar::load(program_.buffer(buffer).dtype, buffer, element_); };
    emit_for_elements("_begin", {to_element(least, zero), to_element(most, zero),
                                 to_element(sum, scalar::integer_constant(DType::int64, 0))});
    emit_for_updates("_range", {of_update(least, value_as(DType::float32), StoreKind::minimum),
                                of_update(most, value_as(DType::float32), StoreKind::maximum)});
    // The power of two by which as many updates as there are stay below 2 ^ sum_bits; 0 if none has a size to speak of,
    // or if one is infinite or NaN.
    const Scalar largest = as_real(scalar::binary(ScalarOp::maximum, element(most), -element(least)));
    const Scalar product = largest * as_real(scalar::index(updates_));
    const Scalar bits = scalar::unary(
        ScalarOp::floor, real(sum_bits) - scalar::unary(ScalarOp::logarithm, product) * real(1 / std::numbers::ln2));
    const Scalar is_scaled = scalar::binary(ScalarOp::logical_and, below(real(0), largest),
                                            below(largest, real(std::numeric_limits<double>::infinity())));
    emit_for_elements(
        "_scale",
        {to_element(scale, scalar::select(is_scaled, scalar::binary(ScalarOp::power, real(2), bits), real(0)))});
    const Scalar scaled = scalar::unary(ScalarOp::round_even, as_real(value_as(DType::float32)) * at_update(scale));
    emit_for_updates("_sum", {of_update(sum, scalar::cast(DType::int64, scaled), StoreKind::add)});
    const Scalar finite = scalar::cast(DType::float32, as_real(element(sum)) / element(scale));
    const Scalar added = scalar::select(below(real(0), element(scale)), finite, element(least) + element(most));
    const Scalar is_met =
        scalar::unary(ScalarOp::logical_not,
                      scalar::binary(ScalarOp::logical_and, same(element(least), zero), same(element(most), zero)));
    emit_for_elements(
        "", {to_element(store().buffer,
                        scalar::cast(element_dtype(), scalar::cast(DType::float32, old_element()) + added), is_met)});
  }

  Program& program_;
  const Step& step_;
  const LoopNest& nest_;
  std::vector<Step>& steps_;
  Expr number_ = 0, updates_ = 1;  // of an update, and how many there are
  std::vector<Axis> elements_;
  std::vector<Expr> element_;
};

}  // namespace

void split_scatters(Program& program) {
  std::vector<Step> steps, before = std::move(program.steps);
  program.steps.clear();
  for (Step& step : before) {
    const auto* nest = std::get_if<LoopNest>(&step.work);
    if (nest != nullptr && is_long_scatter(*nest))
      Splitter(program, step, *nest, steps).split();
    else
      steps.push_back(std::move(step));
  }
  program.steps = std::move(steps);
}

}  // namespace onnxc
