#include "threads/thread_pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/floating_point.h"

namespace onnxc::runtime {
namespace {

constexpr uint32_t open_bit = 1u << 31;
constexpr int64_t spin_nanoseconds = 200'000;
constexpr int pieces_of_the_rest = 8;

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

int64_t now_nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until done() holds; false when the time to spin is over.
template <class Condition>
bool spin_until(Condition done) {
  int64_t end = now_nanoseconds() + spin_nanoseconds;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (now_nanoseconds() < end);
  return done();
}

}  // namespace

void ThreadPool::run(int64_t tasks, int width, ParallelBody body, const void* context) {
  if (tasks <= 0) return;
  width = static_cast<int>(std::min<int64_t>(std::min(width, threads_), tasks));
  if (width <= 1 || !in_use_.try_lock()) {
    body(context, 0, tasks, 0);
    return;
  }
  if (start()) {
    open(tasks, std::min(width, workers_ + 1), body, context);
    work(0);
    close();
  } else {
    body(context, 0, tasks, 0);
  }
  in_use_.unlock();
}

// Makes sure that this process has workers; false when there are none to be had.
bool ThreadPool::start() {
  int process = getpid();
  if (process_ == process) return workers_ > 0;
  forget_parent_workers();
  process_ = process;
  if (blocks_.size() != threads_ && !(blocks_.allocate(threads_) && worker_.allocate(threads_))) return false;

  // Signals are the host application's business.
  sigset_t all, before;
  __builtin_memset(&all, 0xff, sizeof all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (workers_ < threads_ - 1) {
    Worker& worker = worker_[workers_];
    worker.pool = this;
    worker.index = workers_ + 1;
    if (pthread_create(&worker.thread, nullptr, worker_main, &worker) != 0) break;
    ++workers_;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return workers_ > 0;
}

void ThreadPool::forget_parent_workers() {
  workers_ = 0;
  sleepers_.store(0);
  gate_.store(0);
  stopping_.store(false);
}

void ThreadPool::open(int64_t tasks, int width, ParallelBody body, const void* context) {
  body_ = body;
  context_ = context;
  width_ = width;
  int64_t begin = 0;
  for (int thread = 0; thread < width; ++thread) {
    int64_t size = tasks / width + (thread < tasks % width ? 1 : 0);
    blocks_[thread].next.store(begin, std::memory_order_relaxed);
    blocks_[thread].end = begin += size;
  }
  gate_.store(open_bit, std::memory_order_release);
  // Sequentially consistent, as is the sleepers' own order of steps: one of the two sides sees the other.
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) futex_wake_all(generation_);
}

void ThreadPool::close() {
  uint32_t inside = gate_.fetch_and(~open_bit, std::memory_order_acq_rel) & ~open_bit;
  if (inside == 0) return;
  if (spin_until([&] { return gate_.load(std::memory_order_acquire) == 0; })) return;
  while ((inside = gate_.load(std::memory_order_acquire)) != 0) futex_wait(gate_, inside);
}

void ThreadPool::work(int thread) {
  for (int i = 0; i < width_; ++i) {
    Block& block = blocks_[(thread + i) % width_];
    int64_t begin = block.next.load(std::memory_order_relaxed);
    while (begin < block.end) {
      const int64_t end = begin + std::max<int64_t>(1, (block.end - begin) / pieces_of_the_rest);
      if (!block.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      body_(context_, begin, end, thread);
      begin = block.next.load(std::memory_order_relaxed);
    }
  }
}

void ThreadPool::serve(int thread) {
  uint32_t seen = 0;
  for (;;) {
    if (!spin_until([&] { return generation_.load(std::memory_order_acquire) != seen; })) {
      sleepers_.fetch_add(1);
      while (generation_.load() == seen) futex_wait(generation_, seen);
      sleepers_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) return;

    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & open_bit) != 0 && !gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) {
    }
    if ((gate & open_bit) == 0) continue;
    if (thread < width_) work(thread);
    if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(gate_);
  }
}

void* ThreadPool::worker_main(void* argument) {
  Worker* worker = static_cast<Worker*>(argument);
  char name[] = "onnxc-0000";
  int index = worker->index;
  for (char* digit = name + sizeof name - 2; digit >= name + 6; --digit, index /= 10)
    *digit = static_cast<char>('0' + index % 10);
  pthread_setname_np(pthread_self(), name);
  DefaultFloatingPoint floating_point;
  worker->pool->serve(worker->index);
  return nullptr;
}

void ThreadPool::stop() {
  if (process_ == getpid()) {
    stopping_.store(true, std::memory_order_release);
    generation_.fetch_add(1);
    futex_wake_all(generation_);
    for (int i = 0; i < workers_; ++i) pthread_join(worker_[i].thread, nullptr);
  }
  forget_parent_workers();
  process_ = 0;
  worker_.release();
  blocks_.release();
}

}  // namespace onnxc::runtime
