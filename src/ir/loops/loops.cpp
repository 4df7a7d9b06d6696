#include "ir/loops/loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "ir/loops/scalar_arithmetic.h"
#include "ir/loops/scalar_ops.h"
#include "support/diagnostics.h"

namespace onnxc {

DType Scalar::dtype() const { return node_->dtype; }

namespace {

Scalar make(ScalarNode node) { return Scalar(std::make_shared<const ScalarNode>(std::move(node))); }

Scalar boolean(bool value) { return scalar::integer_constant(DType::boolean, value ? 1 : 0); }

bool is_constant(const Scalar& a) { return a->op == ScalarOp::constant; }

bool is_number(const Scalar& a, int64_t value) {
  if (!is_constant(a)) return false;
  if (!is_floating(a.dtype())) return a->integer == value;
  return a->number == static_cast<double>(value) && !std::signbit(a->number);
}

ScalarValue value_of(const Scalar& constant) {
  ScalarValue value;
  if (is_floating(constant.dtype()))
    value.number = constant->number;
  else
    value.integer = constant->integer;
  return value;
}

Scalar constant_of(DType dtype, ScalarValue value) {
  ScalarNode node{.op = ScalarOp::constant, .dtype = dtype};
  if (is_floating(dtype))
    node.number = value.number;
  else
    node.integer = value.integer;
  return make(std::move(node));
}

// An int64 that is known as an expression: an index, or a constant.
std::optional<Expr> as_index(const Scalar& a) {
  if (a->op == ScalarOp::index) return a->expr;
  if (is_constant(a) && a.dtype() == DType::int64) return Expr(a->integer);
  return std::nullopt;
}

// Operations whose result on constants is the same on every target: those that IEEE 754 or loops.h define to the bit.
bool folds_exactly(ScalarOp op, DType operand) {
  if (!is_floating(operand)) return true;
  const Exactness exactness = row(op).exactness;
  return exactness == Exactness::always || (exactness == Exactness::unrounded && !is_computed_wider(operand));
}

std::optional<bool> compare(ScalarOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case ScalarOp::equal:
      if (proven_equal(a, b)) return true;
      if (proven_different(a, b)) return false;
      return std::nullopt;
    case ScalarOp::less:
      if (proven_less(a, b)) return true;
      if (proven_at_least(a, b)) return false;
      return std::nullopt;
    case ScalarOp::less_or_equal:
      if (proven_at_least(b, a)) return true;
      if (proven_less(b, a)) return false;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Folds a logical operation that has one constant operand.
Scalar fold_logical(ScalarOp op, bool known, const Scalar& other) {
  switch (op) {
    case ScalarOp::logical_and:
      return known ? other : boolean(false);
    case ScalarOp::logical_or:
      return known ? boolean(true) : other;
    default:
      return known ? scalar::unary(ScalarOp::logical_not, other) : other;
  }
}

bool is_logical(ScalarOp op) {
  return op == ScalarOp::logical_and || op == ScalarOp::logical_or || op == ScalarOp::logical_xor;
}

// Neutral operands. x + 0 stays for floating dtypes, since it turns -0 into 0; x * 0 too, which may be NaN.
Scalar fold_neutral(ScalarOp op, const Scalar& a, const Scalar& b) {
  const bool integer = is_integer(a.dtype());
  switch (op) {
    case ScalarOp::add:
      if (integer && is_number(b, 0)) return a;
      if (integer && is_number(a, 0)) return b;
      return {};
    case ScalarOp::subtract:
      return is_number(b, 0) ? a : Scalar();
    case ScalarOp::multiply:
      if (is_number(b, 1)) return a;
      if (is_number(a, 1)) return b;
      if (integer && (is_number(a, 0) || is_number(b, 0))) return scalar::integer_constant(a.dtype(), 0);
      return {};
    case ScalarOp::divide:
      return is_number(b, 1) ? a : Scalar();
    default:
      return {};
  }
}

// True when every value of `inner` is a value of `outer`, so that going there and back changes nothing.
bool holds_every_value(DType outer, DType inner) {
  const DTypeInfo &wide = info(outer), &narrow = info(inner);
  if (outer == inner) return true;
  if (outer == DType::float8e8m0) return false;  // it has no zero and no sign
  if (inner == DType::float8e8m0) return wide.kind == DTypeKind::floating && outer != DType::float16 && wide.bits > 8;
  if (narrow.kind == DTypeKind::boolean) return wide.kind != DTypeKind::none;
  // They have no -0, and no more numbers than other types of 8 bits.
  if (outer == DType::float8e4m3fnuz || outer == DType::float8e5m2fnuz) return false;
  if (narrow.kind == DTypeKind::floating) return wide.kind == DTypeKind::floating && wide.bits > narrow.bits;
  if (wide.kind == DTypeKind::floating)
    return narrow.bits <= 32 && (outer == DType::float64 || (outer == DType::float32 && narrow.bits <= 16));
  if (wide.bits <= narrow.bits) return false;
  return narrow.kind == DTypeKind::unsigned_integer || wide.kind == DTypeKind::signed_integer;
}

// Types that are computed in a wider one: whether the value is rounded to its dtype, as loads, constants and casts are.
bool is_rounded(const Scalar& a) {
  if (!is_computed_wider(a.dtype())) return true;
  return a->op == ScalarOp::load || a->op == ScalarOp::constant || a->op == ScalarOp::cast ||
         a->op == ScalarOp::reinterpret;
}

}  // namespace

namespace scalar {

Scalar constant(DType dtype, double value) {
  ScalarValue number;
  number.number = value;
  return constant_of(dtype, cast_function(dtype, DType::float64)(number));
}

Scalar integer_constant(DType dtype, int64_t value) {
  ScalarValue integer;
  integer.integer = value;
  return constant_of(dtype, cast_function(dtype, DType::int64)(integer));
}

Scalar index(const Expr& expr) {
  if (std::optional<int64_t> value = expr.constant()) return integer_constant(DType::int64, *value);
  return make({.op = ScalarOp::index, .dtype = DType::int64, .expr = expr});
}

Scalar load(DType dtype, BufferId buffer, std::vector<Expr> indices, bool in_bounds) {
  internal_check(buffer >= 0, "a load from a buffer");
  return make(
      {.op = ScalarOp::load, .dtype = dtype, .buffer = buffer, .indices = std::move(indices), .in_bounds = in_bounds});
}

Scalar accumulator(DType dtype, int slot) {
  internal_check(slot >= 0, "an accumulator's slot");
  return make({.op = ScalarOp::accumulator, .dtype = dtype, .slot = slot});
}

Scalar unary(ScalarOp op, const Scalar& a) {
  internal_check(static_cast<bool>(a), "an operand");
  const DType result = row(op).gives_boolean ? DType::boolean : a.dtype();
  UnaryFunction function = unary_function(op, a.dtype());  // checks the dtype
  if (is_constant(a) && folds_exactly(op, a.dtype())) return constant_of(result, function(value_of(a)));
  if (op == ScalarOp::logical_not && a->op == ScalarOp::logical_not) return a->operands[0];
  return make({.op = op, .dtype = result, .operands = {a}});
}

Scalar binary(ScalarOp op, const Scalar& a, const Scalar& b) {
  internal_check(a && b, "two operands");
  internal_check(a.dtype() == b.dtype(), "operands of one dtype");
  const DType result = row(op).gives_boolean ? DType::boolean : a.dtype();
  BinaryFunction function = binary_function(op, a.dtype());  // checks the dtype
  if (is_constant(a) && is_constant(b) && folds_exactly(op, a.dtype()))
    return constant_of(result, function(value_of(a), value_of(b)));
  if (is_logical(op) && is_constant(a)) return fold_logical(op, a->integer != 0, b);
  if (is_logical(op) && is_constant(b)) return fold_logical(op, b->integer != 0, a);
  if (Scalar folded = fold_neutral(op, a, b)) return folded;
  if (std::optional<Expr> left = as_index(a), right = as_index(b); left && right)
    if (std::optional<bool> known = compare(op, *left, *right)) return boolean(*known);
  return make({.op = op, .dtype = result, .operands = {a, b}});
}

Scalar select(const Scalar& condition, const Scalar& if_true, const Scalar& if_false) {
  internal_check(condition && if_true && if_false, "three operands");
  internal_check(condition.dtype() == DType::boolean, "a boolean condition");
  internal_check(if_true.dtype() == if_false.dtype(), "branches of one dtype");
  if (is_constant(condition)) return condition->integer != 0 ? if_true : if_false;
  if (&*if_true == &*if_false) return if_true;
  // Two Where with opposite conditions: if this condition does not hold, its negation does.
  if (if_false->op == ScalarOp::select && if_false->operands[0]->op == ScalarOp::logical_not &&
      &*if_false->operands[0]->operands[0] == &*condition)
    return select(condition, if_true, if_false->operands[1]);
  return make({.op = ScalarOp::select, .dtype = if_true.dtype(), .operands = {condition, if_true, if_false}});
}

Scalar cast(DType dtype, const Scalar& a) {
  internal_check(static_cast<bool>(a), "an operand");
  UnaryFunction function = cast_function(dtype, a.dtype());  // checks the dtypes
  if (dtype == a.dtype() && is_rounded(a)) return a;
  if (is_constant(a)) return constant_of(dtype, function(value_of(a)));
  if (a->op == ScalarOp::cast) {
    const Scalar& inner = a->operands[0];
    if (dtype == inner.dtype() && is_rounded(inner) && holds_every_value(a.dtype(), dtype)) return inner;
  }
  return make({.op = ScalarOp::cast, .dtype = dtype, .operands = {a}});
}

Scalar reinterpret(DType dtype, const Scalar& a) {
  internal_check(static_cast<bool>(a), "an operand");
  internal_check(info(dtype).bits == info(a.dtype()).bits, "types of one width");
  internal_check(dtype != DType::boolean, "a type whose bits are all values");
  if (!is_floating(dtype) && !is_floating(a.dtype())) return cast(dtype, a);
  // An element of a signed type has the sign also in the bits above its own.
  if (is_sub_byte(dtype) && info(dtype).kind == DTypeKind::signed_integer)
    return cast(dtype, reinterpret(DType::uint4, a));
  if (dtype == a.dtype()) return cast(dtype, a);
  UnaryFunction function = reinterpret_function(dtype, a.dtype());
  if (is_constant(a)) return constant_of(dtype, function(value_of(a)));
  return make({.op = ScalarOp::reinterpret, .dtype = dtype, .operands = {a}});
}

Scalar call(StringFunction function, std::vector<Scalar> operands) {
  const StringFunctionRow& called = row(function);
  internal_check(std::ranges::equal(operands, called.operands, {}, &Scalar::dtype), "operands of the function's types");
  return make(
      {.op = ScalarOp::string_function, .dtype = called.result, .operands = std::move(operands), .function = function});
}

}  // namespace scalar

namespace {

Scalar rebuild(const ScalarNode& node, const std::vector<Scalar>& operands) {
  if (node.op == ScalarOp::cast) return scalar::cast(node.dtype, operands[0]);
  if (node.op == ScalarOp::reinterpret) return scalar::reinterpret(node.dtype, operands[0]);
  if (node.op == ScalarOp::string_function) return scalar::call(node.function, operands);
  switch (operands.size()) {
    case 1:
      return scalar::unary(node.op, operands[0]);
    case 2:
      return scalar::binary(node.op, operands[0], operands[1]);
    default:
      return scalar::select(operands[0], operands[1], operands[2]);
  }
}

// Rebuilds an expression with other leaves; shared nodes stay shared.
class Rewriter {
 public:
  // `leaf` gives what a leaf becomes, or an empty Scalar to keep it.
  explicit Rewriter(std::function<Scalar(const ScalarNode&)> leaf) : leaf_(std::move(leaf)) {}

  Scalar rewrite(const Scalar& scalar) {
    if (auto known = done_.find(&*scalar); known != done_.end()) return known->second;
    Scalar result = rewrite_node(scalar);
    done_.emplace(&*scalar, result);
    return result;
  }

 private:
  Scalar rewrite_node(const Scalar& scalar) {
    if (scalar->operands.empty()) {
      Scalar replacement = leaf_(*scalar);
      internal_check(!replacement || replacement.dtype() == scalar.dtype(), "a replacement has the dtype of the leaf");
      return replacement ? replacement : scalar;
    }
    bool changed = false;
    std::vector<Scalar> operands;
    for (const Scalar& operand : scalar->operands) {
      operands.push_back(rewrite(operand));
      changed |= &*operands.back() != &*operand;
    }
    return changed ? rebuild(*scalar, operands) : scalar;
  }

  std::function<Scalar(const ScalarNode&)> leaf_;
  std::unordered_map<const ScalarNode*, Scalar> done_;
};

// The nodes that a walk has met. Walks are many and mostly short: the standard's set would take memory for each node.
class SeenNodes {
 public:
  // Whether it was not there yet.
  bool insert(const ScalarNode* node) {
    if (2 * count_ >= slots_.size()) grow();
    const ScalarNode*& slot = slot_of(node);
    if (slot == node) return false;
    slot = node;
    ++count_;
    return true;
  }

 private:
  // The slot that holds it, or the free one that would.
  const ScalarNode*& slot_of(const ScalarNode* node) {
    constexpr size_t spread = 0x9E3779B97F4A7C15;
    size_t i = (std::bit_cast<size_t>(node) * spread) >> 32;
    while (slots_[i % slots_.size()] != nullptr && slots_[i % slots_.size()] != node) ++i;
    return slots_[i % slots_.size()];
  }

  void grow() {
    const std::vector<const ScalarNode*> old = std::exchange(slots_, {});
    slots_.resize(2 * old.size());
    for (const ScalarNode* node : old)
      if (node != nullptr) slot_of(node) = node;
  }

  std::vector<const ScalarNode*> slots_ = std::vector<const ScalarNode*>(16);
  size_t count_ = 0;
};

void visit_once(const Scalar& scalar, const std::function<void(const ScalarNode&)>& visit, SeenNodes& seen) {
  if (!seen.insert(&*scalar)) return;
  for (const Scalar& operand : scalar->operands) visit_once(operand, visit, seen);
  visit(*scalar);
}

}  // namespace

Scalar substitute(const Scalar& scalar, const std::map<Symbol, Expr>& replacements) {
  if (!scalar || replacements.empty()) return scalar;
  return Rewriter([&](const ScalarNode& leaf) -> Scalar {
           if (leaf.op == ScalarOp::index) return scalar::index(leaf.expr.substitute(replacements));
           if (leaf.op != ScalarOp::load) return {};
           std::vector<Expr> indices;
           for (const Expr& index : leaf.indices) indices.push_back(index.substitute(replacements));
           return scalar::load(leaf.dtype, leaf.buffer, std::move(indices), leaf.in_bounds);
         })
      .rewrite(scalar);
}

void visit(const Scalar& scalar, const std::function<void(const ScalarNode&)>& visit) {
  if (!scalar) return;
  SeenNodes seen;
  visit_once(scalar, visit, seen);
}

bool calls_string_function(const Scalar& scalar, bool (*is_one)(StringFunction)) {
  bool found = false;
  visit(scalar,
        [&](const ScalarNode& node) { found |= node.op == ScalarOp::string_function && is_one(node.function); });
  return found;
}

bool calls_string_functions(const LoopNest& nest) {
  const auto calls = [](const Scalar& scalar) {
    return calls_string_function(scalar, [](StringFunction) { return true; });
  };
  return std::ranges::any_of(nest.lets, calls, &Let::value) ||
         std::ranges::any_of(nest.accumulators, calls, &Accumulator::element) ||
         std::ranges::any_of(nest.stores,
                             [&](const Store& store) { return calls(store.value) || calls(store.condition); });
}

Scalar replace_loads(const Scalar& scalar, const std::function<Scalar(const ScalarNode& load)>& replace) {
  if (!scalar) return scalar;
  return Rewriter([&](const ScalarNode& leaf) { return leaf.op == ScalarOp::load ? replace(leaf) : Scalar(); })
      .rewrite(scalar);
}

Scalar replace_accumulators(const Scalar& scalar, const std::vector<Scalar>& values) {
  if (!scalar) return scalar;
  return Rewriter([&](const ScalarNode& leaf) {
           return leaf.op == ScalarOp::accumulator ? values.at(static_cast<size_t>(leaf.slot)) : Scalar();
         })
      .rewrite(scalar);
}

}  // namespace onnxc
