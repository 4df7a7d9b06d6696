// Checks a model.so tensor by tensor: against an -O0 compile of the model it came from, or against onnxruntime.
#pragma once

#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// Runs the session, and has options.verify computed on the same inputs (reference.h, options.verify_with); compares
// each tensor that both have, by its ONNX name, in the order of the run. A tensor is equal when |actual - expected| <=
// atol + rtol * (largest magnitude of the tensor). A fused kernel sums in another order, so an element near zero has no
// small relative error. It also is when it is not many times as far off as the tensors before it, since rounding errors
// grow through a deep network. For a model that --precision stores in 16 bits it prints the error of each tensor
// against float32, and the tolerance is the 16-bit type's. Prints what differs, and names the first tensor that does,
// its node and the node's source. True when nothing does.
bool verify(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options);

}  // namespace onnxc
