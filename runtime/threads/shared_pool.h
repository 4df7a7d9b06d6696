// The thread pool that all instances with ONNXC_SHARED_POOL share. It ends with the last of them.
#pragma once

#include "threads/thread_pool.h"

namespace onnxc::runtime {

// Adds a user; the first one sets the pool's number of threads (at least this machine's number of CPUs).
void acquire_shared_pool(int threads);
void release_shared_pool();
ThreadPool& shared_pool();

}  // namespace onnxc::runtime
