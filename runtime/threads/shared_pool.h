// The pool of threads that instances with ONNXC_SHARED_POOL use together. It ends with the last of them.
#pragma once

#include "threads/thread_pool.h"

namespace onnxc::runtime {

// Counts one more user; the first decides how many threads the pool has (at least as many as this machine has CPUs).
void acquire_shared_pool(int threads);
void release_shared_pool();
ThreadPool& shared_pool();

}  // namespace onnxc::runtime
