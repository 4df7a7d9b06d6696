// Measures runs of a model, as trtexec's users expect: warmed up for 200 ms, then for at least 3 s and 10 runs.
#pragma once

#include <functional>
#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

struct BenchmarkRules {
  double warm_up_seconds = 0.2;
  double least_seconds = 3;
  int least_runs = 10;
};

// Calls `run` as the rules say; the seconds of each measured call.
std::vector<double> measure(const BenchmarkRules& rules, const std::function<void()>& run);

// Prints throughput and latency to stdout, or one JSON object.
void benchmark(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options);

}  // namespace onnxc
