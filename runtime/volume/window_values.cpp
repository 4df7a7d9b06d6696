#include "volume/window_values.h"

namespace onnxc::runtime {

onnxc_status WindowValues::make(const Array<WindowBuffer>& buffers, ErrorText& error) {
  bool has_room = memory_.make(buffers.size()) && values_.allocate(buffers.size());
  for (int64_t i = 0; has_room && i < buffers.size(); ++i) {
    values_[i] = buffers[i].value;
    if (buffers[i].use == WindowUse::fixed) continue;
    working_bytes_ += values_[i].bytes;
    has_room = memory_[i].reserve(values_[i].bytes);
    values_[i].data = memory_[i].data();
  }
  if (has_room) return ONNXC_OK;
  error.append("no memory for the windows of a run");
  return ONNXC_OUT_OF_MEMORY;
}

}  // namespace onnxc::runtime
