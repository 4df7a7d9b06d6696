// The steps after the statistics in InstanceNormalization and GroupNormalization, for targets that have kernels for
// these.
#pragma once

#include <functional>

#include "ops/define_context.h"

namespace onnxc {

// The statistics of a channel of an image: its mean, the mean's rounding residue, and the population variance, in the
// type that the input is computed with.
struct InstanceStatistics {
  Scalar mean, residue, variance;
};

// Writes the nests that normalise by given statistics; a place is {image, channel}.
void define_normalized_by_instance(DefineContext& c,
                                   const std::function<InstanceStatistics(const std::vector<Expr>& place)>& statistics);

}  // namespace onnxc
