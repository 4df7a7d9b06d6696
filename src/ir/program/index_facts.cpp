#include "ir/program/index_facts.h"

#include <algorithm>
#include <functional>

namespace onnxc {
namespace {

// An int64 scalar as an expression, if it is one.
std::optional<Expr> as_expr(const Scalar& scalar) {
  if (scalar->op == ScalarOp::index) return scalar->expr;
  if (scalar->op == ScalarOp::constant && scalar->dtype == DType::int64) return Expr(scalar->integer);
  return std::nullopt;
}

bool is_truth(const Scalar& scalar, bool value) {
  return scalar->op == ScalarOp::constant && scalar->dtype == DType::boolean && (scalar->integer != 0) == value;
}

// Expressions that an int64 scalar is at least, and at most.
struct Range {
  std::vector<Expr> least, most;
};

std::vector<Expr> pairs(const std::vector<Expr>& a, const std::vector<Expr>& b,
                        const std::function<Expr(const Expr&, const Expr&)>& join) {
  constexpr size_t most = 4;
  std::vector<Expr> result;
  for (const Expr& left : a)
    for (const Expr& right : b)
      if (result.size() < most) result.push_back(join(left, right));
  return result;
}

std::vector<Expr> joined(std::vector<Expr> a, const std::vector<Expr>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Range range_of(const Program& program, const Scalar& scalar) {
  if (std::optional<Expr> expr = as_expr(scalar)) return {{*expr}, {*expr}};
  const auto of = [&](size_t i) { return range_of(program, scalar->operands[i]); };
  const auto least = [](const Expr& a, const Expr& b) { return min(a, b); };
  const auto most = [](const Expr& a, const Expr& b) { return max(a, b); };
  const auto sum = [](const Expr& a, const Expr& b) { return a + b; };
  const auto difference = [](const Expr& a, const Expr& b) { return a - b; };
  switch (scalar->op) {
    case ScalarOp::minimum: {
      const Range a = of(0), b = of(1);
      return {pairs(a.least, b.least, least), joined(a.most, b.most)};
    }
    case ScalarOp::maximum: {
      const Range a = of(0), b = of(1);
      return {joined(a.least, b.least), pairs(a.most, b.most, most)};
    }
    case ScalarOp::select: {
      const Range a = of(1), b = of(2);
      return {pairs(a.least, b.least, least), pairs(a.most, b.most, most)};
    }
    case ScalarOp::add: {
      const Range a = of(0), b = of(1);
      return {pairs(a.least, b.least, sum), pairs(a.most, b.most, sum)};
    }
    case ScalarOp::subtract: {
      const Range a = of(0), b = of(1);
      return {pairs(a.least, b.most, difference), pairs(a.most, b.least, difference)};
    }
    case ScalarOp::cast: {
      const DType from = scalar->operands[0].dtype();
      if (from == DType::boolean) return {{0}, {1}};
      if (!is_integer(from)) return {};
      Range range = of(0);
      const DTypeInfo& of_type = info(from);
      if (of_type.bits < 64 && range.least.empty())
        range.least = {of_type.kind == DTypeKind::unsigned_integer ? Expr(0)
                                                                   : Expr(-(int64_t{1} << (of_type.bits - 1)))};
      return range;
    }
    case ScalarOp::load: {
      const Buffer& buffer = program.buffer(scalar->buffer);
      if (!buffer.constant || buffer.is_packed || !is_integer(buffer.dtype) || buffer.constant->size() == 0) return {};
      const std::vector<int64_t> values = buffer.constant->as_int64();
      const auto [lowest, highest] = std::ranges::minmax(values);
      return {{lowest}, {highest}};
    }
    default:
      return {};
  }
}

}  // namespace

bool compares_indices(const Scalar& condition) {
  bool found = false;
  visit(condition, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::equal || node.op == ScalarOp::less || node.op == ScalarOp::less_or_equal)
      found = found || (as_expr(node.operands[0]) && as_expr(node.operands[1]));
  });
  return found;
}

void assume(Facts& facts, const Scalar& condition, bool holds) {
  const ScalarNode& node = *condition;
  switch (node.op) {
    case ScalarOp::constant:  // a side that the other value chooses never runs
      if (is_truth(condition, !holds)) facts.at_least(0, 1);
      return;
    case ScalarOp::logical_not:
      return assume(facts, node.operands[0], !holds);
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
      if (holds != (node.op == ScalarOp::logical_and)) return;
      assume(facts, node.operands[0], holds);
      return assume(facts, node.operands[1], holds);
    case ScalarOp::select:  // c ? x : false, and c ? true : x
      if (is_truth(node.operands[holds ? 2 : 1], !holds)) {
        assume(facts, node.operands[0], holds);
        assume(facts, node.operands[holds ? 1 : 2], holds);
      }
      return;
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_or_equal:
      break;
    default:
      return;
  }
  const std::optional<Expr> a = as_expr(node.operands[0]), b = as_expr(node.operands[1]);
  if (!a || !b) return;
  if (node.op == ScalarOp::equal) {
    if (holds) {
      facts.equal(*a, *b);
    } else {
      if (facts.prove_at_least(*a, *b)) facts.at_least(*a, *b + 1);
      if (facts.prove_at_least(*b, *a)) facts.at_least(*b, *a + 1);
    }
  } else if (holds) {
    facts.at_least(*b, *a + (node.op == ScalarOp::less ? 1 : 0));
  } else {
    facts.at_least(*a, *b + (node.op == ScalarOp::less ? 0 : 1));
  }
}

void assume_let(Facts& facts, const Program& program, const Let& let) {
  const Range range = range_of(program, let.value);
  for (const Expr& least : range.least) facts.at_least(let.symbol, least);
  for (const Expr& most : range.most) facts.at_least(most, let.symbol);
}

}  // namespace onnxc
