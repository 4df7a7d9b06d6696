// The code and weights of an entry on one GPU, shared by all its instances there: the first instance loads them, the
// last unloads them.
#pragma once

#include "gpu/device_code.h"
#include "gpu/device_weights.h"
#include "gpu/library/gpu_library.h"
#include "gpu/program.h"

namespace onnxc::runtime {

class DeviceModule {
 public:
  // Null and a status if no vendor's device of this number runs a program of the model (device_choice.h), or it is out
  // of memory.
  static DeviceModule* acquire(const ModelDescription& model, int device, onnxc_status& status, ErrorText& error);
  static void release(DeviceModule* module);

  const ModelDescription& model() const { return model_; }
  const GpuLibrary& gpu() const { return *gpu_; }
  const GpuDevice& device() const { return device_; }
  const DeviceProgram& program() const { return *program_; }
  GpuKernel kernel(int32_t index) const { return code_.kernel(index); }
  char* weights() const { return weights_ != nullptr ? weights_->data() : nullptr; }
  // The event that a stream must wait for before its kernels read the weights; null if there are none.
  GpuEvent weights_arrival() const { return weights_ != nullptr ? weights_->arrival() : nullptr; }

 private:
  explicit DeviceModule(const ModelDescription& model) : model_(model) {}
  onnxc_status load(const GpuDescription& description, ErrorText& error);
  onnxc_status load_program(const GpuDescription& description, ErrorText& error);
  void unload();
  void give_back();

  const ModelDescription& model_;
  const GpuLibrary* gpu_ = nullptr;
  GpuDevice device_;
  bool is_open_ = false;
  int users_ = 0;
  const DeviceProgram* program_ = nullptr;  // that for this GPU
  DeviceCode code_;
  DeviceWeights* weights_ = nullptr;
  DeviceModule* next_ = nullptr;  // of the list of all
};

}  // namespace onnxc::runtime
