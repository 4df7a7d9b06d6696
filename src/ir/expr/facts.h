// The facts at a place of a program besides the bounds of its symbols: loops around it run, guards and conditions hold.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

// True only when a >= b wherever each of the facts is at least 0.
bool proven_at_least(const Expr& a, const Expr& b, std::span<const Expr> facts);

// Expressions known to be at least 0, with what follows of them for their parts: of a*min(b, c) >= 1 that a, b and c
// are at least 1. A fact about a single symbol narrows the symbol, so that products of it are bounded too.
class Facts {
 public:
  void at_least(const Expr& a, const Expr& b);
  void equal(const Expr& a, const Expr& b);
  // To be called once what is known of dims has been said; conditions may come later. The axes are given outermost
  // first; their extents are narrowed with the dims that they name.
  void narrow_symbols(const std::vector<Symbol>& axes);

  // Also true if the facts exclude each other: such a place never runs.
  bool prove_at_least(const Expr& a, const Expr& b) const;

 private:
  void add(const Expr& nonnegative, int depth);
  void add_parts(const Term& term, int64_t least, int depth);
  std::map<Symbol, Expr> narrower_dims() const;
  void settle_extrema();
  bool follows(const Expr& a, const Expr& b) const;  // a >= b
  void replace(const std::map<Symbol, Expr>& replacements);
  Expr narrowed(const Expr& expr) const;

  bool prove_nonnegative(const Expr& d) const;

  std::vector<Expr> given_;  // as they are, for what they say word by word
  std::vector<Expr> facts_;  // with what follows, in narrower symbols
  std::map<Symbol, Expr> narrower_;
  bool exclude_each_other_ = false;
};

}  // namespace onnxc
