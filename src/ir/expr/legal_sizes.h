// Which values of one symbol a condition allows: `16*((D + 15)//16) == D` holds for the multiples of 16.
//
// Method: an expression of +, *, // and % by constants grows evenly: f(s + period) = f(s) + slope. With slope 0 the
// condition depends only on s modulo the period, so one period is tried out. With another slope the condition changes
// once for each residue, from false to true or back; if all residues change next to each other the answer is a range. A
// product is zero if a factor is. So "equal or 1" of a broadcast, (a - 1)*(a - b) = 0, gives the residues with which it
// is zero throughout. It leaves out the few sizes at which a dim happens to be 1, which nobody means. If an expression
// never falls, as s + 2*min(s, 1) - 3, it is nonnegative from some size on, which is searched for. If a condition fails
// for the least size and is proven for all others, it is a range as well.
//
// Limits: conditions on several symbols, long periods, and sets that are neither residues nor a range get no answer
// here; they stay conditions to be checked at run time.
#pragma once

#include <optional>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

// The integers within the bounds that leave one of these remainders when divided by the period.
struct LegalSizes {
  int64_t period = 1;
  std::vector<int64_t> residues = {0};  // in [0, period), ascending
  Bounds bounds = {0, Bounds::infinity};

  bool empty() const { return residues.empty() || bounds.minimum > bounds.maximum; }
  // "16*n", "8*n or 8*n + 7", "64", "at least 3".
  std::string to_string() const;
  bool operator==(const LegalSizes&) const = default;
};

enum class Condition : uint8_t { zero, nonnegative };

// The values of the symbol, within its bounds, for which the condition holds of `expr`, which has no other symbol.
// Nothing when they are not found.
std::optional<LegalSizes> legal_sizes(const Expr& expr, Condition condition, const Symbol& symbol);

// The values in both; nothing when the common period is too long.
std::optional<LegalSizes> intersect(const LegalSizes& a, const LegalSizes& b);

}  // namespace onnxc
