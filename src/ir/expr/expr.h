// Integer expressions for dims, sizes and indices: one class; a static dim is the special case without symbols.
//
// An Expr is kept in one normal form: a sum of terms, each an integer coefficient times a product of atoms. An atom is
// a symbol, or a floor division, modulo, minimum or maximum of expressions. Equal expressions mostly compare equal (`D
// + 2*1 - 3 + 1` is `D`); simplification is sound, not complete. Ceil division has no atom of its own: it is (a + b -
// 1) // b.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace onnxc {

class Expr;
struct ExactDivision;

// A closed range of values; the extremes of int64 stand for "not known".
struct Bounds {
  static constexpr int64_t minus_infinity = std::numeric_limits<int64_t>::min();
  static constexpr int64_t infinity = std::numeric_limits<int64_t>::max();
  int64_t minimum = minus_infinity;
  int64_t maximum = infinity;
  bool operator==(const Bounds&) const = default;
};

// The facts about a symbol. Two symbols are the same when they are the same object.
struct SymbolInfo {
  std::string name;
  uint64_t serial;  // order of creation: the tie-break that keeps the normal form deterministic
  Bounds bounds;
  std::shared_ptr<const Expr> extent;  // for a loop axis: values are below this expression; may be null
  std::shared_ptr<const ExactDivision> division = nullptr;  // for a quotient; may be null
};

class Symbol {
 public:
  // A dim: at least 0 unless told otherwise.
  static Symbol dim(std::string name, Bounds bounds = {0, Bounds::infinity});
  // A loop axis: 0 <= value < extent.
  static Symbol axis(std::string name, const Expr& extent);
  // Any integer: an index computed at run time.
  static Symbol index(std::string name);
  // The q with dividend = divisor*q + rest, 0 <= rest < divisor, of a dim known to leave that remainder.
  static Symbol quotient(const Symbol& dividend, int64_t divisor, int64_t rest);

  const std::string& name() const { return info_->name; }
  const SymbolInfo& info() const { return *info_; }
  bool operator==(const Symbol& other) const { return info_ == other.info_; }
  std::strong_ordering operator<=>(const Symbol& other) const;

 private:
  explicit Symbol(std::shared_ptr<const SymbolInfo> info) : info_(std::move(info)) {}
  std::shared_ptr<const SymbolInfo> info_;
};

enum class AtomKind { symbol, floor_div, mod, min, max };

struct AtomNode;
using Atom = std::shared_ptr<const AtomNode>;

// coefficient * factors[0] * factors[1] * ...; the factors are sorted, a power repeats its atom.
struct Term {
  int64_t coefficient;
  std::vector<Atom> factors;
};

class Expr {
 public:
  Expr() = default;                                       // zero
  Expr(int64_t value);                                    // NOLINT: integers are expressions
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}  // NOLINT
  Expr(const Symbol& symbol);                             // NOLINT: so are symbols

  // The terms in canonical order; the constant term, when there is one, comes last with no factors.
  const std::vector<Term>& terms() const { return terms_; }

  std::optional<int64_t> constant() const;
  bool is_constant(int64_t value) const { return constant() == value; }
  // The symbol that this expression is, if it is nothing else.
  std::optional<Symbol> as_symbol() const;

  Bounds bounds() const;
  std::set<Symbol> symbols() const;
  // The extent of an axis that stays in the result is not replaced.
  Expr substitute(const std::map<Symbol, Expr>& replacements) const;
  // Throws UserError on overflow or a division by zero, InternalError on a symbol without a value.
  int64_t evaluate(const std::map<Symbol, int64_t>& values) const;
  // Replaces quotients by their dividends: with D = 16*q, 16*q becomes D and 4*q becomes D//4.
  Expr without_quotients() const;
  // In Python's syntax: `16*((D + 15)//16)`, `min(a, b)`. Without quotients.
  std::string to_string() const;

  Expr& operator+=(const Expr& other) { return *this = *this + other; }
  Expr& operator-=(const Expr& other) { return *this = *this - other; }
  Expr& operator*=(const Expr& other) { return *this = *this * other; }
  friend Expr operator+(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a, const Expr& b);
  friend Expr operator*(const Expr& a, const Expr& b);
  friend Expr operator-(const Expr& a) { return a * Expr(-1); }
  friend bool operator==(const Expr& a, const Expr& b) { return (a <=> b) == 0; }
  // A total order whose only meaning is to be the same in every run.
  friend std::strong_ordering operator<=>(const Expr& a, const Expr& b);

  static Expr from_terms(std::vector<Term> terms);  // brings into normal form

 private:
  std::vector<Term> terms_;
};

// The definition of a symbol that stands for the quotient of another one with a known remainder: dividend =
// divisor*symbol + rest, exactly.
struct ExactDivision {
  Expr dividend;  // a symbol
  int64_t divisor;
  int64_t rest;
};

struct AtomNode {
  AtomKind kind;
  std::optional<Symbol> symbol;  // for symbol
  std::vector<Expr> operands;    // for floor_div and mod: dividend, divisor; for min and max: two or more, sorted
  Bounds bounds;
  int64_t depth;  // of nested atoms, and
  int64_t size;   // the number of atoms when written out: both are limited, since a model may be hostile
};

using Shape = std::vector<Expr>;

// Python's rounding, towards minus infinity; a remainder has the divisor's sign. UserError when b is the constant 0. A
// simplification is right if the division is defined; `b//b` becomes 1 only if b > 0 is proven.
Expr floor_div(const Expr& a, const Expr& b);
Expr ceil_div(const Expr& a, const Expr& b);
Expr mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr product(const Shape& dims);

// The q with a = q*b for every value of the symbols, zero included; nothing when there is none or it is not found.
std::optional<Expr> exact_quotient(const Expr& a, const Expr& b);

// True only when it holds for every value that the symbols may take.
bool proven_equal(const Expr& a, const Expr& b);
bool proven_at_least(const Expr& a, const Expr& b);
bool proven_less(const Expr& a, const Expr& b);
// True when a and b differ for every value of the symbols.
bool proven_different(const Expr& a, const Expr& b);

std::string to_string(const Shape& shape);  // "[1, N, 2*D + 1]"
// The same for messages: a dim of more than 120 characters is cut and ends in "...".
std::string short_text(const Expr& dim);
std::string short_text(const Shape& shape);

// The dims as integers, or nothing when one is symbolic.
std::optional<std::vector<int64_t>> constant_dims(const Shape& shape);

// For two shapes that are equal but for axes of extent 1: for each axis of the first, the axis of the second that it
// is, or nothing if its extent is 1.
std::optional<std::vector<std::optional<size_t>>> axes_but_ones(const Shape& shape, const Shape& other);

}  // namespace onnxc
