// The double of libamdhip64.so as a test sees it.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace onnxc {

class FakeHip {
 public:
  FakeHip() {
    const std::string file = ONNXC_TEST_FILES "/fake_hip.so";
    setenv("ONNXC_HIP_LIBRARY", file.c_str(), 1);
    library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~FakeHip() { dlclose(library_); }
  FakeHip(const FakeHip&) = delete;
  FakeHip& operator=(const FakeHip&) = delete;

  // Fails the call of that number from now on; -1: none.
  void reset(int call_that_fails, const char* gpu = "gfx942:sramecc+:xnack-", int compute_units = 304) {
    symbol<void (*)(int, const char*, int)>("fake_hip_reset")(call_that_fails, gpu, compute_units);
  }
  // As a failing call of the caller's own does.
  void leave_an_error_behind() {
    reset(0);
    symbol<int (*)(int)>("hipSetDevice")(0);
    reset(-1);
  }
  void choose_device(int device) { symbol<void (*)(int)>("fake_hip_choose_device")(device); }
  int chosen_device() { return symbol<int (*)()>("fake_hip_chosen_device")(); }
  int used_devices() { return symbol<int (*)()>("fake_hip_used_devices")(); }
  std::string history() { return symbol<const char* (*)()>("fake_hip_history")(); }
  std::string copies() { return symbol<const char* (*)()>("fake_hip_copies")(); }
  void lose_device() { symbol<void (*)()>("fake_hip_lose_device")(); }
  int alive() { return symbol<int (*)()>("fake_hip_alive")(); }
  // A capture of the caller's, and what it has captured done once; the error of its end.
  int begin_capture(void* stream) { return symbol<int (*)(void*, int)>("hipStreamBeginCapture")(stream, 1); }
  int end_and_replay_capture(void* stream) {
    void *graph = nullptr, *executable = nullptr;
    if (const int error = symbol<int (*)(void*, void**)>("hipStreamEndCapture")(stream, &graph)) return error;
    using Instantiate = int (*)(void**, void*, unsigned long long);
    int error = symbol<Instantiate>("hipGraphInstantiateWithFlags")(&executable, graph, 0);
    if (error == 0) error = symbol<int (*)(void*, void*)>("hipGraphLaunch")(executable, stream);
    if (executable != nullptr) symbol<int (*)(void*)>("hipGraphExecDestroy")(executable);
    symbol<int (*)(void*)>("hipGraphDestroy")(graph);
    return error;
  }
  std::string failed_call() { return symbol<const char* (*)()>("fake_hip_failed_call")(); }

 private:
  template <class Function>
  Function symbol(const char* name) {
    return reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
};

}  // namespace onnxc
