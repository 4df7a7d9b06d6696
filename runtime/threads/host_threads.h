// Runs the tasks of a step on the threads of a host application.
//
// The host passes a range of tasks, not which of its threads it is, but a step finds its scratch memory by a number
// below the instance's thread count. So each call of the host leases a free number; when a host makes more calls at
// once than the instance has threads, the further ones wait.
#pragma once

#include <atomic>

#include "base/model.h"
#include "threads/thread_count.h"

namespace onnxc::runtime {

class HostThreads {
 public:
  void set(onnxc_parallel_for function, void* host_context, int threads);
  bool present() const { return function_ != nullptr; }

  // Runs body over [0, tasks). False when the host did not cover each task once.
  bool run(int64_t tasks, ParallelBody body, const void* context);

 private:
  struct Job;
  static void run_piece(void* job, int64_t begin, int64_t end);
  int lease();
  void give_back(int thread);

  onnxc_parallel_for function_ = nullptr;
  void* host_context_ = nullptr;
  int threads_ = 0;
  std::atomic<uint64_t> leased_[most_threads / 64] = {};
};

}  // namespace onnxc::runtime
