// From the inputs' sizes to the symbols: what a compiled model does at entry.
//
// The inputs' dims are expressions of symbols, [N, 1, 16*D]; a run brings numbers, [2, 1, 96]. The solution says how to
// compute each symbol from them (N = 2, D = 96//16), and which dims to check afterwards (16*D must be 96 again).
//
// Method: a dim f(s) with one unknown symbol s is inverted when f consists of sums, products with known factors, // by
// known divisors, min and max. Each of these is monotone, so f is inverted step by step to the least s with f(s) >=
// size, or the greatest with f(s) <= size. If any s fits the size, that one does; the check finds out. If several fit
// (16*((D + 15)//16)) any will do, as the model sees D only through its inputs' dims. Limits: a symbol twice in one dim
// (D + D//2), powers, %, and two unknowns in one dim are not solved; another dim may still bind them.
#pragma once

#include <string>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

struct InputDim {
  std::string input_name;
  int input;
  int axis;
  Expr size;
};

// symbol = value, which is over `observed` (the size of that input's axis) and the symbols of earlier bindings.
struct Binding {
  Symbol symbol;
  int input;
  int axis;
  Expr value;
};

// The size of that input's axis must be `expected`, which is over the bound symbols.
struct DimCheck {
  Expr expected;
  int input;
  int axis;
};

struct DimSolution {
  Symbol observed;
  std::vector<Binding> bindings;    // in the order to evaluate them
  std::vector<DimCheck> checks;     // the bounds of the symbols are to be checked as well
  std::vector<std::string> errors;  // one for each symbol that cannot be computed
};

DimSolution solve_dims(const std::vector<InputDim>& dims);

}  // namespace onnxc
