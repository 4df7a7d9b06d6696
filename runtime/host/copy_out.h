// Copies a tensor from its physical layout to row-major memory: for traces, so it is small before it is fast.
#pragma once

#include "base/model.h"

namespace onnxc::runtime {

// `first` is the tensor's first element, `axes` its `rank` axes; elements have 1, 2, 4 or 8 bytes.
void copy_out(const void* first, int64_t element_size, const PlacedAxis* axes, int32_t rank, void* row_major);

}  // namespace onnxc::runtime
