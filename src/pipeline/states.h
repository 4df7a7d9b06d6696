// The states that --state asks for: which graphs have them, and whether an output fits the input that it becomes.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "pipeline/options.h"

namespace onnxc {

// One of several graphs may have only the input or only the output, as that of a video's first frames has.
// UsageError for a name that none has.
void check_state_names(const std::vector<StateNames>& states, const std::vector<const Graph*>& graphs);

// Once shapes are known: an output has the type and rank of its input, and its dims; dims that are not known to be
// equal become guards. The other inputs give all sizes of a state. UserError if not.
void check_states(const std::vector<StateNames>& states, Graph& graph);

// States of one name are the same memory in all programs of a file. UserError if their types or dims differ.
void check_shared_states(const std::vector<const Program*>& programs);

}  // namespace onnxc
