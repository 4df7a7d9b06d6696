// Turns guards into knowledge: sizes that the model forbids are taken out of the symbols' range.
//
// Before: [N, 1, D, H, W], guards `16*((D + 15)//16) == D`, `2*((D + 15)//16) == (D + 7)//8`, ... from the skip
// connections of a U-Net, and tensors of [N, 32, 16*((D + 15)//16), ...]. After: D = 16*q with a new symbol q, no
// guard, and tensors of [N, 32, D, ...], as if the model had been exported for such sizes. Likewise `D == E` makes E be
// D, `30720*N == 30720` makes N be 1, and `D - 4 >= 0` lifts D's lower bound. What was found is left in
// Graph::size_rules.
// Method: the guards on one symbol each give a set of legal sizes (ir/expr/legal_sizes.h), whose intersection is put in
// the symbol's place in the inputs' dims; then shapes are inferred again, and guards that are proven now do not come
// back. Limits: guards on several symbols, other than a symbol alone on one side, and sets like {8*n, 8*n + 7} stay
// guards; the latter are described in the rules.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// The graph's shapes have been inferred. Throws UserError, naming the nodes, when no size is legal.
void apply_size_rules(Graph& graph);

}  // namespace onnxc
