#include "codegen/host/source_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace onnxc {
namespace {

// A part's start costs the compiler about a tenth of a second, this much work about a second.
constexpr int64_t part_cost = 100'000;
constexpr int64_t most_parts = 16;

}  // namespace

SourceParts::Unit SourceParts::add_unit(int64_t cost) {
  costs_.push_back(cost);
  return costs_.size() - 1;
}

// The part of each unit: the largest first, each into the part that has least so far.
std::vector<int> SourceParts::distribute(int parts) const {
  std::vector<Unit> order(costs_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](Unit unit) { return std::pair(-costs_[unit], unit); });
  std::vector<int64_t> loads(static_cast<size_t>(parts), 0);
  std::vector<int> result(costs_.size());
  for (Unit unit : order) {
    const auto least = std::ranges::min_element(loads);
    *least += costs_[unit];
    result[unit] = static_cast<int>(least - loads.begin());
  }
  return result;
}

SourceParts::Source SourceParts::take() {
  const int64_t cost = std::accumulate(costs_.begin(), costs_.end(), int64_t{0});
  const auto parts = static_cast<int>(std::clamp<int64_t>(cost / part_cost, 1, most_parts));
  const std::vector<int> part_of = distribute(parts);
  Source source{{}, parts};
  std::optional<int> open;
  auto enter = [&](std::optional<int> part) {
    if (parts == 1 || part == open) return;
    if (open) source.text += "#endif\n";
    if (part) source.text += fmt::format("#if ONNXC_IN_PART({})\n", *part);
    open = part;
  };
  for (const Piece& piece : pieces_) {
    enter(piece.unit ? std::optional(part_of[*piece.unit]) : std::nullopt);
    source.text += piece.text;
  }
  enter(std::nullopt);
  return source;
}

}  // namespace onnxc
