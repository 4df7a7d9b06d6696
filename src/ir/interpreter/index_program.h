// An integer expression compiled for fast evaluation: dims are bound to numbers, the other symbols read from slots.
#pragma once

#include <map>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

// The places of the symbols' values, and their bounds.
class Slots {
 public:
  int add(const Symbol& symbol, const Bounds& bounds = {});
  // InternalError when the symbol has none.
  int position(const Symbol& symbol) const;
  const Bounds& bounds(int position) const { return bounds_[static_cast<size_t>(position)]; }

 private:
  std::map<Symbol, int> positions_;
  std::vector<Bounds> bounds_;
};

class IndexProgram {
 public:
  IndexProgram() = default;
  // InternalError when a symbol has neither a slot nor a value.
  IndexProgram(const Expr& expr, const Slots& slots, const std::map<Symbol, Expr>& dims);

  int64_t evaluate(const int64_t* slots) const;

  // Whether the index is in [0, extent) for all values within the slots' bounds. Only sums of slots are examined.
  bool is_within(int64_t extent, const Slots& slots) const;

 private:
  struct Linear {
    uint64_t coefficient;
    int slot;
  };
  struct Factor {
    AtomKind kind;
    int slot;                            // for symbol
    std::vector<IndexProgram> operands;  // for the others
  };
  struct Product {
    uint64_t coefficient;
    std::vector<Factor> factors;
  };

  IndexProgram(const Expr& bound, const Slots& slots);
  static Factor compile(const AtomNode& atom, const Slots& slots);
  static int64_t evaluate(const Factor& factor, const int64_t* slots);

  // Unsigned, so that an index far out of bounds wraps instead of being undefined.
  uint64_t constant_ = 0;
  std::vector<Linear> linear_;
  std::vector<Product> products_;
};

}  // namespace onnxc
