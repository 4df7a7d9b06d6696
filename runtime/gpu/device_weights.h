// A block of weights on one GPU, shared by the modules of all entries there: the first that wants it sends it, the last
// frees it.
#pragma once

#include "base/error_text.h"
#include "gpu/library/gpu_library.h"
#include "gpu/program.h"

namespace onnxc::runtime {

class DeviceWeights {
 public:
  // The device is the current one, and the caller holds the lock of all modules (device_module.cpp). Null and a status
  // if memory runs out.
  static DeviceWeights* acquire(const GpuLibrary& gpu, const GpuDevice& device, const WeightBlock& block,
                                onnxc_status& status, ErrorText& error);
  static void release(DeviceWeights* weights);

  char* data() const { return static_cast<char*>(data_); }
  // The event that a stream must wait for before its kernels read the weights.
  GpuEvent arrival() const { return arrival_; }

 private:
  DeviceWeights(const GpuLibrary& gpu, int device, const WeightBlock& block)
      : gpu_(gpu), device_(device), block_(block) {}
  onnxc_status upload(ErrorText& error);

  const GpuLibrary& gpu_;
  const int device_;
  const WeightBlock& block_;
  int users_ = 1;
  void* data_ = nullptr;
  GpuStream stream_ = nullptr;
  GpuEvent arrival_ = nullptr;
  DeviceWeights* next_ = nullptr;  // of the list of all
};

}  // namespace onnxc::runtime
