#include "onnxc_run/profile/measured_profile.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "onnxc_run/reports/benchmark.h"
#include "onnxc_run/steps.h"

namespace onnxc {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// The positions of the smaller half of the samples, at least one.
std::vector<size_t> faster_half(const std::vector<double>& samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return samples[i]; });
  order.resize((order.size() + 1) / 2);
  return order;
}

std::vector<StepProfile> describe_steps(Session& session) {
  std::vector<StepProfile> steps;
  for (const onnxc_step_info& info : session.steps()) {
    const auto step = static_cast<int32_t>(steps.size());
    steps.push_back({.info = info, .places = step_places(session, step)});
  }
  return steps;
}

}  // namespace

double gigaflops(double operations, double milliseconds) {
  return milliseconds > 0 ? operations / milliseconds * 1e-6 : 0;
}

Profile measure_profile(Session& session, const std::vector<Tensor>& inputs) {
  Profile profile;
  profile.steps = describe_steps(session);
  profile.conditions = conditions_of(session, inputs);
  std::vector<Tensor> outputs = session.make_outputs(inputs);
  std::vector<std::vector<double>> runs;  // the milliseconds of each step
  Clock::time_point begin_of_run, start;
  StepHook hook = [&](int32_t step, int32_t when) {
    if (when == ONNXC_BEFORE_STEP) {
      start = Clock::now();
      return;
    }
    const Clock::time_point end = Clock::now();
    StepProfile& of_step = profile.steps.at(static_cast<size_t>(step));
    of_step.begin = milliseconds_between(begin_of_run, start);
    of_step.end = milliseconds_between(begin_of_run, end);
    runs.back()[static_cast<size_t>(step)] = milliseconds_between(start, end);
  };
  std::vector<double> seconds = measure({.least_seconds = 1}, [&] {
    runs.emplace_back(profile.steps.size());
    for (StepProfile& step : profile.steps) step.begin = step.end = 0;
    begin_of_run = Clock::now();
    session.run(inputs, outputs, hook);
  });
  runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(seconds.size()));  // the warm-up

  const std::vector<size_t> chosen = faster_half(seconds);
  const double weight = 1 / static_cast<double>(chosen.size());
  for (size_t run : chosen) {
    profile.run_milliseconds += 1e3 * seconds[run] * weight;
    for (size_t step = 0; step < profile.steps.size(); ++step)
      profile.steps[step].milliseconds += runs[run][step] * weight;
  }
  const onnxc_api& api = session.api();
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    StepProfile& step = profile.steps[i];
    profile.steps_milliseconds += step.milliseconds;
    step.operations = api.step_operations(session.instance(), static_cast<int32_t>(i));
    step.traffic = step_traffic(session, static_cast<int32_t>(i));
    step.working_bytes = step_working_bytes(session, static_cast<int32_t>(i));
  }
  profile.memory = memory_use(session, inputs, outputs);
  profile.process_bytes = process_peak_bytes();
  profile.peak = measure_machine_peak(session.threads());
  return profile;
}

}  // namespace onnxc
