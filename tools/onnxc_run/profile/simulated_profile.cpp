#include "onnxc_run/profile/simulated_profile.h"

#include <dlfcn.h>

#include <map>
#include <sstream>

#include "onnxc_run/reports/json.h"
#include "onnxc_run/reports/run_conditions.h"
#include "onnxc_run/steps.h"
#include "support/text.h"

namespace onnxc {
namespace {

// Exported by the simulator's libamdhip64: a line of JSON for each launch since the last call.
using TakeLaunches = const char* (*)();

TakeLaunches find_simulator() {
  const char* chosen = std::getenv("ONNXC_HIP_LIBRARY");
  for (const char* name : {chosen, "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"}) {
    void* library = name != nullptr ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (library == nullptr) continue;
    auto* take = reinterpret_cast<TakeLaunches>(dlsym(library, "gfx942sim_take_launches"));
    dlclose(library);  // gives back what RTLD_NOLOAD took; the model keeps it open
    return take;
  }
  return nullptr;
}

std::vector<Json> take(TakeLaunches take_launches) {
  std::vector<Json> launches;
  std::istringstream lines(take_launches());
  for (std::string line; std::getline(lines, line);) launches.push_back(Json::parse(line));
  return launches;
}

// Sums over launches.
struct Sums {
  double microseconds = 0;
  std::map<std::string, double> counts;

  void add(const Json& launch) {
    microseconds += launch.at("modelled_us").get<double>();
    for (const auto& [name, value] : launch.items())
      if (value.is_number()) counts[name] += value.get<double>();
  }
  double operator[](const std::string& name) const {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  }
};

Sums sum(const std::vector<Json>& launches) {
  Sums sums;
  for (const Json& launch : launches) sums.add(launch);
  return sums;
}

// The bound of the launch that takes longest.
std::string bound_of(const std::vector<Json>& launches) {
  const Json* longest = nullptr;
  for (const Json& launch : launches)
    if (longest == nullptr || launch.at("modelled_us") > longest->at("modelled_us")) longest = &launch;
  return longest == nullptr ? "-" : longest->at("bound").get<std::string>();
}

// A count in at most six characters.
std::string short_count(double count) {
  if (count < 1e5) return fmt::format("{:.0f}", count);
  if (count < 1e7) return fmt::format("{:.0f}k", count / 1e3);
  return fmt::format("{:.0f}M", count / 1e6);
}

std::string numbers(const Sums& sums, double total) {
  const double flops = sums["matrix_flops"];
  std::string text =
      fmt::format("{:>10.2f} {:>5.1f}% {:>8}", sums.microseconds, total > 0 ? 100 * sums.microseconds / total : 0,
                  flops > 0 ? fmt::format("{:.1f}", flops / sums.microseconds * 1e-6) : "-");
  for (const char* name : {"matrix_instructions", "vector_instructions", "scalar_instructions", "lds_instructions",
                           "lds_cycles", "lds_conflict_cycles", "vector_memory_instructions"})
    text += fmt::format(" {:>7}", short_count(sums[name]));
  text += fmt::format(" {:>8.2f} {:>8.2f}", sums["loaded_bytes"] / (1 << 20), sums["stored_bytes"] / (1 << 20));
  return text;
}

void print_table(const std::vector<onnxc_step_info>& steps, const std::vector<std::vector<Json>>& launches,
                 const RunConditions& conditions) {
  Sums all;
  for (const std::vector<Json>& of_step : launches)
    for (const Json& launch : of_step) all.add(launch);
  fmt::print(
      "  model us  share MFMA TF/s    MFMA    VALU    SALU     LDS LDS cyc conflic    VMEM MiB load MiB stor  bound    "
      "kernel; layers\n");
  for (size_t step = 0; step < steps.size(); ++step) {
    constexpr size_t longest = 60;
    fmt::print("{}  {:<8} {}; {}\n", numbers(sum(launches[step]), all.microseconds), bound_of(launches[step]),
               printable(steps[step].name, longest), step_title(steps[step]));
  }
  fmt::print("{}  all steps\n\ninputs: {}\n", numbers(all, all.microseconds), conditions.inputs_text());
  fmt::print(
      "\non gfx942sim: counted while simulated; the time is a model of an MI300X (docs/gfx942sim.md)\n"
      "MFMA, VALU, SALU, LDS, VMEM are instructions of a wavefront; cyc and conflic cycles of the LDS, in all and lost "
      "to\n"
      "bank conflicts; load and stor what memory instructions move; bound what limits the longest launch\n");
}

void print_json(const std::vector<onnxc_step_info>& infos, const std::vector<std::vector<Json>>& launches,
                const RunConditions& conditions, const RunOptions& options) {
  Json steps = Json::array();
  for (size_t step = 0; step < infos.size(); ++step)
    steps.push_back({{"step", infos[step].name},
                     {"nodes", step_nodes(infos[step])},
                     {"modelled_us", sum(launches[step]).microseconds},
                     {"launches", launches[step]}});
  Json json = {
      {"model", options.model.string()}, {"device", options.device.text}, {"simulator", "gfx942sim"}, {"steps", steps}};
  add_conditions(json, conditions);
  fmt::print("{}\n", json_text(json));
}

}  // namespace

bool runs_on_simulator() { return find_simulator() != nullptr; }

void profile_simulated(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options) {
  const TakeLaunches take_launches = find_simulator();
  const std::vector<onnxc_step_info> steps = session.steps();
  std::vector<std::vector<Json>> launches(steps.size());
  take_launches();
  const std::vector<Tensor> outputs = session.run(inputs, [&](int32_t step, int32_t when) {
    if (when == ONNXC_AFTER_STEP) launches.at(static_cast<size_t>(step)) = take(take_launches);
  });
  if (options.json)
    print_json(steps, launches, conditions_of(session, inputs), options);
  else
    print_table(steps, launches, conditions_of(session, inputs));
}

}  // namespace onnxc
