// Sequences and optionals. A program has none: what tensors a sequence holds, and whether an optional holds one, is
// known when the model is compiled. While shapes are inferred, a value of these types is made by a row of its own:
//
//   Sequence    inputs: its tensors, in order; output: the sequence
//   Stack       input: [tensors, ...]; output: the sequence of these, whose number only a run may know
//   NoElement   no inputs; output: an optional that holds nothing (one that holds something is what it holds)
//   Identity, If   the operators' meaning if they hand on such values
//   MapInput    inputs: an input of a SequenceMap, the number of the round; output: what the round has of it
//
// The operators on them have expansions that read these nodes, and nodes that hand such values on are replaced by
// passes/graph/expand_sequences. When all shapes are inferred, nobody uses these rows any more.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onnxc {

bool is_sequence(const Value* value);
bool is_stack(const Value* value);
bool is_no_element(const Value* value);
// Whether the value is not a tensor.
bool is_sequence_or_optional(const Value* value);
// The tensors of a Sequence.
const std::vector<Value*>& tensors_of(const Value& sequence);
// The value's name in messages: "a sequence of 3 tensors".
std::string kind_of(const Value& value);
// Whether the operator's own expansion takes such inputs.
bool takes_sequences(const Node& node);

}  // namespace onnxc
