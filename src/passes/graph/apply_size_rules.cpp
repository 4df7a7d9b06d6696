#include "passes/graph/apply_size_rules.h"

#include "passes/graph/infer_shapes.h"
#include "passes/graph/narrow_dims.h"

namespace onnxc {

void apply_size_rules(Graph& graph) {
  constexpr int most_rounds = 20;  // each but the last takes a symbol or some of its sizes away
  for (int round = 0; round < most_rounds && narrow_by_guards(graph); ++round) infer_shapes_again(graph);
}

}  // namespace onnxc
