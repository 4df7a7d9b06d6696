// Calls of softmax.h, as attention sees them. Their offer: kernel_rows.h.
#pragma once

#include "codegen/cpu/call/kernel_spec.h"

namespace onnxc {

class SoftmaxCallSpec : public CpuKernelSpec {
 public:
  // Whether it is a Softmax (not a LogSoftmax) over the last axis.
  virtual bool is_softmax_of_rows() const = 0;
};

}  // namespace onnxc
