#include "report/size_lines.h"

#include <algorithm>

namespace onnxc {
namespace {

// Which size, and which node: without the axis, in which the rules of D and H differ.
std::string demand(const SizeRule& rule) {
  const std::string reason = rule.reasons.empty() ? "" : rule.reasons.front();
  return rule.legal + ": " + reason.substr(0, reason.rfind(": "));
}

}  // namespace

std::string SizeLine::text() const { return symbols + first->describe().substr(first->symbol.name().size()); }

std::vector<SizeLine> size_lines(const std::vector<SizeRule>& rules) {
  std::vector<SizeLine> lines;
  for (const SizeRule& rule : rules) {
    auto same = std::ranges::find_if(lines, [&](const SizeLine& line) { return demand(*line.first) == demand(rule); });
    if (same == lines.end())
      lines.push_back({rule.symbol.name(), &rule});
    else
      same->symbols += ", " + rule.symbol.name();
  }
  return lines;
}

}  // namespace onnxc
