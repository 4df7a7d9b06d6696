#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/loops/text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr int prefix_precedence = 12, leaf_precedence = 13;

struct Printed {
  std::string text;
  int precedence;
};

std::string parenthesised(const Printed& printed, int at_least) {
  return printed.precedence < at_least ? fmt::format("({})", printed.text) : printed.text;
}

std::string print_indices(const std::vector<Expr>& indices) {
  std::vector<std::string> texts;
  for (const Expr& index : indices) texts.push_back(index.to_string());
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// The shortest digits that read back as the same number; always with a point or an exponent for float32.
std::string print_number(DType dtype, double number) {
  if (dtype != DType::float32 || !std::isfinite(number)) {
    if (std::isnan(number)) return fmt::format("{}(nan)", info(dtype).name);
    return dtype == DType::float64 ? fmt::format("{}({})", info(dtype).name, number)
                                   : fmt::format("{}({})", info(dtype).name, static_cast<float>(number));
  }
  std::string digits = fmt::format("{}", static_cast<float>(number));
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

std::string print_constant(const ScalarNode& node) {
  if (is_floating(node.dtype)) return print_number(node.dtype, node.number);
  if (node.dtype == DType::boolean) return node.integer != 0 ? "true" : "false";
  if (node.dtype == DType::int64) return fmt::format("{}", node.integer);
  if (node.dtype == DType::uint64) return fmt::format("uint64({})", static_cast<uint64_t>(node.integer));
  return fmt::format("{}({})", info(node.dtype).name, node.integer);
}

// Prints scalars; those that have been given a name, by that name.
class ScalarPrinter {
 public:
  Printed print(const Scalar& scalar) const {
    auto named = names_.find(&*scalar);
    return named == names_.end() ? print_definition(*scalar) : Printed{named->second, leaf_precedence};
  }

  Printed print_definition(const ScalarNode& node) const {
    switch (node.op) {
      case ScalarOp::constant: {
        std::string text = print_constant(node);
        const int precedence = text.starts_with('-') ? prefix_precedence : leaf_precedence;
        return {std::move(text), precedence};
      }
      case ScalarOp::index:
        return {fmt::format("index({})", node.expr.to_string()), leaf_precedence};
      case ScalarOp::load:
        return {fmt::format("b{}{}", node.buffer, print_indices(node.indices)), leaf_precedence};
      case ScalarOp::accumulator:
        return {fmt::format("acc{}", node.slot), leaf_precedence};
      case ScalarOp::cast:
        return {fmt::format("{}({})", info(node.dtype).name, print(node.operands[0]).text), leaf_precedence};
      case ScalarOp::reinterpret:
        return {fmt::format("{}{}({})", reinterpret_prefix, info(node.dtype).name, print(node.operands[0]).text),
                leaf_precedence};
      default:
        return print_operation(node);
    }
  }

  void give_name(const ScalarNode& node, std::string name) { names_.emplace(&node, std::move(name)); }
  size_t named_count() const { return names_.size(); }

 private:
  Printed print_operation(const ScalarNode& node) const {
    const ScalarOpRow& operation = row(node.op);
    std::vector<Printed> operands;
    for (const Scalar& operand : node.operands) operands.push_back(print(operand));
    switch (operation.notation) {
      case Notation::prefix:
        return {fmt::format("{}{}", operation.text, parenthesised(operands[0], prefix_precedence)), prefix_precedence};
      case Notation::infix:
        return {fmt::format("{} {} {}", parenthesised(operands[0], operation.precedence), operation.text,
                            parenthesised(operands[1], operation.precedence + 1)),
                operation.precedence};
      default: {
        std::vector<std::string> texts;
        for (Printed& operand : operands) texts.push_back(std::move(operand.text));
        const std::string_view name = node.op == ScalarOp::string_function ? row(node.function).name : operation.text;
        return {fmt::format("{}({})", name, fmt::join(texts, ", ")), leaf_precedence};
      }
    }
  }

  std::unordered_map<const ScalarNode*, std::string> names_;
};

// Prints the lines of a nest. An operation that is used more than once is printed once, as "t0 = ..." before the line
// that first uses it: the text stays as small as the graph of operations is.
class NestPrinter {
 public:
  explicit NestPrinter(const LoopNest& nest) {
    std::unordered_set<const ScalarNode*> seen;
    for (const Let& let : nest.lets) count(let.value, seen);
    for (const Accumulator& accumulator : nest.accumulators) count(accumulator.element, seen);
    for (const Store& store : nest.stores) {
      count(store.value, seen);
      count(store.condition, seen);
    }
  }

  std::string print(const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      if (uses_[&node] < 2 || !deserves_name(node) || !named_.insert(&node).second) return;
      std::string name = fmt::format("t{}", printer_.named_count());
      text_ += fmt::format("  {} = {}\n", name, printer_.print_definition(node).text);
      printer_.give_name(node, std::move(name));
    });
    return printer_.print(scalar).text;
  }

  void line(const std::string& text) { text_ += fmt::format("  {}\n", text); }
  std::string take() { return std::move(text_); }

 private:
  // Leaves and casts of leaves are as short as a name.
  static bool deserves_name(const ScalarNode& node) {
    return !node.operands.empty() && !(node.op == ScalarOp::cast && node.operands[0]->operands.empty());
  }

  void count(const Scalar& root, std::unordered_set<const ScalarNode*>& seen) {
    if (!root) return;
    ++uses_[&*root];
    visit(root, [&](const ScalarNode& node) {
      if (!seen.insert(&node).second) return;
      for (const Scalar& operand : node.operands) ++uses_[&*operand];
    });
  }

  ScalarPrinter printer_;
  std::unordered_map<const ScalarNode*, int> uses_;
  std::unordered_set<const ScalarNode*> named_;
  std::string text_;
};

// "axes i<N, j<M  reduce k<K"
std::string print_axes(const std::vector<Axis>& axes) {
  std::string text;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0 && axes[i].kind == axes[i - 1].kind)
      text += ", ";
    else
      text += fmt::format("  {} ", name(axes[i].kind));
    text += fmt::format("{}<{}", axes[i].symbol.name(), axes[i].extent.to_string());
  }
  return text;
}

// Calls `look` for every integer expression of a nest.
void for_each_expr(const LoopNest& nest, const std::function<void(const Expr&)>& look) {
  auto look_into = [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::index) look(node.expr);
      std::ranges::for_each(node.indices, look);
    });
  };
  for (const Axis& axis : nest.axes) look(axis.extent);
  for (const Let& let : nest.lets) look_into(let.value);
  for (const Accumulator& accumulator : nest.accumulators) {
    look_into(accumulator.element);
    look(accumulator.position);
  }
  for (const Store& store : nest.stores) {
    look_into(store.value);
    look_into(store.condition);
    std::ranges::for_each(store.indices, look);
  }
}

// Other symbols for the axes and lets whose names are taken, by a dim or by another of them: fusion brings nests
// together that each counted from i0.
std::map<Symbol, Expr> renamings(const LoopNest& nest) {
  std::vector<Symbol> bound;
  for (const Axis& axis : nest.axes) bound.push_back(axis.symbol);
  for (const Let& let : nest.lets) bound.push_back(let.symbol);
  std::set<std::string> taken;
  for_each_expr(nest, [&](const Expr& expr) {
    for (const Symbol& symbol : expr.symbols())
      if (std::ranges::find(bound, symbol) == bound.end()) taken.insert(symbol.name());
  });
  std::map<Symbol, Expr> result;
  for (const Symbol& symbol : bound) {
    std::string name = symbol.name();
    for (int count = 1; !taken.insert(name).second; ++count) name = fmt::format("{}_{}", symbol.name(), count);
    if (name == symbol.name()) continue;
    const std::shared_ptr<const Expr>& extent = symbol.info().extent;
    result.emplace(symbol, extent ? Symbol::axis(name, *extent) : Symbol::index(name));
  }
  return result;
}

LoopNest renamed(const LoopNest& nest, const std::map<Symbol, Expr>& names) {
  if (names.empty()) return nest;
  auto rename = [&](Symbol& symbol) {
    if (auto found = names.find(symbol); found != names.end()) symbol = *found->second.as_symbol();
  };
  LoopNest result = nest;
  for (Axis& axis : result.axes) rename(axis.symbol);
  for (Let& let : result.lets) {
    rename(let.symbol);
    let.value = substitute(let.value, names);
  }
  for (Accumulator& accumulator : result.accumulators) {
    accumulator.element = substitute(accumulator.element, names);
    accumulator.position = accumulator.position.substitute(names);
  }
  for (Store& store : result.stores) {
    for (Expr& index : store.indices) index = index.substitute(names);
    store.value = substitute(store.value, names);
    store.condition = substitute(store.condition, names);
  }
  return result;
}

}  // namespace

LoopNest with_distinct_names(const LoopNest& nest) { return renamed(nest, renamings(nest)); }

std::string to_string(const Scalar& scalar) { return ScalarPrinter().print(scalar).text; }

std::string to_string(const LoopNest& original) {
  const LoopNest nest = with_distinct_names(original);
  NestPrinter printer(nest);
  for (const Let& let : nest.lets)
    printer.line(fmt::format("let {} = {}", let.symbol.name(), printer.print(let.value)));
  for (size_t i = 0; i < nest.accumulators.size(); ++i) {
    const Accumulator& accumulator = nest.accumulators[i];
    std::string text = fmt::format("acc{}: {} = {} {}", i, info(accumulator.dtype).name, name(accumulator.kind),
                                   printer.print(accumulator.element));
    if (is_argument_reduction(accumulator.kind)) text += fmt::format(" at {}", accumulator.position.to_string());
    printer.line(text);
  }
  for (const Store& store : nest.stores) {
    std::string condition = store.condition ? fmt::format(" if {}", printer.print(store.condition)) : "";
    printer.line(fmt::format("b{}{} {} {}{}", store.buffer, print_indices(store.indices), spelling(store.kind),
                             printer.print(store.value), condition));
  }
  return fmt::format("nest {}{}\n", nest.name, print_axes(nest.axes)) + printer.take();
}

}  // namespace onnxc
