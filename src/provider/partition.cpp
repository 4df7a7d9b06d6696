#include "provider/partition.h"

#include <algorithm>
#include <map>

namespace onnxc::provider {

std::vector<std::vector<size_t>> partition(const std::vector<std::vector<size_t>>& predecessors,
                                           const std::vector<bool>& is_left) {
  std::vector<size_t> level(predecessors.size(), 0);
  std::map<size_t, std::vector<size_t>> parts;
  for (size_t node = 0; node < predecessors.size(); ++node) {
    for (const size_t before : predecessors[node]) {
      const bool leaves_part = is_left[node] && !is_left[before];
      level[node] = std::max(level[node], level[before] + (leaves_part ? 1 : 0));
    }
    if (!is_left[node]) parts[level[node]].push_back(node);
  }
  std::vector<std::vector<size_t>> result;
  for (auto& [_, nodes] : parts) result.push_back(std::move(nodes));
  std::ranges::sort(result, [](const auto& left, const auto& right) {
    return left.size() != right.size() ? left.size() > right.size() : left < right;
  });
  return result;
}

}  // namespace onnxc::provider
