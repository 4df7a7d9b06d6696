// Makes a GPU this thread's current device, and gives the caller's own back: after each call, and around each function
// of the caller's that we call.
#pragma once

#include "gpu/hip_library.h"

namespace onnxc::runtime {

class CurrentDevice {
 public:
  CurrentDevice(const HipLibrary& hip, int device) : hip_(hip), device_(device) {}
  ~CurrentDevice() { leave(); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  onnxc_status enter(ErrorText& error);
  void leave();

 private:
  const HipLibrary& hip_;
  int device_;
  int callers_ = 0;
  bool has_changed_ = false;
};

}  // namespace onnxc::runtime
