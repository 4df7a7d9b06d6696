// A program's kernels on one GPU.
//
// The driver compiles PTX when it loads it, all kernels of a module one after the other: 249 kernels of SwinUNETR took
// 11 to 12 s on an H100. So PTX is cut into modules of some kernels each (library/ptx_parts.h), and threads load these
// at once. They are loaded when the first instance is made, not at a kernel's first launch: a stream that is captured
// allows no load, and a first run launches nearly every kernel anyway. It is not measured how many modules a driver
// compiles at a time. It keeps them in its cache (~/.nv/ComputeCache), so that the cut depends on the text only, and
// not on the machine. Cubins and AMD's code are one module: nothing is compiled.
#pragma once

#include "base/array.h"
#include "gpu/library/gpu_library.h"
#include "gpu/program.h"

namespace onnxc::runtime {

class DeviceCode {
 public:
  // The device is the current one. The result is that of the first module that the driver refuses.
  GpuResult load(const GpuLibrary& gpu, const GpuDevice& device, const DeviceProgram& program);
  void unload(const GpuLibrary& gpu);

  GpuKernel kernel(int32_t index) const { return kernels_[index]; }
  // After a failure: the part that the call was for ("of module 2 of 9"), and the driver's words about it.
  const char* failed_part() const { return failed_part_; }
  const char* log() const { return log_; }
  // Whether the device has less shared memory for a block than a launch asks for.
  bool lacks_shared_memory() const { return lacks_shared_memory_; }

 private:
  struct Loading;

  GpuResult load_parts(Loading& loading);
  GpuResult find_kernels(const Loading& loading);
  GpuResult allow_shared_bytes(const Loading& loading, int32_t kernel);

  Array<GpuModule> modules_;
  Array<GpuKernel> kernels_;
  char failed_part_[128] = "", log_[512] = "";
  bool lacks_shared_memory_ = false;
};

}  // namespace onnxc::runtime
