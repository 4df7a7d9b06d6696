// The default number of threads of a run.
#pragma once

#include "base/environment.h"

namespace onnxc::runtime {

inline constexpr int most_threads = 1024;

// ONNXC_THREADS. An instance is not made if it is not a number of threads.
inline EnvironmentNumber asked_threads() { return environment_number("ONNXC_THREADS", 1, most_threads); }

// ONNXC_THREADS or OMP_NUM_THREADS of the environment; else what the affinity mask and the cgroup quotas of this
// process allow. At least 1, at most most_threads.
int default_thread_count();

// The CPUs that a cgroup's quota allows, rounded up: "200000 100000" (cgroup 2's cpu.max) is 2. 0 when `text` states no
// limit.
int cgroup_quota(const char* text);

}  // namespace onnxc::runtime
