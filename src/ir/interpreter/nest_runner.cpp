#include "ir/interpreter/nest_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "ir/interpreter/scalar_program.h"
#include "ir/loops/operations.h"
#include "ir/loops/text.h"

namespace onnxc {
namespace {

ScalarValue identity(ReduceKind kind, DType dtype) {
  auto constant = [&](double value) {  // infinities saturate to the extremes of an integer dtype
    return cast_function(dtype, DType::float64)({.number = value});
  };
  switch (kind) {
    case ReduceKind::product:
    case ReduceKind::all:
      return constant(1);
    case ReduceKind::minimum:
      return constant(std::numeric_limits<double>::infinity());
    case ReduceKind::maximum:
      return constant(-std::numeric_limits<double>::infinity());
    default:
      return constant(0);
  }
}

class AccumulatorRunner {
 public:
  AccumulatorRunner(const Accumulator& accumulator, std::string_view nest, Memory& memory, const Slots& slots)
      : element_(accumulator.element, nest, memory, slots),
        is_argument_(is_argument_reduction(accumulator.kind)),
        identity_(identity(accumulator.kind, accumulator.dtype)) {
    if (!is_argument_) {
      fold_ = binary_function(folding_op(accumulator.kind).value(), accumulator.dtype);
      return;
    }
    position_ = IndexProgram(accumulator.position, slots, memory.bindings());
    const DType dtype = accumulator.element.dtype();
    less_ = binary_function(ScalarOp::less, dtype);
    is_floating_ = is_floating(dtype);
    takes_last_ =
        accumulator.kind == ReduceKind::last_argument_minimum || accumulator.kind == ReduceKind::last_argument_maximum;
    is_minimum_ =
        accumulator.kind == ReduceKind::argument_minimum || accumulator.kind == ReduceKind::last_argument_minimum;
  }

  void start(ScalarValue& value) {
    value = identity_;
    has_extreme_ = false;
  }

  void fold(ScalarValue& value, const int64_t* slots) {
    const ScalarValue element = element_.evaluate(slots, nullptr);
    if (!is_argument_) {
      value = fold_(value, element);
    } else if (!has_extreme_ || replaces(element)) {
      has_extreme_ = true;
      extreme_ = element;
      value.integer = position_.evaluate(slots);
    }
  }

 private:
  // Whether the extreme moves to this element, which comes after it. A NaN is the extreme of all.
  bool replaces(ScalarValue element) const {
    if (is_floating_ && std::isnan(extreme_.number)) return takes_last_ && std::isnan(element.number);
    if (is_floating_ && std::isnan(element.number)) return true;
    auto exceeds = [&](ScalarValue a, ScalarValue b) { return (is_minimum_ ? less_(a, b) : less_(b, a)).integer != 0; };
    return takes_last_ ? !exceeds(extreme_, element) : exceeds(element, extreme_);
  }

  ScalarProgram element_;
  bool is_argument_;
  ScalarValue identity_;
  BinaryFunction fold_ = nullptr;
  // For the argument kinds.
  IndexProgram position_;
  BinaryFunction less_ = nullptr;
  bool is_floating_ = false, takes_last_ = false, is_minimum_ = false;
  bool has_extreme_ = false;
  ScalarValue extreme_ = {};
};

class StoreRunner {
 public:
  StoreRunner(const Store& store, std::string_view nest, Memory& memory, const Slots& slots)
      : value_(store.value, nest, memory, slots),
        access_(memory.access(nest, store.buffer, store.indices, slots)),
        load_(load_function(store.value.dtype())),
        store_(store_function(store.value.dtype())) {
    if (store.condition) condition_.emplace(store.condition, nest, memory, slots);
    if (store.kind != StoreKind::assign) combine_ = binary_function(combining_op(store.kind), store.value.dtype());
  }

  void run(const int64_t* slots, const ScalarValue* accumulators) {
    if (condition_ && condition_->evaluate(slots, accumulators).integer == 0) return;
    ScalarValue value = value_.evaluate(slots, accumulators);
    std::byte* address = access_.address(slots);
    if (combine_ != nullptr) value = combine_(load_(address), value);
    store_(address, value);
  }

 private:
  ScalarProgram value_;
  std::optional<ScalarProgram> condition_;
  Access access_;
  LoadFunction load_;
  StoreFunction store_;
  BinaryFunction combine_ = nullptr;
};

struct LetRunner {
  ScalarProgram value;
  size_t slot;
};

class NestRunner {
 public:
  NestRunner(const LoopNest& nest, Memory& memory) {
    // Ordered axes run innermost of the outer ones.
    add_axes(nest, AxisKind::parallel, memory, outer_dims_);
    add_axes(nest, AxisKind::ordered, memory, outer_dims_);
    add_axes(nest, AxisKind::reduce, memory, reduce_dims_);
    std::set<Symbol> vary_in_reduction;
    for (const Axis& axis : nest.axes)
      if (axis.kind == AxisKind::reduce) vary_in_reduction.insert(axis.symbol);
    for (const Let& let : nest.lets) {
      ScalarProgram value(let.value, nest.name, memory, slots_of_);
      const bool varies = uses_any(let.value, vary_in_reduction);
      if (varies) vary_in_reduction.insert(let.symbol);
      (varies ? inner_lets_ : outer_lets_).push_back({std::move(value), add_slot(let.symbol)});
    }
    for (const Accumulator& accumulator : nest.accumulators)
      accumulators_.emplace_back(accumulator, nest.name, memory, slots_of_);
    for (const Store& store : nest.stores) stores_.emplace_back(store, nest.name, memory, slots_of_);
    values_.resize(nest.accumulators.size());
  }

  void run() {
    for_each_index(outer_dims_, [&](const int64_t* outer) {
      std::copy_n(outer, outer_dims_.size(), slots_.begin());
      bind(outer_lets_);
      reduce();
      for (StoreRunner& store : stores_) store.run(slots_.data(), values_.data());
    });
  }

 private:
  size_t add_slot(const Symbol& symbol, const Bounds& bounds = {}) {
    slots_.push_back(0);
    return static_cast<size_t>(slots_of_.add(symbol, bounds));
  }

  void add_axes(const LoopNest& nest, AxisKind kind, const Memory& memory, std::vector<int64_t>& dims) {
    for (const Axis& axis : nest.axes) {
      if (axis.kind != kind) continue;
      dims.push_back(memory.dims({axis.extent})[0]);
      add_slot(axis.symbol, {0, dims.back() - 1});
    }
  }

  static bool uses_any(const Scalar& scalar, const std::set<Symbol>& symbols) {
    bool found = false;
    auto look = [&](const Expr& expr) {
      for (const Symbol& symbol : expr.symbols()) found |= symbols.contains(symbol);
    };
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::index) look(node.expr);
      for (const Expr& index : node.indices) look(index);
    });
    return found;
  }

  void bind(std::vector<LetRunner>& lets) {
    for (LetRunner& let : lets) slots_[let.slot] = let.value.evaluate(slots_.data(), nullptr).integer;
  }

  void reduce() {
    if (accumulators_.empty()) return;
    for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i].start(values_[i]);
    for_each_index(reduce_dims_, [&](const int64_t* inner) {
      std::copy_n(inner, reduce_dims_.size(), slots_.begin() + static_cast<ptrdiff_t>(outer_dims_.size()));
      bind(inner_lets_);
      for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i].fold(values_[i], slots_.data());
    });
  }

  Slots slots_of_;
  std::vector<int64_t> slots_;  // the outer axes, the reduce axes, the lets
  std::vector<int64_t> outer_dims_, reduce_dims_;
  std::vector<LetRunner> outer_lets_, inner_lets_;  // those that are the same through a reduction, and the others
  std::vector<AccumulatorRunner> accumulators_;
  std::vector<StoreRunner> stores_;
  std::vector<ScalarValue> values_;  // of the accumulators
};

}  // namespace

void run_nest(const LoopNest& nest, Memory& memory) { NestRunner(nest, memory).run(); }

}  // namespace onnxc
