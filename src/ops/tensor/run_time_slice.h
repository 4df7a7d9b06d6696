// A Slice whose axes or steps only a run knows.
#pragma once

#include "ops/define_context.h"
#include "ops/infer_context.h"

namespace onnxc {

bool is_slice_decided_by_run(const NodeReader& node);
void infer_run_time_slice(InferContext& c);
void define_run_time_slice(DefineContext& c);

}  // namespace onnxc
