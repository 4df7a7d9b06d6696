// Runs the tasks of one step on several threads.
//
// Method: threads - 1 workers and the caller. The tasks are cut into one contiguous block for each thread, so that a
// thread works on the same part of a tensor in each step. A block is taken in pieces through an atomic counter; a
// thread that has finished its block helps with the next thread's. A piece is a fraction of the rest of its block, down
// to single tasks, so that all threads end together as far as tasks are alike. Workers spin for the next job for some
// 200 microseconds (the gap between two steps, or two runs of a caller in Python), then sleep in the kernel: an idle
// process burns nothing. Workers join an open job; the caller closes it when no task is left and waits only for those
// inside. A child of fork() has no workers: the pool notices by the process id and starts new ones.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/array.h"
#include "base/model.h"
#include "threads/fork_lock.h"

namespace onnxc::runtime {

class ThreadPool {
 public:
  constexpr ThreadPool() = default;
  ~ThreadPool() { stop(); }

  // How many threads run() may use, the caller among them; before the first run. Starts nothing.
  void set_threads(int threads) { threads_ = threads; }
  int threads() const { return threads_; }

  // Runs body over [0, tasks) on at most `width` threads, the caller being thread 0. Workers are started by the first
  // call that has work for them; fewer, when the system refuses. While another thread uses the pool, the caller does
  // all the work itself.
  void run(int64_t tasks, int width, ParallelBody body, const void* context);

  // Ends and joins the workers. A later run starts them again.
  void stop();

 private:
  struct alignas(64) Block {
    std::atomic<int64_t> next;
    int64_t end;
  };
  struct Worker {
    pthread_t thread;
    ThreadPool* pool;
    int index;
  };

  bool start();
  void forget_parent_workers();
  void open(int64_t tasks, int width, ParallelBody body, const void* context);
  void close();
  void work(int thread);
  void serve(int thread);
  static void* worker_main(void* worker);

  int threads_ = 1;
  ForkLock in_use_;
  int process_ = 0;  // that started the workers
  int workers_ = 0;
  Array<Worker> worker_;

  // The job. Written while closed, read by those who joined.
  ParallelBody body_ = nullptr;
  const void* context_ = nullptr;
  int width_ = 0;
  Array<Block> blocks_;

  alignas(64) std::atomic<uint32_t> generation_ = 0;  // grows with each job; sleeping workers wait for it to change
  std::atomic<uint32_t> sleepers_ = 0;
  std::atomic<bool> stopping_ = false;
  alignas(64) std::atomic<uint32_t> gate_ = 0;  // highest bit: the job is open; the rest: workers inside
};

}  // namespace onnxc::runtime
