// Compares a result with what was expected.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "onnxc_run/options.h"

namespace onnxc {

struct Comparison {
  bool equal = true;
  std::string reason;  // when dtype or dims differ, which end the comparison: "dims 1x3, expected 1x4"
  int64_t elements = 0;
  int64_t different = 0;          // elements beyond the tolerance
  double largest_difference = 0;  // |actual - expected|, if both are finite
  double largest_relative = 0;    // the largest |actual - expected| / |expected|
  double largest_magnitude = 0;   // of the expected elements that are finite
  int64_t nan_in_both = 0;        // elements that are NaN here and there
  std::vector<int64_t> worst;     // the index of the element furthest beyond the tolerance, or nearest to it
  double worst_actual = 0, worst_expected = 0;

  // The largest difference over the largest magnitude, which the tolerances count from; 0 if nothing is finite.
  double scaled_difference() const { return largest_magnitude > 0 ? largest_difference / largest_magnitude : 0; }
};

// Elementwise: |actual - expected| <= absolute + relative * |expected|, and NaN and infinities never equal anything
// unless `equal_nan`.
Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance, bool equal_nan);

// The tolerance for every element alike: `relative` counts from the largest finite magnitude of the expected tensor.
// Two right programs sum in different orders, so that an element near zero has no small error relative to itself.
Tolerance by_magnitude(const Tensor& expected, Tolerance tolerance);

// The tolerance that `options` allow for an output; without any, float32 and float64 get 1e-4 relative and 1e-5
// absolute, the half types 1e-2 both, integers nothing.
Tolerance tolerance_for(const ToleranceOptions& options, const std::string& name, DType dtype);

// "output 'y': equal (largest difference 1.2e-07, 4e-07 of the largest magnitude 0.3)"
// "output 'y': 12 of 400 elements differ; worst at [0, 3]: 1.5, expected 1.25 (largest difference ...)"
std::string describe(const std::string& what, const Comparison& comparison);
nlohmann::ordered_json to_json(const std::string& name, const Comparison& comparison);

}  // namespace onnxc
