#include "ir/expr/bounds.h"

#include <algorithm>

#include "support/checked.h"

namespace onnxc {
namespace {

// Wide enough for the product of two ends; infinity stands for 2^63, one past the largest int64.
using Wide = __int128;
constexpr Wide wide_infinity = Wide{1} << 63;

Wide widen(int64_t end) { return end == Bounds::infinity ? wide_infinity : Wide{end}; }

int64_t saturate(Wide value) {
  return static_cast<int64_t>(std::clamp(value, Wide{Bounds::minus_infinity}, Wide{Bounds::infinity}));
}

// a//b over a positive range of b.
Bounds divide_by_positive(const Bounds& a, const Bounds& b) {
  Bounds result;
  if (a.minimum != Bounds::minus_infinity) {
    if (a.minimum < 0)
      result.minimum = floor_divide(a.minimum, b.minimum);
    else
      result.minimum = b.maximum == Bounds::infinity ? 0 : floor_divide(a.minimum, b.maximum);
  }
  if (a.maximum != Bounds::infinity) {
    if (a.maximum >= 0)
      result.maximum = floor_divide(a.maximum, b.minimum);
    else
      result.maximum = b.maximum == Bounds::infinity ? -1 : floor_divide(a.maximum, b.maximum);
  }
  return result;
}

}  // namespace

// An unknown end is still an int64, as evaluation refuses what is not, so that D - 2^63 < 0 is known. Beyond that
// "infinity minus a little" stays infinity.
Bounds add(const Bounds& a, const Bounds& b) {
  constexpr Wide half = wide_infinity / 2;
  Wide least = Wide{a.minimum} + b.minimum;
  Wide most = Wide{a.maximum} + b.maximum;
  bool least_known = a.minimum != Bounds::minus_infinity && b.minimum != Bounds::minus_infinity;
  bool most_known = a.maximum != Bounds::infinity && b.maximum != Bounds::infinity;
  return {least_known || least > -half ? saturate(least) : Bounds::minus_infinity,
          most_known || most < half ? saturate(most) : Bounds::infinity};
}

Bounds multiply(const Bounds& a, const Bounds& b) {
  auto [least, most] = std::minmax({widen(a.minimum) * widen(b.minimum), widen(a.minimum) * widen(b.maximum),
                                    widen(a.maximum) * widen(b.minimum), widen(a.maximum) * widen(b.maximum)});
  return {saturate(least), saturate(most)};
}

Bounds floor_divide(const Bounds& a, const Bounds& b) {
  if (b.minimum >= 0) return divide_by_positive(a, {std::max<int64_t>(b.minimum, 1), std::max<int64_t>(b.maximum, 1)});
  // |a//b| <= |a|
  Wide magnitude = std::max(-widen(a.minimum), widen(a.maximum));
  magnitude = std::max({magnitude, widen(a.minimum), -widen(a.maximum)});
  return {saturate(-magnitude), saturate(magnitude)};
}

Bounds floor_modulo(const Bounds& a, const Bounds& b) {
  Bounds result;
  if (b.minimum != Bounds::minus_infinity) result.minimum = b.minimum >= 0 ? 0 : b.minimum + 1;
  if (b.maximum != Bounds::infinity) result.maximum = std::max<int64_t>(b.maximum - 1, 0);
  if (b.minimum >= 0 && a.minimum >= 0) result.maximum = std::min(result.maximum, a.maximum);
  return result;
}

}  // namespace onnxc
