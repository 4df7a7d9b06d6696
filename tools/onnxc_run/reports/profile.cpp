#include "onnxc_run/reports/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "onnxc_run/memory.h"
#include "onnxc_run/reports/benchmark.h"
#include "onnxc_run/reports/json.h"
#include "onnxc_run/reports/machine_peak.h"
#include "onnxc_run/reports/simulated_profile.h"
#include "onnxc_run/steps.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Clock = std::chrono::steady_clock;

struct StepTime {
  double milliseconds;
  double operations;
};

struct Profile {
  std::vector<onnxc_step_info> infos;
  std::vector<StepTime> steps;    // of each info
  double steps_milliseconds = 0;  // their sum
  double run_milliseconds = 0;
  MachinePeak peak;
  MemoryUse memory;
  int64_t process_bytes = 0;  // the most that this process held

  double share(double milliseconds) const {
    return steps_milliseconds > 0 ? 100 * milliseconds / steps_milliseconds : 0;
  }
};

double gflops(const StepTime& time) { return time.milliseconds > 0 ? time.operations / time.milliseconds * 1e-6 : 0; }

// The positions of the smaller half of the samples, at least one.
std::vector<size_t> faster_half(const std::vector<double>& samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return samples[i]; });
  order.resize((order.size() + 1) / 2);
  return order;
}

Profile measure_profile(Session& session, const std::vector<Tensor>& inputs) {
  const onnxc_api& api = session.api();
  const std::vector<onnxc_step_info> infos = session.steps();
  const size_t step_count = infos.size();
  std::vector<Tensor> outputs = session.make_outputs(inputs);
  std::vector<std::vector<double>> runs;  // the milliseconds of each step
  Clock::time_point start;
  StepHook hook = [&](int32_t step, int32_t when) {
    if (when == ONNXC_BEFORE_STEP)
      start = Clock::now();
    else
      runs.back()[static_cast<size_t>(step)] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  std::vector<double> seconds = measure({.least_seconds = 1}, [&] {
    runs.emplace_back(step_count);
    session.run(inputs, outputs, hook);
  });
  runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(seconds.size()));  // the warm-up

  Profile profile;
  profile.infos = infos;
  for (size_t step = 0; step < step_count; ++step)
    profile.steps.push_back({0, api.step_operations(session.instance(), static_cast<int32_t>(step))});
  const std::vector<size_t> chosen = faster_half(seconds);
  const double weight = 1 / static_cast<double>(chosen.size());
  for (size_t run : chosen) {
    profile.run_milliseconds += 1e3 * seconds[run] * weight;
    for (size_t step = 0; step < step_count; ++step) profile.steps[step].milliseconds += runs[run][step] * weight;
  }
  for (const StepTime& step : profile.steps) profile.steps_milliseconds += step.milliseconds;
  profile.memory = memory_use(session, inputs, outputs);
  profile.process_bytes = process_peak_bytes();
  profile.peak = measure_machine_peak(session.threads());
  return profile;
}

// What steps are summed up by: "loops copy" and "conv_direct" of "conv_direct 3x3x3 64->64".
std::string kind_of(const std::string& step) {
  const size_t first = step.find(' ');
  return step.starts_with("loops ") ? step : step.substr(0, first);
}

struct KindTime {
  std::string kind;
  StepTime time;
  int steps;
};

std::vector<KindTime> times_by_kind(const Profile& profile) {
  std::map<std::string, KindTime> kinds;
  for (size_t step = 0; step < profile.infos.size(); ++step) {
    const StepTime& time = profile.steps[step];
    std::string kind = kind_of(profile.infos[step].name);
    KindTime& sum = kinds.try_emplace(kind, KindTime{kind, {}, 0}).first->second;
    sum.time.milliseconds += time.milliseconds;
    sum.time.operations += time.operations;
    ++sum.steps;
  }
  std::vector<KindTime> sorted;
  for (auto& [kind, time] : kinds) sorted.push_back(std::move(time));
  std::ranges::sort(sorted, std::ranges::greater(), [](const KindTime& kind) { return kind.time.milliseconds; });
  return sorted;
}

void print_json(const Profile& profile, const Session& session, const RunOptions& options) {
  Json steps = Json::array();
  for (size_t step = 0; step < profile.infos.size(); ++step) {
    const StepTime& time = profile.steps[step];
    const double rate = gflops(time);
    steps.push_back({{"step", profile.infos[step].name},
                     {"nodes", step_nodes(profile.infos[step])},
                     {"ms", time.milliseconds},
                     {"percentage", profile.share(time.milliseconds)},
                     {"gflops", rate > 0 ? Json(rate) : Json()}});
  }
  Json json = {{"model", options.model.string()},
               {"device", options.device},
               {"threads", session.threads()},
               {"run_ms", profile.run_milliseconds},
               {"peak_gflops", profile.peak.gflops},
               {"peak_gigabytes_read", profile.peak.gigabytes_read},
               {"memory", memory_json(profile.memory)},
               {"process_peak_bytes", profile.process_bytes},
               {"steps", steps}};
  fmt::print("{}\n", json_text(json));
}

constexpr std::string_view legend =
    "share    of the time of all steps\n"
    "of peak  operations of the layer's definition over this machine's peak; a Winograd kernel needs fewer, and may "
    "pass "
    "100%\n"
    "kernel   a kernel template and its shape, such as 'conv_direct 3x3x3 64->64' (filter, input -> output channels);\n"
    "         'loops NAME' is code generated for one layer or several fused ones, 'copy' changes a tensor's layout\n"
    "layers   the model's nodes that the step computes, each 'name (operator)'; after a + come those fused into it\n";

// The columns of numbers, for a step or a kind of steps.
std::string numbers(const Profile& profile, const StepTime& time) {
  const double rate = gflops(time);
  std::string text = fmt::format("{:>10.3f} {:>6.1f}%", time.milliseconds, profile.share(time.milliseconds));
  if (rate == 0) return text + fmt::format(" {:>9} {:>7}", "-", "-");
  return text + fmt::format(" {:>9.1f} {:>6.0f}%", rate, 100 * rate / profile.peak.gflops);
}

void print_table(const Profile& profile, int threads) {
  constexpr std::string_view head = "        ms   share   GFLOP/s of peak  ";
  constexpr size_t longest = 48;
  size_t width = 4;
  for (const onnxc_step_info& step : profile.infos) width = std::max(width, printable(step.name, longest).size());
  fmt::print("{}{:<{}}  layers\n", head, "kernel", width);
  for (size_t step = 0; step < profile.infos.size(); ++step)
    fmt::print("{}  {:<{}}  {}\n", numbers(profile, profile.steps[step]), printable(profile.infos[step].name, longest),
               width, step_title(profile.infos[step]));
  fmt::print("\n{}kind of kernel\n", head);
  for (const KindTime& kind : times_by_kind(profile))
    fmt::print("{}  {} ({} step{})\n", numbers(profile, kind.time), printable(kind.kind, longest), kind.steps,
               kind.steps == 1 ? "" : "s");
  fmt::print("\n{:>10.3f} ms in {} steps; a whole run takes {:.3f} ms on {} thread{}\n", profile.steps_milliseconds,
             profile.infos.size(), profile.run_milliseconds, threads, threads == 1 ? "" : "s");
  fmt::print("peak of this machine on {} thread{}: {:.1f} GFLOP/s of multiply-adds, {:.1f} GB/s read from memory\n",
             threads, threads == 1 ? "" : "s", profile.peak.gflops, profile.peak.gigabytes_read);
  fmt::print("{}; this process held {:.1f} MiB at most\n", memory_text(profile.memory),
             static_cast<double>(profile.process_bytes) / (1 << 20));
  fmt::print("\n{}", legend);
}

}  // namespace

void profile(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  if (options.device == "hip" && runs_on_simulator()) {
    profile_simulated(session, inputs, options);
    return;
  }
  Profile profile = measure_profile(session, inputs);
  if (options.json)
    print_json(profile, session, options);
  else
    print_table(profile, session.threads());
}

}  // namespace onnxc
