#include "ir/node_pattern.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

bool fits_node(const std::string& pattern, const Origin& origin) {
  const auto matches = [&](const std::string& text) { return fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
  return matches(origin.name) || matches(origin.type) || matches(origin.place.module) || matches(origin.place.line);
}

bool fits_any(const std::vector<std::string>& patterns, const Origin& origin) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return fits_node(pattern, origin); });
}

void check_patterns(std::string_view option, const std::vector<std::string>& patterns,
                    const std::vector<const Graph*>& graphs) {
  for (const std::string& pattern : patterns) {
    const auto has_node = [&](const Graph* graph) {
      return std::ranges::any_of(graph->nodes(), [&](const auto& node) { return fits_node(pattern, node->origin); });
    };
    if (std::ranges::any_of(graphs, has_node)) continue;
    throw UsageError(fmt::format(
        "{} {}: no node has such a name, operator, module or source line; '*' stands for any text, as in '*up*'",
        option, quote(pattern)));
  }
}

}  // namespace onnxc
