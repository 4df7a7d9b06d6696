// Makes a GPU this thread's current device, and gives the caller's own back: after each call, and around each function
// of the caller's that we call.
#pragma once

#include "gpu/library/gpu_library.h"

namespace onnxc::runtime {

class CurrentDevice {
 public:
  CurrentDevice(const GpuLibrary& gpu, const GpuDevice& device) : gpu_(gpu), device_(device) {}
  ~CurrentDevice() { leave(); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  onnxc_status enter(ErrorText& error);
  void leave();

 private:
  const GpuLibrary& gpu_;
  const GpuDevice& device_;
  CallersDevice callers_;
  bool has_changed_ = false;
};

}  // namespace onnxc::runtime
