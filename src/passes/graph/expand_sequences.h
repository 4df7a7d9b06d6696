// Nodes that hand on sequences and optionals (ops/control/sequence.h) without looking into them become nodes of
// tensors:
//
//   Identity          of each tensor
//   If                one for each tensor, if both branches give as many
//   Loop              its rounds one after the other, if their number is known; else what a round adds to an empty
//                     sequence becomes a tensor that the loop collects
//   model outputs     the output 's' becomes the outputs 's[0]', 's[1]', …, one a tensor
//
// before: s = Sequence(a, b)  y = Loop(3, true, s) <body: t = SequenceInsert(s, x)>
// after:  t = SequenceInsert(s, x)  t@1 = SequenceInsert(t, x)  t@2 = SequenceInsert(t@1, x)  y = Identity(t@2)
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Replaces such a node, whose inputs have been visited, by others that have not. Returns the first of them, or null if
// no input of the node is a sequence or an optional, or its operator takes them. UserError if it only takes tensors, or
// if what the sequence holds would only be known in a run.
const Node* expand_sequences(Graph& graph, Node& node);

// Replaces the graph's outputs that are sequences. Returns the first node that was put, or null. UserError for an
// output that is an optional without an element, and if no output is left.
const Node* spread_output_sequences(Graph& graph);

}  // namespace onnxc
