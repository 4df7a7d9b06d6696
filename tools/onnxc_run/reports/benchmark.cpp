#include "onnxc_run/reports/benchmark.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "onnxc_run/reports/json.h"
#include "onnxc_run/reports/run_conditions.h"
#include "onnxc_run/reports/statistics.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

std::vector<double> measure(const BenchmarkRules& rules, const std::function<void()>& run) {
  auto start = Clock::now();
  do run();
  while (seconds_since(start) < rules.warm_up_seconds);

  std::vector<double> samples;
  start = Clock::now();
  do {
    auto run_start = Clock::now();
    run();
    samples.push_back(seconds_since(run_start));
  } while (static_cast<int>(samples.size()) < rules.least_runs || seconds_since(start) < rules.least_seconds);
  return samples;
}

void benchmark(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  std::vector<Tensor> outputs = session.make_outputs(inputs);
  BenchmarkRules rules;
  rules.least_runs = std::max(rules.least_runs, *options.benchmark_runs);
  std::vector<double> samples = measure(rules, [&] { session.run(inputs, outputs); });
  for (double& sample : samples) sample *= 1e3;
  Statistics ms = summarize(samples);
  if (!ms.stable) spdlog::warn("the times vary: close other programs, or measure longer (--bench N)");

  const RunConditions conditions = conditions_of(session, inputs);
  double throughput = 1e3 / ms.mean;
  if (options.json) {
    Json json = {{"model", options.model.string()},
                 {"device", options.device.text},
                 {"iterations", samples.size()},
                 {"latency_ms",
                  {{"min", ms.minimum},
                   {"mean", ms.mean},
                   {"median", ms.median},
                   {"p90", ms.p90},
                   {"p95", ms.p95},
                   {"p99", ms.p99}}},
                 {"throughput", throughput}};
    add_conditions(json, conditions);
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("Inputs: {}\n", conditions.inputs_text());
  fmt::print("Throughput: {:.2f} runs/s on {} ({}, {})\n", throughput, counted(session.threads(), "thread"),
             counted(samples.size(), "run"), ms.stable ? "stable" : "not stable");
  fmt::print(
      "Latency: min = {:.3f} ms, max = {:.3f} ms, mean = {:.3f} ms, median = {:.3f} ms, percentile(90%) = {:.3f} ms, "
      "percentile(95%) = {:.3f} ms, percentile(99%) = {:.3f} ms\n",
      ms.minimum, ms.maximum, ms.mean, ms.median, ms.p90, ms.p95, ms.p99);
}

}  // namespace onnxc
