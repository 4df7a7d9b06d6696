#include "threads/host_threads.h"

#include <sched.h>

#include <algorithm>

#include "base/floating_point.h"

namespace onnxc::runtime {

struct HostThreads::Job {
  HostThreads* threads;
  int64_t tasks;
  ParallelBody body;
  const void* context;
  std::atomic<int64_t> covered = 0;
};

void HostThreads::set(onnxc_parallel_for function, void* host_context, int threads) {
  function_ = function;
  host_context_ = host_context;
  threads_ = threads;
}

bool HostThreads::run(int64_t tasks, ParallelBody body, const void* context) {
  if (tasks <= 1 || threads_ == 1) {
    if (tasks > 0) body(context, 0, tasks, 0);
    return true;
  }
  Job job{this, tasks, body, context};
  function_(host_context_, tasks, run_piece, &job);
  return job.covered.load(std::memory_order_acquire) == tasks;
}

void HostThreads::run_piece(void* argument, int64_t begin, int64_t end) {
  Job* job = static_cast<Job*>(argument);
  begin = std::max<int64_t>(begin, 0);
  end = std::min(end, job->tasks);
  if (begin >= end) return;
  DefaultFloatingPoint floating_point;
  int thread = job->threads->lease();
  job->body(job->context, begin, end, thread);
  job->threads->give_back(thread);
  job->covered.fetch_add(end - begin, std::memory_order_release);
}

int HostThreads::lease() {
  for (;; sched_yield()) {
    for (int first = 0; first < threads_; first += 64) {
      std::atomic<uint64_t>& word = leased_[first / 64];
      int count = std::min(64, threads_ - first);
      uint64_t all = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
      uint64_t taken = word.load(std::memory_order_relaxed);
      while ((taken & all) != all) {
        int bit = __builtin_ctzll(~taken);
        if (word.compare_exchange_weak(taken, taken | uint64_t{1} << bit, std::memory_order_acquire))
          return first + bit;
      }
    }
  }
}

void HostThreads::give_back(int thread) {
  leased_[thread / 64].fetch_and(~(uint64_t{1} << thread % 64), std::memory_order_release);
}

}  // namespace onnxc::runtime
