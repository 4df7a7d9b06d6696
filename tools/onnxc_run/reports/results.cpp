#include "onnxc_run/reports/results.h"

#include "onnxc_run/reports/json.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {

void Results::compare(const std::string& output, const Tensor& actual, const Tensor& expected, const std::string& set) {
  Tolerance tolerance = tolerance_for(options_.tolerance, output, expected.dtype());
  if (is_floating(expected.dtype())) tolerance = by_magnitude(expected, tolerance);
  Comparison comparison = onnxc::compare(actual, expected, tolerance, options_.tolerance.equal_nan);
  ++compared_;
  different_ += comparison.equal ? 0 : 1;
  if (options_.json) {
    rows_.push_back({output, set, std::move(comparison)});
    return;
  }
  std::string what = (set.empty() ? "" : printable(set) + ": ") + "output " + quote(output);
  fmt::print("{}\n", describe(what, comparison));
}

bool Results::report() const {
  bool passed = different_ == 0;
  if (options_.json) {
    Json outputs = Json::array();
    for (const Row& row : rows_) {
      outputs.push_back(to_json(row.output, row.comparison));
      if (!row.set.empty()) outputs.back()["set"] = row.set;
    }
    fmt::print("{}\n", json_text(Json{{"passed", passed}, {"outputs", outputs}}));
  } else if (passed) {
    fmt::print("PASSED: {} output{} equal\n", compared_, compared_ == 1 ? "" : "s");
  } else {
    fmt::print("FAILED: {} of {} differ{}\n", different_, counted(compared_, "output"), different_ == 1 ? "s" : "");
  }
  return passed;
}

}  // namespace onnxc
