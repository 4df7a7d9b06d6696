// The memory of a set of states: the host's, or a GPU's.
#pragma once

#include "gpu/backend.h"

namespace onnxc::runtime {

class StateMemory {
 public:
  constexpr StateMemory() = default;
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;
  ~StateMemory();

  // On the GPU of that instance, or on the host if it is null.
  onnxc_status set_up(const DeviceBackend* backend, const DeviceInstance* device, ErrorText& error);
  // Whether states of an instance there may lie in it.
  bool is_on(const DeviceInstance* device) const;
  DeviceStates* on_gpu() const { return on_gpu_; }

  // Takes the place of what `data` was, and holds anything; null for no bytes.
  onnxc_status allocate(int64_t bytes, void*& data, ErrorText& error);
  void free(void* data);
  onnxc_status clear(void* data, int64_t bytes, ErrorText& error);
  // From and to the host.
  onnxc_status write(void* data, const void* from, int64_t bytes, ErrorText& error);
  onnxc_status read(void* to, const void* data, int64_t bytes, ErrorText& error);

 private:
  const DeviceBackend* backend_ = nullptr;
  DeviceStates* on_gpu_ = nullptr;  // null on the host
};

}  // namespace onnxc::runtime
