// Every tensor that a run materialises, with what it holds.
#pragma once

#include <optional>
#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

struct TensorSummary {
  // The range of the finite elements; nothing if there is none.
  struct Range {
    double minimum, maximum, mean;
  };
  std::optional<Range> range;
  int64_t nan = 0, infinite = 0;
};

constexpr const char* trace_table = "trace.json";  // the name of its file

TensorSummary summarize_tensor(const Tensor& tensor);

// Runs once; writes each tensor as NAME.npy and the table as trace.json into the folder, and prints the table. Returns
// the outputs of the run.
std::vector<Tensor> trace(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options);

}  // namespace onnxc
