// The stand-in for NVIDIA's driver as a test sees it, and memory on its GPUs.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace onnxc {

class CudaStandIn {
 public:
  CudaStandIn() {
    const std::string folder = ONNXC_TEST_FILES;
    const std::string file = folder + "/../cuda_stand_in/libcuda.so.1";
    set("ONNXC_CUDA_LIBRARY", file.c_str());
    set("CUDA_STAND_IN_KERNELS", (folder + "/fake_host_launch.so").c_str());
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    fail_at(-1);
    take_launches();
  }
  ~CudaStandIn() {
    fail_at(-1);
    for (const std::string& name : set_) unsetenv(name.c_str());
    dlclose(library_);
  }
  CudaStandIn(const CudaStandIn&) = delete;
  CudaStandIn& operator=(const CudaStandIn&) = delete;

  // A variable of the environment, until the end.
  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    set_.emplace_back(name);
  }
  // A function of the driver's, whose arguments are integers and pointers.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) {
    return symbol<int (*)(Arguments...)>(name)(arguments...);
  }
  void fail_at(int number) { symbol<void (*)(int)>("cuda_stand_in_fail_at")(number); }
  std::string failed_call() { return symbol<const char* (*)()>("cuda_stand_in_failed_call")(); }
  size_t alive() { return symbol<size_t (*)()>("cuda_stand_in_alive")(); }
  std::string take_launches() { return symbol<const char* (*)()>("cuda_stand_in_take_launches")(); }

  void* current() {
    void* context = nullptr;
    call("cuCtxGetCurrent", &context);
    return context;
  }
  // Makes the primary context of a device this thread's, as PyTorch does.
  void* enter(int device) {
    void* context = nullptr;
    call("cuInit", 0U);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
    return context;
  }
  void leave(int device) {
    call<void*>("cuCtxSetCurrent", nullptr);
    call("cuDevicePrimaryCtxRelease_v2", device);
  }
  void* stream() {
    void* made = nullptr;
    call("cuStreamCreate", &made, 1U);
    return made;
  }

 private:
  template <class Function>
  Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
  std::vector<std::string> set_;
};

// Floats on the GPU whose context is current.
class CudaFloats {
 public:
  CudaFloats(CudaStandIn& cuda, size_t count) : cuda_(cuda), count_(count) {
    cuda.call("cuMemAlloc_v2", &data_, count * sizeof(float));
  }
  ~CudaFloats() { cuda_.call("cuMemFree_v2", data_); }
  CudaFloats(const CudaFloats&) = delete;
  CudaFloats& operator=(const CudaFloats&) = delete;

  float* data() { return static_cast<float*>(data_); }
  int64_t bytes() const { return static_cast<int64_t>(count_ * sizeof(float)); }
  // In the null stream, which is waited for.
  void write(const std::vector<float>& values, size_t offset = 0) {
    cuda_.call("cuMemcpyHtoD_v2", static_cast<void*>(data() + offset), static_cast<const void*>(values.data()),
               values.size() * sizeof(float));
  }
  std::vector<float> read(size_t count, size_t offset = 0) {
    std::vector<float> values(count);
    cuda_.call("cuMemcpyDtoH_v2", static_cast<void*>(values.data()), static_cast<const void*>(data() + offset),
               count * sizeof(float));
    return values;
  }

 private:
  CudaStandIn& cuda_;
  void* data_ = nullptr;
  size_t count_;
};

}  // namespace onnxc
