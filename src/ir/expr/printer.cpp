// Expressions as text, in Python's syntax, with the parentheses that Python or a reader needs.
#include <fmt/ranges.h>

#include "ir/expr/expr.h"
#include "support/text.h"

namespace onnxc {
namespace {

bool is_call(const AtomNode& atom) { return atom.kind == AtomKind::min || atom.kind == AtomKind::max; }

std::string join(const std::vector<Expr>& operands) {
  std::string text;
  for (const Expr& operand : operands) text += (text.empty() ? "" : ", ") + operand.to_string();
  return text;
}

// An operand of // or %: in parentheses unless it is a name, a call or a number without a sign.
std::string operand_text(const Expr& expr) {
  bool bare = expr.constant().value_or(-1) >= 0;
  if (!expr.constant() && expr.terms().size() == 1) {
    const Term& term = expr.terms()[0];
    bare = term.coefficient == 1 && term.factors.size() == 1 && (term.factors[0]->symbol || is_call(*term.factors[0]));
  }
  return bare ? expr.to_string() : "(" + expr.to_string() + ")";
}

std::string atom_text(const AtomNode& atom) {
  switch (atom.kind) {
    case AtomKind::symbol:
      return printable(atom.symbol->name());  // a model's text
    case AtomKind::floor_div:
      return operand_text(atom.operands[0]) + "//" + operand_text(atom.operands[1]);
    case AtomKind::mod:
      return operand_text(atom.operands[0]) + " % " + operand_text(atom.operands[1]);
    case AtomKind::min:
      return "min(" + join(atom.operands) + ")";
    case AtomKind::max:
      return "max(" + join(atom.operands) + ")";
  }
  return {};
}

// A factor of a product, or what a sign stands before: -(D//2) is not -D//2 in Python.
std::string factor_text(const AtomNode& atom) {
  return atom.symbol || is_call(atom) ? atom_text(atom) : "(" + atom_text(atom) + ")";
}

// The term without its sign.
std::string magnitude_text(const Term& term, bool after_sign) {
  std::string number = std::to_string(term.coefficient);
  if (term.coefficient < 0) number.erase(0, 1);
  if (term.factors.empty()) return number;
  if (number == "1" && term.factors.size() == 1 && !after_sign) return atom_text(*term.factors[0]);
  std::string text = number == "1" ? "" : number;
  for (const Atom& factor : term.factors) text += (text.empty() ? "" : "*") + factor_text(*factor);
  return text;
}

}  // namespace

std::string Expr::to_string() const {
  if (terms_.empty()) return "0";
  const Expr shown = without_quotients();
  std::string text;
  for (const Term& term : shown.terms_) {
    bool first = text.empty();
    bool negative = term.coefficient < 0;
    if (first)
      text += negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    text += magnitude_text(term, first && negative);
  }
  return text;
}

std::string to_string(const Shape& shape) { return "[" + join(shape) + "]"; }

std::string short_text(const Expr& dim) {
  constexpr size_t longest = 120;
  return printable(dim.to_string(), longest);
}

std::string short_text(const Shape& shape) {
  std::vector<std::string> dims;
  for (const Expr& dim : shape) dims.push_back(short_text(dim));
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

}  // namespace onnxc
