// --dump-shapes: the dtype and symbolic shape of every tensor, and their sources.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/graph/infer_shapes.h"
#include "report/shape_view.h"

namespace onnxc {

// A graph after shape inference: what is shown of it, and the places at which inference met faults (infer_shapes.h) or
// the compile another reason to stop.
struct ShownShapes {
  const Graph& graph;
  const ShapeView& view;
  std::vector<ShapeFaults::Fault> faults = {};
  std::string stop = {};
};

// "==" or ">=".
const char* relation(const Guard& guard);

// The table has a line a node: its name and operator, its source, inputs and outputs with their dims, and the shape
// that the file declares if that is another; for a node at fault the reason. At its end stand the sizes that the
// symbols may have, if they are known ("D = 16*n"), and the guards: other rules that sizes must obey at run time.
std::string shapes_table(const ShownShapes& shown);

// The same as JSON, format version 1, with the fields of docs/shapes.md: TENSORs are {"name", "dtype", "dims"}, dims
// [1, "N", "2*D + 1"] or null if unknown; expressions are in Python's syntax over the inputs' symbols.
std::string shapes_json(const ShownShapes& shown);

}  // namespace onnxc
