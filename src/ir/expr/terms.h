// Shared by the files of the expression engine: the order of atoms and terms, arithmetic on single terms, and the
// creation of atoms. Other code uses ir/expr/expr.h.
#pragma once

#include "ir/expr/expr.h"
#include "support/diagnostics.h"

namespace onnxc {

// The largest sum, and the deepest and largest atom; beyond these, UserError.
constexpr int64_t max_terms = 10000;
constexpr int64_t max_atom_depth = 200;
constexpr int64_t max_atom_size = 10000;
// The rules of join.h that one sum applies; what remains is left as it is.
constexpr int64_t max_joins = 1000;

// A size that is larger than these.
class SizeOfManyParts : public UserError {
 public:
  SizeOfManyParts(const std::string& text, int64_t number) : UserError(text), parts(number) {}
  int64_t parts;
};

std::strong_ordering compare_atoms(const Atom& a, const Atom& b);

// Graded lexicographic: the higher degree first, so that the constant comes last. Being compatible with multiplication,
// it also serves polynomial division.
std::strong_ordering compare_factors(const std::vector<Atom>& a, const std::vector<Atom>& b);

// An atom that is not simplified any further, as an expression.
Expr make_atom(AtomKind kind, std::vector<Expr> operands);

inline Expr as_expr(const Atom& atom) { return Expr::from_terms({{1, {atom}}}); }
inline Expr as_expr(const Term& term) { return Expr::from_terms({term}); }

// The opposite of a minimum is the maximum, and the reverse.
inline AtomKind opposite(AtomKind kind) { return kind == AtomKind::min ? AtomKind::max : AtomKind::min; }

// The terms and atoms of the expression when written out, those within atoms included.
int64_t size_of(const Expr& expr);

// The constant term, 0 when there is none.
int64_t constant_part(const Expr& expr);

// a/b if that is a term: the coefficients divide and the factors of b are among those of a.
std::optional<Term> divide_exactly(const Term& a, const Term& b);

// The largest term, with a positive coefficient, that divides both.
Term common_divisor(const Term& a, const Term& b);

// True when b > 0 wherever `scope` has a value. An axis that occurs in it has one, so that axis's extent is at least 1.
bool proven_positive(const Expr& b, const Expr& scope);

// The result of `compute`, or nothing if a coefficient exceeds 64 bits: such a rewrite or proof is not made, and the
// expression stays as it is.
template <class Compute>
auto unless_overflow(Compute compute) -> std::optional<decltype(compute())> {
  try {
    return compute();
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace onnxc
