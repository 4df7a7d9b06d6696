#include "codegen/text/accumulator_text.h"

#include <limits>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

bool is_minimum(ReduceKind kind) {
  return kind == ReduceKind::argument_minimum || kind == ReduceKind::last_argument_minimum;
}
bool takes_last(ReduceKind kind) {
  return kind == ReduceKind::last_argument_minimum || kind == ReduceKind::last_argument_maximum;
}

}  // namespace

bool AccumulatorText::has_extreme() const { return is_argument_reduction(accumulator_.kind); }

std::string AccumulatorText::replaced(const std::string& extreme, const std::string& element) const {
  return fmt::format("replaces<{}>({}, {})", extreme_rule(), extreme, element);
}

std::string AccumulatorText::extreme_rule() const {
  return fmt::format("{}, {}", is_minimum(accumulator_.kind), takes_last(accumulator_.kind));
}

std::string AccumulatorText::identity() const {
  const DType dtype = accumulator_.dtype;
  switch (accumulator_.kind) {
    case ReduceKind::sum:
      return number(0);
    case ReduceKind::product:
      return number(1);
    case ReduceKind::minimum:
      return is_floating(dtype) ? number(std::numeric_limits<double>::infinity())
                                : fmt::format("highest_integer<{}>", type());
    case ReduceKind::maximum:
      return is_floating(dtype) ? number(-std::numeric_limits<double>::infinity())
                                : fmt::format("lowest_integer<{}>", type());
    case ReduceKind::any:
      return "false";
    case ReduceKind::all:
      return "true";
    default:
      return "int64_t{-1}";  // no position yet
  }
}

std::string AccumulatorText::folded(const std::string& a, const std::string& b) const {
  switch (accumulator_.kind) {
    case ReduceKind::sum:
      return is_floating(accumulator_.dtype) ? fmt::format("{} + {}", a, b) : fmt::format("add({}, {})", a, b);
    case ReduceKind::product:
      return is_floating(accumulator_.dtype) ? fmt::format("{} * {}", a, b) : fmt::format("multiply({}, {})", a, b);
    case ReduceKind::minimum:
      return fmt::format("minimum({}, {})", a, b);
    case ReduceKind::maximum:
      return fmt::format("maximum({}, {})", a, b);
    case ReduceKind::any:
      return fmt::format("{} | {}", a, b);
    case ReduceKind::all:
      return fmt::format("{} & {}", a, b);
    default:
      internal_error("an argument reduction folds element by element");
  }
}

std::string AccumulatorText::number(double value) const {
  return dialect_.constant(*scalar::constant(info(accumulator_.dtype).compute, value));
}

}  // namespace onnxc
