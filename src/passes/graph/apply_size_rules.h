// Turns guards into narrower symbols: sizes that the model forbids are removed from the symbols' ranges.
//
// Before: [N, 1, D, H, W], guards `16*((D + 15)//16) == D`, `2*((D + 15)//16) == (D + 7)//8`, ... from the skip
// connections of a U-Net, and tensors of [N, 32, 16*((D + 15)//16), ...]. After: D = 16*q with a new symbol q, no
// guard, and tensors of [N, 32, D, ...], as if the model had been exported for such sizes. Likewise `D == E` replaces E
// by D, `30720*N == 30720` replaces N by 1, and `D - 4 >= 0` raises D's lower bound. Graph::size_rules records the
// result. Method: the guards on one symbol each give a set of legal sizes (ir/expr/legal_sizes.h); their intersection
// replaces the symbol in the inputs' dims. Then shapes are inferred again, and guards that are now proven do not come
// back. Limits: guards on several symbols (other than with a bare symbol on one side) and sets like {8*n, 8*n + 7} stay
// guards; the rules describe the latter.
#pragma once

#include <set>
#include <string>

#include "ir/graph.h"

namespace onnxc {

// Expects inferred shapes. Throws UserError, naming the nodes, when no size is legal.
void apply_size_rules(Graph& graph);

// One round for a graph whose shapes may not all be inferred: narrows the inputs' dims by the guards that there are.
// Returns whether a dim has changed; the shapes are then out of date. Throws as apply_size_rules does.
bool narrow_by_guards(Graph& graph);

// Takes those of the symbols that may be any size as at least 1; `reason` says why, for people: "a size has 300 parts".
// Returns whether there was one; the shapes are then out of date.
bool narrow_to_nonempty(Graph& graph, const std::set<Symbol>& symbols, const std::string& reason);

}  // namespace onnxc
