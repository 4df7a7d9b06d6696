#include "onnxc_run/reports/compare.h"

#include <cmath>
#include <limits>

#include "onnxc_run/reports/json.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::string dims_text(const std::vector<int64_t>& dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

std::vector<int64_t> index_of(int64_t element, const std::vector<int64_t>& dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = element % dims[axis];
    element /= dims[axis];
  }
  return index;
}

// How far beyond the tolerance an element is: at most 0 when it is within it. A NaN or an infinity that differs is
// beyond all others.
double excess(double actual, double expected, Tolerance tolerance, bool equal_nan) {
  if (std::isfinite(actual) && std::isfinite(expected))
    return std::abs(actual - expected) - (tolerance.absolute + tolerance.relative * std::abs(expected));
  bool same = (std::isnan(actual) && std::isnan(expected)) || actual == expected;
  return equal_nan && same ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

// Integers of 64 bits are compared as such: beyond 2^53 a double cannot tell neighbours apart.
void compare_integers(const Tensor& actual, const Tensor& expected, Comparison& result) {
  std::vector<int64_t> a = actual.as_int64(), b = expected.as_int64();
  for (size_t i = 0; i < a.size(); ++i) {
    double magnitude = std::abs(static_cast<double>(b[i]));
    result.largest_magnitude = std::max(result.largest_magnitude, magnitude);
    if (a[i] == b[i]) continue;
    double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (result.different++ == 0 || difference > result.largest_difference) {
      result.worst = index_of(static_cast<int64_t>(i), expected.dims());
      result.worst_actual = static_cast<double>(a[i]);
      result.worst_expected = static_cast<double>(b[i]);
    }
    result.largest_difference = std::max(result.largest_difference, difference);
    if (magnitude > 0) result.largest_relative = std::max(result.largest_relative, difference / magnitude);
  }
}

void compare_reals(const Tensor& actual, const Tensor& expected, Tolerance tolerance, bool equal_nan,
                   Comparison& result) {
  std::vector<double> a = actual.as_double(), b = expected.as_double();
  double worst = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) ++result.nan_in_both;
    double beyond = excess(a[i], b[i], tolerance, equal_nan);
    if (beyond > 0) ++result.different;
    if (beyond > worst) {
      worst = beyond;
      result.worst = index_of(static_cast<int64_t>(i), expected.dims());
      result.worst_actual = a[i];
      result.worst_expected = b[i];
    }
    if (std::isfinite(b[i])) result.largest_magnitude = std::max(result.largest_magnitude, std::abs(b[i]));
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    double difference = std::abs(a[i] - b[i]);
    result.largest_difference = std::max(result.largest_difference, difference);
    if (b[i] != 0) result.largest_relative = std::max(result.largest_relative, difference / std::abs(b[i]));
  }
}

// The tolerance that was given for one name, else for all, else the dtype's.
double choose(const std::map<std::string, double>& by_name, const std::string& name, std::optional<double> all,
              double otherwise) {
  auto found = by_name.find(name);
  return found != by_name.end() ? found->second : all.value_or(otherwise);
}

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace

Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance, bool equal_nan) {
  Comparison result;
  result.elements = expected.size();
  if (actual.dtype() != expected.dtype()) {
    result.reason = fmt::format("dtype {}, expected {}", info(actual.dtype()).name, info(expected.dtype()).name);
  } else if (actual.dims() != expected.dims()) {
    result.reason = fmt::format("dims {}, expected {}", dims_text(actual.dims()), dims_text(expected.dims()));
  } else if (is_floating(actual.dtype()) || tolerance.absolute > 0 || tolerance.relative > 0) {
    compare_reals(actual, expected, tolerance, equal_nan, result);
  } else {
    compare_integers(actual, expected, result);
  }
  result.equal = result.reason.empty() && result.different == 0;
  return result;
}

Tolerance by_magnitude(const Tensor& expected, Tolerance tolerance) {
  const double largest = compare(expected, expected, {0, 0}, true).largest_magnitude;
  return {.relative = 0, .absolute = tolerance.absolute + tolerance.relative * largest};
}

Tolerance tolerance_for(const ToleranceOptions& options, const std::string& name, DType dtype) {
  Tolerance tolerance{0, 0};
  if (is_floating(dtype))
    tolerance =
        is_half(dtype) ? Tolerance{.relative = 1e-2, .absolute = 1e-2} : Tolerance{.relative = 1e-4, .absolute = 1e-5};
  return {.relative = choose(options.relative_by_name, name, options.relative, tolerance.relative),
          .absolute = choose(options.absolute_by_name, name, options.absolute, tolerance.absolute)};
}

std::string describe(const std::string& what, const Comparison& comparison) {
  if (!comparison.reason.empty()) return fmt::format("{}: {}", what, comparison.reason);
  std::string sizes =
      fmt::format("largest difference {:.3g}, {:.3g} of the largest magnitude {:.3g}", comparison.largest_difference,
                  comparison.scaled_difference(), comparison.largest_magnitude);
  if (comparison.nan_in_both > 0) sizes += fmt::format(", {} NaN in both", comparison.nan_in_both);
  if (comparison.equal) return fmt::format("{}: equal ({})", what, sizes);
  return fmt::format("{}: {} of {} differ{}; worst at [{}]: {:.9g}, expected {:.9g} ({})", what, comparison.different,
                     counted(comparison.elements, "element"), comparison.different == 1 ? "s" : "",
                     fmt::join(comparison.worst, ", "), comparison.worst_actual, comparison.worst_expected, sizes);
}

Json to_json(const std::string& name, const Comparison& comparison) {
  Json json = {{"name", name}, {"equal", comparison.equal}};
  if (!comparison.reason.empty()) {
    json["reason"] = comparison.reason;
    return json;
  }
  json["elements"] = comparison.elements;
  json["different"] = comparison.different;
  json["largest_difference"] = number(comparison.largest_difference);
  json["largest_relative"] = number(comparison.largest_relative);
  json["largest_magnitude"] = number(comparison.largest_magnitude);
  json["nan_in_both"] = comparison.nan_in_both;
  json["worst"] = {{"index", comparison.worst},
                   {"actual", number(comparison.worst_actual)},
                   {"expected", number(comparison.worst_expected)}};
  return json;
}

}  // namespace onnxc
