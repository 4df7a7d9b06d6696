#include "passes/lowering/minimum_cut.h"

#include <algorithm>
#include <limits>

namespace onnxc {
namespace {

constexpr size_t unreached = std::numeric_limits<size_t>::max();
// A capacity that is a smaller part of the sum of all is left only by rounding.
constexpr double rounding = 1e-15;

}  // namespace

void MinimumCut::add_edge(size_t from, size_t to, double capacity) {
  if (capacity <= 0) return;
  edges_[from].push_back({to, edges_[to].size(), capacity});
  edges_[to].push_back({from, edges_[from].size() - 1, 0});
  total_ += capacity;
}

bool MinimumCut::find_distances() {
  distances_.assign(edges_.size(), unreached);
  distances_[source_] = 0;
  std::vector<size_t> reached = {source_};
  for (size_t i = 0; i < reached.size(); ++i)
    for (const Edge& edge : edges_[reached[i]])
      if (edge.capacity > rounding * total_ && distances_[edge.to] == unreached) {
        distances_[edge.to] = distances_[reached[i]] + 1;
        reached.push_back(edge.to);
      }
  return distances_[sink_] != unreached;
}

bool MinimumCut::augment() {
  std::vector<Edge*> path;
  for (size_t node = source_; node != sink_;) {
    size_t& next = next_[node];
    while (next < edges_[node].size() && !(edges_[node][next].capacity > rounding * total_ &&
                                           distances_[edges_[node][next].to] == distances_[node] + 1))
      ++next;
    if (next < edges_[node].size()) {
      path.push_back(&edges_[node][next]);
      node = path.back()->to;
    } else {
      if (path.empty()) return false;
      // A dead end: back, and on with the next edge.
      node = edges_[node][path.back()->opposite].to;
      path.pop_back();
      ++next_[node];
    }
  }
  const double flow = (*std::ranges::min_element(path, {}, &Edge::capacity))->capacity;
  for (Edge* edge : path) {
    edge->capacity -= flow;
    edges_[edge->to][edge->opposite].capacity += flow;
  }
  return true;
}

std::vector<bool> MinimumCut::side_of_sink() {
  while (find_distances()) {
    next_.assign(edges_.size(), 0);
    while (augment()) {
    }
  }
  std::vector<bool> result;
  for (size_t node = 0; node < source_; ++node) result.push_back(distances_[node] == unreached);
  return result;
}

}  // namespace onnxc
