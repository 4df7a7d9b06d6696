#include "threads/shared_pool.h"

#include <algorithm>

#include "threads/thread_count.h"

namespace onnxc::runtime {
namespace {

// Never destroyed: a library has no destructor that could run while other threads still use it.
[[clang::no_destroy]] constinit ThreadPool pool;
constinit ForkLock users_lock;
constinit int users = 0;

}  // namespace

void acquire_shared_pool(int threads) {
  users_lock.lock();
  if (users++ == 0) pool.set_threads(std::max(threads, default_thread_count()));
  users_lock.unlock();
}

void release_shared_pool() {
  users_lock.lock();
  if (--users == 0) pool.stop();
  users_lock.unlock();
}

ThreadPool& shared_pool() { return pool; }

}  // namespace onnxc::runtime
