// A thread of execution with a stack of its own, which gives way only when it says so.
#pragma once

#include <cstddef>

namespace onnxc::host_blocks {

class Fibre {
 public:
  Fibre();
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // Makes it ready to call `function`. It must not be in the middle of another call.
  void start(void (*function)(void*), void* argument);
  // Runs it until it gives way or ends.
  void resume();
  // Called by the fibre itself: resume() returns.
  void give_way();
  bool has_ended() const { return has_ended_; }

 private:
  static void enter(Fibre* fibre);

  std::byte* memory_ = nullptr;  // of the stack, after a page that nobody may touch
  void* own_stack_ = nullptr;    // its top when the fibre stopped
  void* callers_stack_ = nullptr;
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool has_ended_ = true;
  // The address sanitizer must know the stack that runs.
  void* own_fake_stack_ = nullptr;
  void* callers_fake_stack_ = nullptr;
  const void* callers_bottom_ = nullptr;
  size_t callers_size_ = 0;
};

}  // namespace onnxc::host_blocks
