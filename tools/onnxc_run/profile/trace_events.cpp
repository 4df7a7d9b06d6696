#include "onnxc_run/profile/trace_events.h"

#include <algorithm>

#include "onnxc_run/reports/json.h"
#include "onnxc_run/steps.h"

namespace onnxc {
namespace {

constexpr int process = 1, thread = 1;

Json complete_event(const std::string& name, const char* category, double begin, double end) {
  return {{"name", name},   {"cat", category}, {"ph", "X"}, {"ts", 1e3 * begin}, {"dur", 1e3 * (end - begin)},
          {"pid", process}, {"tid", thread}};
}

// The modules around a step, the outermost first: "a", "a.b" of "a.b".
std::vector<std::string> modules_around(const StepProfile& step) {
  const auto found = std::ranges::find_if(step.places, [](const SourcePlace& place) { return !place.module.empty(); });
  std::vector<std::string> result;
  if (found == step.places.end()) return result;
  const std::string& path = found->module;
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    result.push_back(path.substr(0, end));
    if (end == std::string::npos) return result;
  }
}

struct OpenModule {
  std::string name;
  double begin, end;
};

// Events nest: those of modules that a step is not in any more end before it.
void close_modules(std::vector<OpenModule>& open, size_t keep, Json& events) {
  while (open.size() > keep) {
    events.push_back(complete_event(open.back().name, "module", open.back().begin, open.back().end));
    open.pop_back();
  }
}

void enter_modules(const StepProfile& step, std::vector<OpenModule>& open, Json& events) {
  const std::vector<std::string> around = modules_around(step);
  size_t same = 0;
  while (same < std::min(open.size(), around.size()) && open[same].name == around[same]) ++same;
  close_modules(open, same, events);
  for (size_t i = same; i < around.size(); ++i) open.push_back({around[i], step.begin, step.end});
  for (OpenModule& module : open) module.end = step.end;
}

Json step_event(const StepProfile& step) {
  Json event = complete_event(step.info.name, "step", step.begin, step.end);
  event["args"] = {{"layers", step_nodes(step.info)}};
  if (step.operations > 0) event["args"]["gflop"] = 1e-9 * step.operations;
  for (const SourcePlace& place : step.places)
    if (place.is_known()) event["args"]["from"].push_back(place.describe());
  return event;
}

}  // namespace

std::string trace_events(const Profile& profile, const std::string& model) {
  Json events = Json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", model}}}});
  std::vector<OpenModule> open;
  for (const StepProfile& step : profile.steps) {
    if (step.end == 0) continue;  // this run left it out
    enter_modules(step, open, events);
    events.push_back(step_event(step));
    events.push_back({{"name", "working memory"},
                      {"ph", "C"},
                      {"ts", 1e3 * step.begin},
                      {"pid", process},
                      {"args", {{"bytes", step.working_bytes}}}});
  }
  close_modules(open, 0, events);
  return json_text({{"displayTimeUnit", "ms"}, {"traceEvents", events}}) + "\n";
}

}  // namespace onnxc
