// Comparisons of outputs, collected and reported together.
#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"
#include "onnxc_run/options.h"
#include "onnxc_run/reports/compare.h"

namespace onnxc {

class Results {
 public:
  explicit Results(const RunOptions& options) : options_(options) {}

  // Compares and, unless JSON is asked for, prints a line. `set` says which data it belongs to; may be empty.
  void compare(const std::string& output, const Tensor& actual, const Tensor& expected, const std::string& set = {});

  // Prints PASSED or FAILED, or all as one JSON object. True when all were equal.
  bool report() const;

 private:
  const RunOptions& options_;
  int compared_ = 0, different_ = 0;
  struct Row {
    std::string output, set;
    Comparison comparison;
  };
  std::vector<Row> rows_;  // for JSON
};

}  // namespace onnxc
