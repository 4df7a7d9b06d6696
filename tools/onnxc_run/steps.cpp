#include "onnxc_run/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "support/text.h"

namespace onnxc {
namespace {

std::vector<std::string> lines(const char* of) {
  std::string_view text = of == nullptr ? "" : of;
  std::vector<std::string> result;
  while (!text.empty()) {
    size_t end = text.find('\n');
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (end != std::string_view::npos && text.empty()) result.emplace_back();
  }
  return result;
}

}  // namespace

std::vector<std::string> step_nodes(const onnxc_step_info& step) {
  std::vector<std::string> names = lines(step.nodes), operators = lines(step.operators);
  std::vector<std::string> result;
  for (size_t i = 0; i < operators.size(); ++i) {
    bool named = i < names.size() && !names[i].empty();
    result.push_back(named ? fmt::format("{} ({})", names[i], operators[i]) : operators[i]);
  }
  return result;
}

std::vector<SourcePlace> step_places(const Session& session, int32_t step) {
  const onnxc_api& api = session.api();
  onnxc_step_source source{};
  if (api.table_size <= offsetof(onnxc_api, instance_step_source)) return {};
  if (api.instance_step_source(session.instance(), step, &source) != ONNXC_OK) return {};
  const std::vector<std::string> modules = lines(source.modules), files = lines(source.lines),
                                 code = lines(source.code);
  const auto line_of = [](const std::vector<std::string>& texts, size_t i) { return i < texts.size() ? texts[i] : ""; };
  std::vector<SourcePlace> places;
  for (size_t i = 0; i < std::max({modules.size(), files.size(), code.size()}); ++i)
    places.push_back({line_of(modules, i), line_of(files, i), line_of(code, i)});
  return places;
}

std::string step_place(const Session& session, int32_t step) {
  const std::vector<SourcePlace> places = step_places(session, step);
  const auto known = std::ranges::find_if(places, &SourcePlace::is_known);
  return known == places.end() ? "" : known->describe();
}

int64_t step_working_bytes(const Session& session, int32_t step) {
  const onnxc_api& api = session.api();
  if (api.table_size <= offsetof(onnxc_api, instance_step_bytes)) return 0;
  return api.instance_step_bytes(session.instance(), step);
}

double step_traffic(const Session& session, int32_t step) {
  const onnxc_api& api = session.api();
  if (api.table_size <= offsetof(onnxc_api, instance_step_traffic)) return 0;
  return api.instance_step_traffic(session.instance(), step);
}

std::string step_title(const onnxc_step_info& step) {
  std::vector<std::string> nodes = step_nodes(step);
  return printable(nodes.empty() ? step.name : fmt::format("{}", fmt::join(nodes, " + ")));
}

}  // namespace onnxc
