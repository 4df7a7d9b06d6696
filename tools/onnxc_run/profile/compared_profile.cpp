#include "onnxc_run/profile/compared_profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "onnxc_run/reports/json.h"
#include "onnxc_run/steps.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

// Sets that grow together (B. Galler, M. Fischer: An improved equivalence algorithm, 1964).
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), size_t{0}); }
  size_t find(size_t element) {
    while (parents_[element] != element) element = parents_[element] = parents_[parents_[element]];
    return element;
  }
  void join(size_t a, size_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<size_t> parents_;
};

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

}  // namespace

RecordedProfile record(const Profile& profile, const RunOptions& options) {
  RecordedProfile recorded;
  recorded.model = options.model.string();
  recorded.conditions = profile.conditions;
  recorded.run_milliseconds = profile.run_milliseconds;
  recorded.peak_gflops = profile.peak.gflops;
  for (const StepProfile& step : profile.steps)
    recorded.steps.push_back({step.info.name, step_nodes(step.info), step.milliseconds});
  return recorded;
}

RecordedProfile read_profile(const std::filesystem::path& file) {
  RecordedProfile recorded;
  try {
    const Json json = Json::parse(map_file(file)->text());
    recorded.model = json.at("model").get<std::string>();
    recorded.conditions = read_conditions(json);
    recorded.run_milliseconds = json.at("run_ms").get<double>();
    recorded.peak_gflops = json.at("peak_gflops").get<double>();
    for (const Json& step : json.at("steps"))
      recorded.steps.push_back({step.at("step").get<std::string>(), step.at("nodes").get<std::vector<std::string>>(),
                                step.at("ms").get<double>()});
  } catch (const Json::exception&) {
    user_error("{}: this is not what onnxc-run --profile --json writes", quote(file.string()));
  }
  return recorded;
}

void check_same_conditions(const std::filesystem::path& file, const RunConditions& before, const RunConditions& now) {
  user_check(before == now,
             "{} is of another run: {}; this one has {}. Give it the same inputs and threads, or compare all the same "
             "with --compare-anyway",
             quote(file.string()), before.text(), now.text());
}

std::vector<ComparedSteps> compare_steps(const RecordedProfile& before, const RecordedProfile& now) {
  std::vector<const RecordedProfile::Step*> steps;
  for (const RecordedProfile* run : {&before, &now})
    for (const RecordedProfile::Step& step : run->steps) steps.push_back(&step);
  Sets sets(steps.size());
  std::map<std::string, size_t> of_layer;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto join = [&](const std::string& layer) { sets.join(i, of_layer.try_emplace(layer, i).first->second); };
    std::ranges::for_each(steps[i]->layers, join);
    if (steps[i]->layers.empty()) join("\n" + steps[i]->kernel);  // which is not a layer's name
  }
  std::map<size_t, ComparedSteps> found;
  for (size_t i = 0; i < steps.size(); ++i) {
    ComparedSteps& compared = found[sets.find(i)];
    const bool is_before = i < before.steps.size();
    (is_before ? compared.before : compared.now) += steps[i]->milliseconds;
    add_once(is_before ? compared.kernels_before : compared.kernels_now, steps[i]->kernel);
    for (const std::string& layer : steps[i]->layers) add_once(compared.layers, layer);
  }
  std::vector<ComparedSteps> result;
  for (auto& [set, compared] : found) result.push_back(std::move(compared));
  std::ranges::sort(result, std::ranges::greater(),
                    [](const ComparedSteps& compared) { return std::abs(compared.now - compared.before); });
  return result;
}

}  // namespace onnxc
