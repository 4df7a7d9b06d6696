// The minimum cut of a directed graph between a source and a sink, by Dinic's algorithm.
#pragma once

#include <cstddef>
#include <vector>

namespace onnxc {

class MinimumCut {
 public:
  // A graph of `count` nodes beside source and sink.
  explicit MinimumCut(size_t count) : edges_(count + 2), source_(count), sink_(count + 1) {}

  // `capacity`: what a cut with `from` on the side of the source and `to` on that of the sink costs; not negative.
  void add_edge(size_t from, size_t to, double capacity);
  void add_edge_from_source(size_t to, double capacity) { add_edge(source_, to, capacity); }
  void add_edge_to_sink(size_t from, double capacity) { add_edge(from, sink_, capacity); }

  // For each node whether a minimum cut has it on the side of the sink; of several cuts the one with the most nodes
  // there.
  std::vector<bool> side_of_sink();

 private:
  struct Edge {
    size_t to, opposite;  // the number of the edge back, among those of `to`
    double capacity;      // that is left
  };

  bool find_distances();
  // Along shortest paths, from the source to the sink; nothing is left afterwards on one edge of the path.
  bool augment();

  std::vector<std::vector<Edge>> edges_;  // of each node
  size_t source_, sink_;
  double total_ = 0;
  std::vector<size_t> distances_, next_;
};

}  // namespace onnxc
