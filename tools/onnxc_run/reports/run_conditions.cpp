#include "onnxc_run/reports/run_conditions.h"

#include <fmt/ranges.h>

#include "onnxc_run/reports/json.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

// From "--target cpu --precision bfloat16 -O3".
std::string precision_of(const std::string& options) {
  constexpr std::string_view option = "--precision ";
  const size_t found = options.find(option);
  if (found == std::string::npos) return "float32";
  const size_t start = found + option.size();
  return options.substr(start, options.find(' ', start) - start);
}

std::string precision_of_model(const onnxc_api& api) {
  const Json information = Json::parse(api.information, nullptr, false);
  return precision_of(information.is_object() ? information.value("options", "") : "");
}

}  // namespace

std::string RunConditions::inputs_text() const {
  std::vector<std::string> texts;
  for (const auto& [name, dims] : inputs)
    texts.push_back(dims.empty() ? fmt::format("{} scalar", printable(name))
                                 : fmt::format("{} {}", printable(name), fmt::join(dims, "x")));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string RunConditions::text() const {
  return fmt::format("{}; {}; {}", inputs_text(), counted(threads, "thread"), precision);
}

RunConditions conditions_of(const Session& session, const std::vector<Tensor>& inputs) {
  RunConditions conditions{.inputs = {}, .threads = session.threads(), .precision = precision_of_model(session.api())};
  for (size_t i = 0; i < inputs.size(); ++i)
    conditions.inputs.emplace(session.api().input(static_cast<int32_t>(i))->name, inputs[i].dims());
  return conditions;
}

void add_conditions(Json& json, const RunConditions& conditions) {
  json["inputs"] = conditions.inputs;
  json["threads"] = conditions.threads;
  json["precision"] = conditions.precision;
}

RunConditions read_conditions(const Json& json) {
  return {json.at("inputs").get<std::map<std::string, std::vector<int64_t>>>(), json.at("threads").get<int>(),
          json.at("precision").get<std::string>()};
}

}  // namespace onnxc
