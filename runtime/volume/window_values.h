// The values of runs over windows on the CPU, and their memory.
#pragma once

#include "base/arena.h"
#include "base/array.h"
#include "base/error_text.h"
#include "gpu/backend.h"
#include "volume/objects.h"

namespace onnxc::runtime {

class WindowValues {
 public:
  // The values of the model's inputs and then of its outputs.
  onnxc_status make(const Array<WindowBuffer>& buffers, ErrorText& error);

  float* data(int64_t value) const { return static_cast<float*>(values_[value].data); }
  const onnxc_value* values() const { return values_.data(); }
  int64_t working_bytes() const { return working_bytes_; }

 private:
  Objects<Arena> memory_;
  Array<onnxc_value> values_;
  int64_t working_bytes_ = 0;
};

}  // namespace onnxc::runtime
