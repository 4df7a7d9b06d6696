#include "report/node_alignment.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "support/count_text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// A byte each: what is kept for the way back.
constexpr size_t most_cells = size_t{64} << 20;

// A match outweighs what its nodes agree in besides: as many nodes as can be are matched, then the most alike.
int likeness(const NodeKey& before, const NodeKey& after) {
  if (before.type != after.type) return 0;
  const bool same_module = !before.module.empty() && before.module == after.module;
  return 8 + (same_module ? 2 : 0) + (before.name == after.name ? 2 : 0) + (before.outputs == after.outputs ? 1 : 0);
}

enum Move : uint8_t { match, skip_before, skip_after };

// The best moves from each pair of places to the ends, row by row.
std::vector<uint8_t> best_moves(std::span<const NodeKey> before, std::span<const NodeKey> after) {
  const size_t width = after.size();
  std::vector<uint8_t> moves(before.size() * width);
  std::vector<int64_t> below(width + 1), row(width + 1);
  for (size_t i = before.size(); i-- > 0;) {
    row[width] = 0;
    for (size_t j = width; j-- > 0;) {
      const int like = likeness(before[i], after[j]);
      Move move = below[j] >= row[j + 1] ? skip_before : skip_after;
      row[j] = std::max(below[j], row[j + 1]);
      if (like > 0 && below[j + 1] + like >= row[j]) {
        move = match;
        row[j] = below[j + 1] + like;
      }
      moves[i * width + j] = move;
    }
    std::swap(below, row);
  }
  return moves;
}

void align(std::span<const NodeKey> before, std::span<const NodeKey> after, size_t offset,
           std::vector<NodePair>& pairs) {
  user_check(after.empty() || before.size() <= most_cells / after.size(),
             "the models differ in {} and {} in a row, which are too many to tell which are the same", before.size(),
             counted(after.size(), "node"));
  const std::vector<uint8_t> moves = best_moves(before, after);
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    const auto move = static_cast<Move>(i == before.size()  ? skip_after
                                        : j == after.size() ? skip_before
                                                            : moves[i * after.size() + j]);
    NodePair pair;
    if (move != skip_after) pair.before = offset + i++;
    if (move != skip_before) pair.after = offset + j++;
    pairs.push_back(pair);
  }
}

}  // namespace

std::vector<NodePair> align_nodes(const std::vector<NodeKey>& before, const std::vector<NodeKey>& after) {
  const size_t shorter = std::min(before.size(), after.size());
  size_t head = 0, tail = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  std::vector<NodePair> pairs;
  for (size_t i = 0; i < head; ++i) pairs.push_back({i, i});
  align(std::span(before).subspan(head, before.size() - head - tail),
        std::span(after).subspan(head, after.size() - head - tail), head, pairs);
  for (size_t i = tail; i > 0; --i) pairs.push_back({before.size() - i, after.size() - i});
  return pairs;
}

}  // namespace onnxc
