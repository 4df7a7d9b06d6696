#include "ir/expr/legal_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/expr/terms.h"
#include "support/checked.h"

namespace onnxc {
namespace {

constexpr int64_t longest_period = 1 << 14;

// f(s + period) = f(s) + slope for every s.
struct Growth {
  int64_t period;
  int64_t slope;
};

std::optional<int64_t> common_period(int64_t a, int64_t b) {
  int64_t period = a / std::gcd(a, b) * b;
  return period <= longest_period ? std::optional(period) : std::nullopt;
}

std::optional<Growth> growth(const Expr& expr);

// For x//b and x%b: after so many periods of x that it has grown by a multiple of b.
std::optional<Growth> growth_of_division(const AtomNode& atom) {
  std::optional<int64_t> divisor = atom.operands[1].constant();
  std::optional<Growth> dividend = growth(atom.operands[0]);
  if (!dividend || !divisor || *divisor <= 0 || *divisor > longest_period) return std::nullopt;
  int64_t times = *divisor / std::gcd(dividend->slope, *divisor);
  if (times * dividend->period > longest_period) return std::nullopt;
  int64_t slope = atom.kind == AtomKind::mod ? 0 : checked_multiply(dividend->slope, times) / *divisor;
  return Growth{dividend->period * times, slope};
}

// The growth of several expressions over one period.
std::optional<int64_t> shared_period(const std::vector<Growth>& parts) {
  int64_t period = 1;
  for (const Growth& part : parts) {
    std::optional<int64_t> common = common_period(period, part.period);
    if (!common) return std::nullopt;
    period = *common;
  }
  return period;
}

// For a minimum or maximum whose operands all grow alike.
std::optional<Growth> growth_of_extremum(const AtomNode& atom) {
  std::vector<Growth> parts;
  for (const Expr& operand : atom.operands) {
    std::optional<Growth> part = growth(operand);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  std::optional<int64_t> period = shared_period(parts);
  if (!period) return std::nullopt;
  auto slope = [&](const Growth& part) { return checked_multiply(part.slope, *period / part.period); };
  for (const Growth& part : parts)
    if (slope(part) != slope(parts.front())) return std::nullopt;
  return Growth{*period, slope(parts.front())};
}

std::optional<Growth> growth(const AtomNode& atom) {
  switch (atom.kind) {
    case AtomKind::symbol:
      return Growth{1, 1};
    case AtomKind::floor_div:
    case AtomKind::mod:
      return growth_of_division(atom);
    case AtomKind::min:
    case AtomKind::max:
      return growth_of_extremum(atom);
  }
  return std::nullopt;
}

// A product of several atoms grows evenly only if all of them stay the same.
std::optional<Growth> growth(const Term& term) {
  std::vector<Growth> parts;
  for (const Atom& atom : term.factors) {
    std::optional<Growth> part = growth(*atom);
    if (!part || (part->slope != 0 && term.factors.size() > 1)) return std::nullopt;
    parts.push_back(*part);
  }
  std::optional<int64_t> period = shared_period(parts);
  if (!period) return std::nullopt;
  return Growth{*period, parts.size() == 1 ? checked_multiply(term.coefficient, parts[0].slope) : 0};
}

std::optional<Growth> growth(const Expr& expr) {
  std::vector<Growth> parts;
  for (const Term& term : expr.terms()) {
    std::optional<Growth> part = growth(term);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  std::optional<int64_t> period = shared_period(parts);
  if (!period) return std::nullopt;
  int64_t slope = 0;
  for (const Growth& part : parts) slope = checked_add(slope, checked_multiply(part.slope, *period / part.period));
  return Growth{*period, slope};
}

// The values of an expression over one period from the least value that the symbol may have.
struct Samples {
  int64_t start;
  Growth growth;
  std::vector<int64_t> values;
};

LegalSizes with_residues(const Samples& samples, Bounds bounds, bool (*holds)(int64_t)) {
  LegalSizes result{samples.growth.period, {}, bounds};
  for (size_t i = 0; i < samples.values.size(); ++i)
    if (holds(samples.values[i]))
      result.residues.push_back((samples.start + static_cast<int64_t>(i)) % samples.growth.period);
  std::ranges::sort(result.residues);
  return result;
}

// The only s with f(s) = 0, if f grows or falls.
std::optional<LegalSizes> only_zero(const Samples& samples, Bounds bounds) {
  LegalSizes result{1, {}, bounds};
  for (size_t i = 0; i < samples.values.size(); ++i) {
    if (samples.values[i] % samples.growth.slope != 0) continue;
    int64_t periods = -(samples.values[i] / samples.growth.slope);
    int64_t zero = samples.start + static_cast<int64_t>(i) + checked_multiply(periods, samples.growth.period);
    if (periods < 0 || zero > bounds.maximum) continue;
    if (!result.residues.empty()) return std::nullopt;
    result = {1, {0}, {zero, zero}};
  }
  return result;
}

// If f grows, f(s) >= 0 from some s on, if each residue's first such s is within one period of the others'.
std::optional<LegalSizes> from_some_size_on(const Samples& samples, Bounds bounds) {
  int64_t least = Bounds::infinity, greatest = 0;
  for (size_t i = 0; i < samples.values.size(); ++i) {
    int64_t missing = std::max<int64_t>(checked_multiply(-1, samples.values[i]), 0);
    int64_t periods = missing / samples.growth.slope + (missing % samples.growth.slope != 0 ? 1 : 0);
    int64_t first = samples.start + static_cast<int64_t>(i) + checked_multiply(periods, samples.growth.period);
    least = std::min(least, first);
    greatest = std::max(greatest, first);
  }
  if (greatest - least >= samples.growth.period) return std::nullopt;
  return LegalSizes{1, {0}, {std::max(bounds.minimum, least), bounds.maximum}};
}

// For products of parts that grow evenly: along each residue a polynomial in the number of periods, which is zero
// everywhere if it is zero at more places than its degree. Zeros elsewhere are single sizes, and are left out.
std::optional<LegalSizes> zeros_of_product(const Expr& expr, const Symbol& symbol) {
  const Bounds bounds = symbol.info().bounds;
  std::vector<Growth> parts;
  size_t degree = 0;
  for (const Term& term : expr.terms()) {
    degree = std::max(degree, term.factors.size());
    for (const Atom& atom : term.factors) {
      std::optional<Growth> part = growth(*atom);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
  }
  const std::optional<int64_t> period = shared_period(parts);
  if (!period) return std::nullopt;
  LegalSizes result{*period, {}, bounds};
  for (int64_t i = 0; i < *period; ++i) {
    bool is_zero = true;
    for (size_t k = 0; k <= degree && is_zero; ++k) {
      const int64_t size = bounds.minimum + i + static_cast<int64_t>(k) * *period;
      is_zero = expr.evaluate({{symbol, size}}) == 0;
    }
    if (is_zero) result.residues.push_back((bounds.minimum + i) % *period);
  }
  std::ranges::sort(result.residues);
  return result.residues.empty() ? std::nullopt : std::optional(result);
}

bool never_falls(const Expr& expr);

bool never_falls(const Atom& atom) {
  switch (atom->kind) {
    case AtomKind::symbol:
      return true;
    case AtomKind::min:
    case AtomKind::max:
      return std::ranges::all_of(atom->operands, [](const Expr& operand) { return never_falls(operand); });
    case AtomKind::floor_div:
      return atom->operands[1].constant().value_or(0) > 0 && never_falls(atom->operands[0]);
    case AtomKind::mod:
      return false;
  }
  return false;
}

// Whether a larger size of its one symbol never gives less. A product of several factors is not looked at.
bool never_falls(const Expr& expr) {
  return std::ranges::all_of(expr.terms(), [](const Term& term) {
    return term.factors.empty() || (term.factors.size() == 1 && term.coefficient > 0 && never_falls(term.factors[0]));
  });
}

// If f never falls, f(s) >= 0 from some s on.
std::optional<LegalSizes> from_first_size_on(const Expr& expr, const Symbol& symbol) {
  constexpr int64_t largest_size = int64_t{1} << 31;
  Bounds bounds = symbol.info().bounds;
  const auto holds = [&](int64_t size) { return expr.evaluate({{symbol, size}}) >= 0; };
  int64_t first = bounds.minimum, last = std::min(bounds.maximum, largest_size);
  if (last < first || !holds(last)) return std::nullopt;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (holds(middle))
      last = middle;
    else
      first = middle + 1;
  }
  bounds.minimum = first;
  return LegalSizes{1, {0}, bounds};
}

// If the condition fails for the least size, and is proven for all others.
std::optional<LegalSizes> above_the_least(const Expr& expr, Condition condition, const Symbol& symbol) {
  const Bounds bounds = symbol.info().bounds;
  const int64_t least = expr.evaluate({{symbol, bounds.minimum}});
  if (bounds.minimum == bounds.maximum || (condition == Condition::zero ? least == 0 : least >= 0)) return std::nullopt;
  const Bounds others{bounds.minimum + 1, bounds.maximum};
  const Expr rest = expr.substitute({{symbol, Symbol::dim(symbol.name(), others)}});
  const bool holds = condition == Condition::zero ? proven_equal(rest, 0) : proven_at_least(rest, 0);
  return holds ? std::optional(LegalSizes{1, {0}, others}) : std::nullopt;
}

std::optional<LegalSizes> find(const Expr& expr, Condition condition, const Symbol& symbol) {
  Bounds bounds = symbol.info().bounds;
  if (bounds.minimum < 0) return std::nullopt;
  std::optional<Growth> grows = growth(expr);
  if (!grows) {
    if (std::optional<LegalSizes> sizes = above_the_least(expr, condition, symbol)) return sizes;
    if (condition == Condition::zero) return zeros_of_product(expr, symbol);
    return never_falls(expr) ? from_first_size_on(expr, symbol) : std::nullopt;
  }
  Samples samples{bounds.minimum, *grows, {}};
  for (int64_t i = 0; i < grows->period; ++i) samples.values.push_back(expr.evaluate({{symbol, samples.start + i}}));
  if (grows->slope == 0)
    return condition == Condition::zero ? with_residues(samples, bounds, [](int64_t value) { return value == 0; })
                                        : with_residues(samples, bounds, [](int64_t value) { return value >= 0; });
  if (condition == Condition::zero) return only_zero(samples, bounds);
  return grows->slope > 0 ? from_some_size_on(samples, bounds) : std::nullopt;
}

// The same set with the shortest period.
LegalSizes reduced(LegalSizes sizes) {
  for (int64_t period = 1; period < sizes.period; ++period) {
    if (sizes.period % period != 0) continue;
    std::vector<int64_t> first, all;
    for (int64_t residue : sizes.residues)
      if (residue < period) first.push_back(residue);
    for (int64_t base = 0; base < sizes.period; base += period)
      for (int64_t residue : first) all.push_back(base + residue);
    if (all == sizes.residues) return {period, std::move(first), sizes.bounds};
  }
  return sizes;
}

}  // namespace

std::string LegalSizes::to_string() const {
  if (empty()) return "none";
  if (bounds.minimum == bounds.maximum) return std::to_string(bounds.minimum);
  std::string text;
  if (period > 1)
    for (int64_t residue : residues)
      text += fmt::format("{}{}*n{}", text.empty() ? "" : " or ", period,
                          residue == 0 ? "" : fmt::format(" + {}", residue));
  if (bounds.minimum > 0) text += fmt::format("{}at least {}", text.empty() ? "" : ", ", bounds.minimum);
  if (bounds.maximum != Bounds::infinity) text += fmt::format("{}at most {}", text.empty() ? "" : ", ", bounds.maximum);
  return text.empty() ? "any" : text;
}

std::optional<LegalSizes> legal_sizes(const Expr& expr, Condition condition, const Symbol& symbol) {
  auto found = unless_overflow([&] { return find(expr, condition, symbol); });
  if (!found || !*found) return std::nullopt;
  return reduced(std::move(**found));
}

std::optional<LegalSizes> intersect(const LegalSizes& a, const LegalSizes& b) {
  std::optional<int64_t> period = common_period(a.period, b.period);
  if (!period) return std::nullopt;
  LegalSizes result{
      *period, {}, {std::max(a.bounds.minimum, b.bounds.minimum), std::min(a.bounds.maximum, b.bounds.maximum)}};
  for (int64_t residue = 0; residue < *period; ++residue)
    if (std::ranges::binary_search(a.residues, residue % a.period) &&
        std::ranges::binary_search(b.residues, residue % b.period))
      result.residues.push_back(residue);
  return reduced(std::move(result));
}

}  // namespace onnxc
