// Gradient of ai.onnx.preview.training: the derivative of the sum of a tensor by others, as nodes of ai.onnx (reverse
// accumulation). The nodes between may be differentiated if their operator has a row below.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <set>
#include <unordered_map>

#include "support/count_text.h"

#include "ops/families.h"

namespace onnxc {
namespace {

// A node between, and the derivative by its output.
struct Backward {
  ExpandContext& c;
  const Node& node;
  Value* derivative;

  Value* in(size_t i) const { return node.inputs[i]; }
  Value* out() const { return node.outputs[0]; }
  Value* add(std::string_view type, std::vector<Value*> inputs) const { return c.add(type, std::move(inputs)); }
  Value* times(Value* factor) const { return add("Mul", {derivative, factor}); }
  Value* number(double value) const { return c.number(out()->dtype, value); }
  // The last two axes of a matrix exchanged.
  Value* transposed(Value* matrix) const {
    std::vector<int64_t> order(matrix->shape->size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order.end()[-1], order.end()[-2]);
    return c.add("Transpose", {matrix}, {{"perm", order}});
  }
};

// The derivative by input i; of the output's shape if the operator broadcasts.
using Rule = Value* (*)(const Backward& b, size_t i);

Value* by_factor(const Backward& b, size_t i) { return b.times(b.in(1 - i)); }

Value* by_term(const Backward& b, size_t) { return b.derivative; }

Value* by_difference(const Backward& b, size_t i) { return i == 0 ? b.derivative : b.add("Neg", {b.derivative}); }

Value* by_quotient(const Backward& b, size_t i) {
  Value* by_dividend = b.add("Div", {b.derivative, b.in(1)});
  return i == 0 ? by_dividend : b.add("Neg", {b.add("Mul", {by_dividend, b.out()})});
}

Value* by_power(const Backward& b, size_t i) {
  if (i == 1) return b.times(b.add("Mul", {b.out(), b.add("Log", {b.in(0)})}));
  Value* exponent = b.c.add("Cast", {b.in(1)}, {{"to", static_cast<int64_t>(b.out()->dtype)}});
  return b.times(b.add("Mul", {exponent, b.add("Pow", {b.in(0), b.add("Sub", {exponent, b.number(1)})})}));
}

Value* by_matrix(const Backward& b, size_t i) {
  for (size_t k = 0; k < 2; ++k)
    b.c.check(b.in(k)->shape->size() >= 2, "the derivative of a MatMul of a vector is not supported ({})",
              b.node.describe());
  return i == 0 ? b.add("MatMul", {b.derivative, b.transposed(b.in(1))})
                : b.add("MatMul", {b.transposed(b.in(0)), b.derivative});
}

struct Row {
  std::string_view type;
  Rule rule;
  bool broadcasts = false;
};

constexpr Row rows_of_rules[] = {
    {"Identity", by_term},
    {"Add", by_term, true},
    {"Sub", by_difference, true},
    {"Mul", by_factor, true},
    {"Div", by_quotient, true},
    {"Pow", by_power, true},
    {"MatMul", by_matrix, true},
    {"Neg", [](const Backward& b, size_t) { return b.add("Neg", {b.derivative}); }},
    {"Exp", [](const Backward& b, size_t) { return b.times(b.out()); }},
    {"Log", [](const Backward& b, size_t) { return b.add("Div", {b.derivative, b.in(0)}); }},
    {"Sqrt", [](const Backward& b, size_t) { return b.add("Div", {b.derivative, b.add("Add", {b.out(), b.out()})}); }},
    {"Sin", [](const Backward& b, size_t) { return b.times(b.add("Cos", {b.in(0)})); }},
    {"Cos", [](const Backward& b, size_t) { return b.times(b.add("Neg", {b.add("Sin", {b.in(0)})})); }},
    {"Tanh",
     [](const Backward& b, size_t) { return b.times(b.add("Sub", {b.number(1), b.add("Mul", {b.out(), b.out()})})); }},
    {"Sigmoid",
     [](const Backward& b, size_t) { return b.times(b.add("Mul", {b.out(), b.add("Sub", {b.number(1), b.out()})})); }},
    {"Relu",  // 0 at 0, as PyTorch has it
     [](const Backward& b, size_t) {
       return b.add("Where", {b.add("Greater", {b.in(0), b.number(0)}), b.derivative, b.number(0)});
     }},
    {"Transpose",
     [](const Backward& b, size_t) {
       const size_t rank = b.in(0)->shape->size();
       std::vector<int64_t> back(rank), order = NodeReader(b.node).integers("perm");
       for (size_t axis = 0; axis < rank; ++axis)
         back[order.empty() ? rank - 1 - axis : static_cast<size_t>(order[axis])] = static_cast<int64_t>(axis);
       return b.c.add("Transpose", {b.derivative}, {{"perm", back}});
     }},
    {"Reshape",
     [](const Backward& b, size_t) {
       return b.c.add("Reshape", {b.derivative, b.add("Shape", {b.in(0)})}, {{"allowzero", int64_t{1}}});
     }},
};

std::string differentiable() {
  std::vector<std::string_view> types;
  for (const Row& row : rows_of_rules) types.push_back(row.type);
  return fmt::format("{}", fmt::join(types, ", "));
}

const Row* find_rule(const Node& node) {
  const auto* found = std::ranges::find_if(rows_of_rules, [&](const Row& row) { return is_operator(&node, row.type); });
  return found == std::ranges::end(rows_of_rules) ? nullptr : found;
}

// Summed over the axes that the operator has spread input i over.
Value* summed_to_input(const Backward& b, Value* derivative, size_t i) {
  // A product of matrices spreads the axes before the last two.
  const size_t own = is_operator(&b.node, "MatMul") ? 2 : 0;
  const Shape &to = *b.in(i)->shape, &from = *b.out()->shape;
  const size_t front = from.size() - to.size();
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis + own < from.size(); ++axis) {
    const bool is_spread = axis < front || (to[axis - front].is_constant(1) && !from[axis].is_constant(1));
    if (is_spread) {
      axes.push_back(static_cast<int64_t>(axis));
      continue;
    }
    b.c.check(proven_equal(to[axis - front], from[axis]),
              "the derivative of {} needs to know whether dim {} of input {} is spread: it is {}, and {} of the result",
              b.node.describe(), axis - front, i, to[axis - front].to_string(), from[axis].to_string());
  }
  if (axes.empty()) return derivative;
  Value* sum = b.c.add("ReduceSum", {derivative, b.c.integers(axes)});
  return front == 0 ? sum : b.add("Reshape", {sum, b.add("Shape", {b.in(i)})});
}

// A tensor like another one, of one number.
Value* filled(ExpandContext& c, Value* like, double number) {
  return c.add("Expand", {c.number(like->dtype, number), c.add("Shape", {like})});
}

// The nodes computed from the first `count` inputs before this node, in order; the other inputs count as independent.
std::vector<const Node*> nodes_between(const ExpandContext& c, size_t count) {
  const std::vector<Value*>& given = c.node().inputs;
  std::set<const Value*> dependent(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(count));
  const std::set<const Value*> independent(given.begin(), given.end() - 1);
  std::vector<const Node*> between;
  for (const std::unique_ptr<Node>& node : c.graph().nodes()) {
    if (node.get() == &c.node()) break;
    if (std::ranges::none_of(node->inputs, [&](const Value* input) { return dependent.contains(input); })) continue;
    if (std::ranges::any_of(node->outputs, [&](const Value* output) { return independent.contains(output); })) continue;
    between.push_back(node.get());
    for (const Value* output : node->outputs)
      if (output != nullptr && is_floating(output->dtype)) dependent.insert(output);
  }
  return between;
}

// ONNX Gradient 1. The importer puts the tensors that attributes xs, zs and y name after the inputs, which are values
// of xs and zs.
void expand_gradient(ExpandContext& c) {
  const std::vector<std::string> xs = c.texts("xs"), zs = c.texts("zs");
  const size_t named = xs.size() + zs.size(), given = c.input_count() - named - 1;
  c.check(given == named && !xs.empty(), "attributes 'xs' and 'zs' name {} and {}, and it has {}", xs.size(),
          counted(zs.size(), "tensor"), counted(given, "input"));
  for (size_t i = 0; i < named; ++i) {
    c.check(c.in(i) == c.in(named + i),
            "input {} must be the tensor '{}' of its attributes, found '{}'; the derivative at other values is not "
            "supported",
            i, i < xs.size() ? xs[i] : zs[i - xs.size()], c.input(i).name);
    c.check(i >= xs.size() || is_floating(c.dtype(i)), "a floating-point type is expected as input {}, found {}", i,
            info(c.dtype(i)).name);
  }
  Value* y = c.in(2 * named);
  std::unordered_map<const Value*, Value*> derivatives{{y, filled(c, y, 1)}};
  const std::vector<const Node*> between = nodes_between(c, xs.size());
  const std::set<const Node*> is_between(between.begin(), between.end());
  const auto depends = [&](Value* value) {
    const auto end = c.node().inputs.begin() + static_cast<std::ptrdiff_t>(xs.size());
    return value != nullptr && is_floating(value->dtype) &&
           (std::find(c.node().inputs.begin(), end, value) != end ||
            (value->producer != nullptr && is_between.contains(value->producer)));
  };
  for (const Node* node : between | std::views::reverse) {
    if (std::ranges::none_of(node->outputs, [&](const Value* output) { return derivatives.contains(output); }))
      continue;
    const Row* row = find_rule(*node);
    c.check(row != nullptr, "it has no derivative of {}; it has those of {}", node->describe(), differentiable());
    const Backward b{c, *node, derivatives.at(node->outputs[0])};
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      if (!depends(node->inputs[i])) continue;
      Value* part = row->rule(b, i);
      if (row->broadcasts) part = summed_to_input(b, part, i);
      Value*& sum = derivatives[node->inputs[i]];
      sum = sum == nullptr ? part : c.add("Add", {sum, part});
    }
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    const auto found = derivatives.find(c.node().inputs[i]);
    c.give(i, found == derivatives.end() ? filled(c, c.in(i), 0) : found->second);
  }
}

constexpr OpRow rows[] = {
    {.domain = "ai.onnx.preview.training", .name = "Gradient", .expand = expand_gradient},
};

}  // namespace

std::span<const OpRow> gradient_ops() { return rows; }

}  // namespace onnxc
