// States on a GPU: their memory there, and the order of the runs that use them, in whatever streams and of whatever
// instances.
#pragma once

#include "gpu/device_instance.h"

namespace onnxc::runtime {

class DeviceStates {
 public:
  static DeviceStates* create(const DeviceInstance& instance, onnxc_status& status, ErrorText& error);
  static void destroy(DeviceStates* states);

  bool is_on_device_of(const DeviceInstance& instance) const;

  // A run in a stream begins when those before it are done; is_captured: by the caller.
  onnxc_status begin_run(GpuStream stream, bool is_captured, ErrorText& error);
  // It has been enqueued, and nobody waits for it.
  onnxc_status end_run(GpuStream stream, ErrorText& error);

  // These wait for all runs before. Memory takes the place of what `data` was; null for no bytes.
  onnxc_status allocate(int64_t bytes, void*& data, ErrorText& error);
  void free(void* data);
  onnxc_status clear(void* data, int64_t bytes, ErrorText& error);
  onnxc_status copy(void* to, const void* from, int64_t bytes, GpuCopy kind, ErrorText& error);

 private:
  explicit DeviceStates(DeviceModule* module) : module_(module) {}
  onnxc_status set_up(ErrorText& error);
  // Makes the device the thread's current one, and waits.
  onnxc_status enter(CurrentDevice& current, ErrorText& error);
  onnxc_status finish(GpuResult result, const char* of, ErrorText& error);

  DeviceModule* const module_;  // that keeps the device open
  GpuStream stream_ = nullptr;
  GpuEvent run_end_ = nullptr;
  bool may_be_running_ = false;
};

}  // namespace onnxc::runtime
