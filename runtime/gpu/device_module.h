// The code and weights of the model on one GPU, shared by all instances there: the first instance loads them, the last
// unloads them.
#pragma once

#include "base/array.h"
#include "gpu/library/gpu_library.h"
#include "gpu/program.h"

namespace onnxc::runtime {

class DeviceModule {
 public:
  // Null and a status if the device is missing, is of another architecture than the code, or is out of memory.
  static DeviceModule* acquire(int device, onnxc_status& status, ErrorText& error);
  static void release(DeviceModule* module);

  const GpuLibrary& gpu() const { return *gpu_; }
  const GpuDevice& device() const { return device_; }
  const DeviceProgram& program() const { return *program_; }
  GpuKernel kernel(int32_t index) const { return kernels_[index]; }
  uint32_t shared_bytes(int32_t kernel) const {
    return program_->shared_bytes == nullptr ? 0 : program_->shared_bytes[kernel];
  }
  char* weights() const { return static_cast<char*>(weights_); }
  // The event that a stream must wait for before its kernels read the weights; null if there are none.
  GpuEvent weights_arrival() const { return arrival_; }

 private:
  onnxc_status load(ErrorText& error);
  onnxc_status upload_weights(ErrorText& error);
  bool check_device(ErrorText& error) const;
  onnxc_status load_program(ErrorText& error);
  onnxc_status find_kernels(ErrorText& error);
  onnxc_status allow_shared_bytes(int32_t kernel, ErrorText& error);
  void unload();
  void give_back();

  const GpuLibrary* gpu_ = nullptr;
  GpuDevice device_;
  bool is_open_ = false;
  int users_ = 0;
  const DeviceProgram* program_ = nullptr;  // that for this GPU
  GpuModule module_ = nullptr;
  Array<GpuKernel> kernels_;
  void* weights_ = nullptr;
  GpuStream upload_ = nullptr;
  GpuEvent arrival_ = nullptr;
  DeviceModule* next_ = nullptr;  // of the list of all
};

}  // namespace onnxc::runtime
