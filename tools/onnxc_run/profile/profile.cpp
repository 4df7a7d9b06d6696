#include "onnxc_run/profile/profile.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "onnxc_run/profile/measured_profile.h"
#include "onnxc_run/profile/profile_page.h"
#include "onnxc_run/profile/simulated_profile.h"
#include "onnxc_run/profile/trace_events.h"
#include "onnxc_run/reports/json.h"
#include "onnxc_run/steps.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

Json places_json(const StepProfile& step) {
  Json places = Json::array();
  for (const SourcePlace& place : step.places)
    places.push_back(place.is_known() ? Json{{"module", place.module}, {"line", place.line}, {"code", place.code}}
                                      : Json());
  return places;
}

void print_json(const Profile& profile, const RunOptions& options) {
  Json steps = Json::array(), modules = Json::array();
  for (const StepProfile& step : profile.steps) {
    const double rate = gigaflops(step.operations, step.milliseconds);
    steps.push_back({{"step", step.info.name},
                     {"nodes", step_nodes(step.info)},
                     {"sources", places_json(step)},
                     {"ms", step.milliseconds},
                     {"percentage", profile.share(step.milliseconds)},
                     {"gflops", rate > 0 ? Json(rate) : Json()},
                     {"operations", step.operations > 0 ? Json(step.operations) : Json()},
                     {"bytes", step.traffic > 0 ? Json(step.traffic) : Json()},
                     {"working_bytes", step.working_bytes}});
  }
  for (const SummedTime& module : times_by_module(profile))
    modules.push_back({{"module", module.name},
                       {"ms", module.milliseconds},
                       {"percentage", profile.share(module.milliseconds)},
                       {"steps", module.steps}});
  Json json = {{"model", options.model.string()},
               {"device", options.device.text},
               {"run_ms", profile.run_milliseconds},
               {"peak_gflops", profile.peak.gflops},
               {"peak_gigabytes_read", profile.peak.gigabytes_read},
               {"memory", memory_json(profile.memory)},
               {"process_peak_bytes", profile.process_bytes},
               {"steps", steps},
               {"modules", modules}};
  add_conditions(json, profile.conditions);
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

// The columns of numbers, for a step or a sum of steps.
std::string numbers(const Profile& profile, double milliseconds, double operations) {
  const double rate = gigaflops(operations, milliseconds);
  std::string text = fmt::format("{:>10.3f} {:>6.1f}%", milliseconds, profile.share(milliseconds));
  if (rate == 0) return text + fmt::format(" {:>9} {:>7}", "-", "-");
  return text + fmt::format(" {:>9.1f} {:>6.0f}%", rate, 100 * rate / profile.peak.gflops);
}

constexpr std::string_view head = "        ms   share   GFLOP/s of peak  ";

void print_steps(const Profile& profile) {
  constexpr size_t longest = 48;
  size_t width = 4;
  for (const StepProfile& step : profile.steps) width = std::max(width, printable(step.info.name, longest).size());
  fmt::print("{}{:<{}}  layers\n", head, "kernel", width);
  for (const StepProfile& step : profile.steps) {
    const auto known = std::ranges::find_if(step.places, [](const SourcePlace& place) { return place.is_known(); });
    fmt::print("{}  {:<{}}  {}{}\n", numbers(profile, step.milliseconds, step.operations),
               printable(step.info.name, longest), width, step_title(step.info),
               known == step.places.end() ? "" : fmt::format("  [{}]", known->describe()));
  }
}

// Small ones are left to the page and to JSON.
void print_modules(const Profile& profile) {
  constexpr double least_share = 1;
  const std::vector<SummedTime> modules = times_by_module(profile);
  if (modules.empty()) return;
  fmt::print("\n{}module, with all in it; of {}% and more\n", head, least_share);
  for (const SummedTime& module : modules)
    if (profile.share(module.milliseconds) >= least_share)
      fmt::print("{}  {:{}}{} ({} step{})\n", numbers(profile, module.milliseconds, module.operations), "",
                 2 * module.depth, printable(module.name), module.steps, module.steps == 1 ? "" : "s");
}

void print_table(const Profile& profile) {
  const int threads = profile.conditions.threads;
  print_steps(profile);
  print_modules(profile);
  fmt::print("\n{}kind of kernel\n", head);
  for (const SummedTime& kind : times_by_kind(profile))
    fmt::print("{}  {} ({})\n", numbers(profile, kind.milliseconds, kind.operations), printable(kind.name, 48),
               counted(kind.steps, "step"));
  fmt::print("\n{:>10.3f} ms in {}; a whole run takes {:.3f} ms on {}\n", profile.steps_milliseconds,
             counted(profile.steps.size(), "step"), profile.run_milliseconds, counted(threads, "thread"));
  fmt::print("inputs: {}\n", profile.conditions.inputs_text());
  fmt::print("peak of this machine on {}: {:.1f} GFLOP/s of multiply-adds, {:.1f} GB/s read from memory\n",
             counted(threads, "thread"), profile.peak.gflops, profile.peak.gigabytes_read);
  fmt::print("{}; this process held {:.1f} MiB at most\n", memory_text(profile.memory),
             static_cast<double>(profile.process_bytes) / (1 << 20));
  fmt::print("\n{}", legend);
}

void write(const std::string& path, const std::string& text) {
  write_file(path, text);
  spdlog::info("wrote {}", printable(path));
}

}  // namespace

void profile(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  const std::string page = options.profile.value_or("");
  // Before what takes seconds.
  std::optional<RecordedProfile> earlier;
  if (!options.against.empty()) earlier = read_profile(options.against);
  if (options.device.is_gpu && runs_on_simulator()) {
    user_check(page.empty() && options.trace_events.empty(),
               "the simulator counts, and measures no times: give --profile or --profile --json");
    profile_simulated(session, inputs, options);
    return;
  }
  if (earlier && !options.compares_anyway)
    check_same_conditions(options.against, earlier->conditions, conditions_of(session, inputs));
  const Profile measured = measure_profile(session, inputs);
  if (!options.trace_events.empty())
    write(options.trace_events, trace_events(measured, options.model.filename().string()));
  if (!page.empty()) write(page, profile_page(measured, session, options, earlier));
  if (!options.profile || !page.empty()) return;
  if (options.json)
    print_json(measured, options);
  else
    print_table(measured);
}

}  // namespace onnxc
