// Sizes computed from a run's dims: arithmetic that remembers whether it left 64 bits or divided by zero.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

struct CheckedSize {
  int64_t value;
  bool overflow = false;

  constexpr CheckedSize(int64_t size, bool has_overflow = false) : value(size), overflow(has_overflow) {}

  friend CheckedSize operator+(CheckedSize a, CheckedSize b) {
    int64_t result;
    const bool overflow = __builtin_add_overflow(a.value, b.value, &result);
    return {result, overflow || a.overflow || b.overflow};
  }
  friend CheckedSize operator-(CheckedSize a, CheckedSize b) {
    int64_t result;
    const bool overflow = __builtin_sub_overflow(a.value, b.value, &result);
    return {result, overflow || a.overflow || b.overflow};
  }
  friend CheckedSize operator-(CheckedSize a) { return CheckedSize(0) - a; }
  friend CheckedSize operator*(CheckedSize a, CheckedSize b) {
    int64_t result;
    const bool overflow = __builtin_mul_overflow(a.value, b.value, &result);
    return {result, overflow || a.overflow || b.overflow};
  }
  // For sizes that are not negative, for which flooring and truncating are the same.
  friend CheckedSize operator/(CheckedSize a, CheckedSize b) { return floor_divide(a, b); }
  friend CheckedSize operator%(CheckedSize a, CheckedSize b) { return floor_modulo(a, b); }

  friend CheckedSize floor_divide(CheckedSize a, CheckedSize b) {
    if (b.value == 0 || (b.value == -1 && a.value == INT64_MIN)) return {0, true};
    const int64_t quotient = a.value / b.value;
    const bool rounds_down = a.value % b.value != 0 && (a.value < 0) != (b.value < 0);
    return {quotient - (rounds_down ? 1 : 0), a.overflow || b.overflow};
  }
  friend CheckedSize floor_modulo(CheckedSize a, CheckedSize b) { return a - floor_divide(a, b) * b; }

  friend bool operator==(CheckedSize a, CheckedSize b) { return a.value == b.value; }
  friend bool operator!=(CheckedSize a, CheckedSize b) { return a.value != b.value; }
  friend bool operator<(CheckedSize a, CheckedSize b) { return a.value < b.value; }
  friend bool operator>(CheckedSize a, CheckedSize b) { return a.value > b.value; }
};

}  // namespace onnxc::kernels
