// Counting what is chosen among the elements of a line: the place of each among those chosen, and how many there are.
#pragma once

#include "ops/define_context.h"

namespace onnxc {

// How many of the first elements are chosen, up to each: counts[i] = counts[i - 1] + chosen(i), as
// ir/loops/running_fold.h has it.
Operand running_count(DefineContext& c, const Expr& extent, const std::function<Scalar(const Expr& i)>& chosen);

// The last of the counts, 0 if there is none.
Scalar total(const Operand& counts);

// The place of a chosen element among those chosen.
Expr place_of(NestBuilder& nest, const Operand& counts, const Expr& i);

}  // namespace onnxc
