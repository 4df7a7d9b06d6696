// An input or output of a run as it lies in the caller's memory.
#pragma once

#include "gpu/backend.h"

namespace onnxc::runtime {

// The most bytes that a kernel reads or writes at once: it works on a value that begins at a multiple of them.
inline constexpr uintptr_t callers_alignment = 16;

// A caller's value for a buffer, or a state; nothing for those that are of a run.
struct CallersValue {
  CallersValue(const DeviceRun& run, const BufferDescription& buffer) {
    if (buffer.kind == BufferKind::input) {
      data = run.inputs[buffer.index].data;
      is_on_host = run.inputs[buffer.index].device == ONNXC_CPU;
    } else if (buffer.kind == BufferKind::output) {
      data = run.output_data[buffer.index];
      is_on_host = run.outputs[buffer.index].device == ONNXC_CPU;
    } else if (buffer.kind == BufferKind::state) {
      data = run.state_data[buffer.index];
    }
  }
  // Whether kernels work on a copy in working memory.
  bool is_copied() const { return is_on_host || reinterpret_cast<uintptr_t>(data) % callers_alignment != 0; }

  void* data = nullptr;
  bool is_on_host = false;
};

}  // namespace onnxc::runtime
