// The values of runs over windows, and their memory. On the CPU each lies in host memory, in one slot. On a GPU each
// lies there and in host memory, in two slots, so that the host reads and blends windows while the GPU has others.
#pragma once

#include "base/arena.h"
#include "base/array.h"
#include "base/error_text.h"
#include "gpu/backend.h"
#include "volume/objects.h"

namespace onnxc::runtime {

class WindowValues {
 public:
  WindowValues() = default;
  WindowValues(const WindowValues&) = delete;
  WindowValues& operator=(const WindowValues&) = delete;
  ~WindowValues();

  // The values of the model's inputs and then of its outputs, for runs over up to `batch` windows. `device` is null on
  // the CPU.
  onnxc_status make(DeviceInstance* device, const Array<WindowBuffer>& buffers, int64_t batch, ErrorText& error);

  // How many runs may have been started and not be waited for; as many slots there are.
  int32_t slots() const { return on_device_ != nullptr ? DeviceWindows::slots : 1; }
  // The host's buffer of an input that is sent, or of an output that is fetched.
  float* host_data(int32_t slot, int64_t value) const;
  // The model's arguments, and the stream to run in; null on the CPU.
  const onnxc_value* values(int32_t slot) const;
  void* stream() const { return on_device_ != nullptr ? on_device_->stream : nullptr; }

  // Before a run, after it, and before its outputs are read.
  onnxc_status send(int32_t slot, int64_t windows, ErrorText& error);
  onnxc_status fetch(int32_t slot, int64_t windows, ErrorText& error);
  onnxc_status wait(int32_t slot, ErrorText& error);

  int64_t working_bytes() const { return working_bytes_; }  // of the host

 private:
  Objects<Arena> memory_;
  Array<onnxc_value> values_;
  DeviceWindows* on_device_ = nullptr;
  int64_t working_bytes_ = 0;
};

}  // namespace onnxc::runtime
