#include "codegen/text/expr_printer.h"

#include <fmt/format.h>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

class ExprPrinter {
 public:
  ExprPrinter(const SymbolNames& names, std::string_view integer) : names_(names), integer_(integer) {}

  std::string sum(const Expr& expr) const {
    if (expr.terms().empty()) return "0";
    std::string text;
    for (const Term& term : expr.terms()) {
      const bool negative = term.coefficient < 0 && term.coefficient != Bounds::minus_infinity;
      if (text.empty())
        text = negative ? "-" : "";
      else
        text += negative ? " - " : " + ";
      text += product(term, negative ? -term.coefficient : term.coefficient);
    }
    return text;
  }

  // With parentheses unless it is one name or number, or a call.
  std::string operand(const Expr& expr) const {
    if (expr.terms().empty()) return "0";
    const Term& term = expr.terms()[0];
    const bool one_term = expr.terms().size() == 1;
    const bool is_number = one_term && term.factors.empty() && term.coefficient >= 0;
    const bool is_atom = one_term && term.coefficient == 1 && term.factors.size() == 1;
    return is_number || is_atom ? sum(expr) : fmt::format("({})", sum(expr));
  }

 private:
  std::string product(const Term& term, int64_t coefficient) const {
    if (term.factors.empty()) return print_integer(coefficient);
    std::string text = coefficient == 1 ? "" : print_integer(coefficient);
    for (const Atom& factor : term.factors) text += (text.empty() ? "" : " * ") + atom(*factor);
    return text;
  }

  std::string atom(const AtomNode& node) const {
    switch (node.kind) {
      case AtomKind::symbol: {
        auto name = names_.find(*node.symbol);
        if (name == names_.end()) internal_error(fmt::format("the symbol {} has no variable", node.symbol->name()));
        return name->second;
      }
      case AtomKind::floor_div:
        return division(node, "/", "floor_divide");
      case AtomKind::mod:
        return division(node, "%", "floor_modulo");
      case AtomKind::min:
        return calls("minimum", node.operands);
      case AtomKind::max:
        return calls("maximum", node.operands);
    }
    internal_error("a kind of atom that has a spelling");
  }

  std::string division(const AtomNode& node, const char* sign, const char* function) const {
    const Expr& dividend = node.operands[0];
    const Expr& divisor = node.operands[1];
    if (proven_at_least(dividend, 0) && proven_at_least(divisor, 1))
      return fmt::format("({} {} {})", operand(dividend), sign, operand(divisor));
    return fmt::format("{}({}, {})", function, sum(dividend), sum(divisor));
  }

  // minimum(minimum(a, b), c). The type is given, since literals may be of a narrower one.
  std::string calls(const char* function, const std::vector<Expr>& operands) const {
    std::string text = sum(operands.at(0));
    for (size_t i = 1; i < operands.size(); ++i)
      text = fmt::format("{}<{}>({}, {})", function, integer_, text, sum(operands[i]));
    return text;
  }

  const SymbolNames& names_;
  std::string_view integer_;
};

}  // namespace

std::string print_expr(const Expr& expr, const SymbolNames& names, std::string_view integer) {
  return ExprPrinter(names, integer).sum(expr);
}

std::string print_integer(int64_t value) {
  if (value == Bounds::minus_infinity) return "(-9223372036854775807 - 1)";
  return fmt::format("{}", value);
}

}  // namespace onnxc
