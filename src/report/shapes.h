// --dump-shapes: the dtype and symbolic shape of every tensor, and where they come from.
#pragma once

#include <string>

#include "ir/graph.h"

namespace onnxc {

// A graph after shape inference, or after as much of it as went well: `stop` then says why it ended.
//
// The table has a line a node: its name and operator, inputs and outputs with their dims, and where the file declares
// another shape, that. At its end stand the sizes that the symbols may have, where that is known ("D = 16*n"), and the
// guards: other rules that sizes must obey at run time.
std::string shapes_table(const Graph& graph, const std::string& stop = {});

// The same as JSON, format version 1:
//   {"format": "onnxc-shapes", "version": 1,
//    "inputs": [TENSOR...], "outputs": [TENSOR...],
//    "nodes": [{"name", "op_type", "domain", "inputs": [TENSOR or null...], "outputs": [TENSOR or null...]}...],
//    "sizes": [{"symbol", "legal", "reasons"}...],
//    "guards": [{"left", "relation", "right", "reason"}...], "stop": "why inference ended" or null}
// with TENSOR = {"name", "dtype", "dims": [1, "N", "2*D + 1"] or null where unknown}, and "elements" of small integer
// tensors, "declared" where the file says otherwise. Expressions are in Python's syntax over the inputs' symbols.
std::string shapes_json(const Graph& graph, const std::string& stop = {});

}  // namespace onnxc
