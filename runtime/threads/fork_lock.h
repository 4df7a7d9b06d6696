// A lock that survives fork(). It belongs to a process: a child takes it over when a thread of its parent, which does
// not exist in the child, held it at the fork.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>

namespace onnxc::runtime {

class ForkLock {
 public:
  constexpr ForkLock() = default;

  bool try_lock() {
    int self = getpid();
    int holder = 0;
    if (holder_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return true;
    return holder != self && holder_.compare_exchange_strong(holder, self, std::memory_order_acquire);
  }

  // For sections that are short or rare.
  void lock() {
    while (!try_lock()) sched_yield();
  }

  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<int> holder_ = 0;
};

}  // namespace onnxc::runtime
