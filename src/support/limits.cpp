#include "support/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace onnxc {

int64_t available_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
  int64_t result = pages > 0 && page_size > 0 ? pages * page_size : std::numeric_limits<int64_t>::max();
  // Version 2 of control groups, then version 1; "max", which is not a number, means that there is no limit.
  for (const char* name : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(name) >> limit && limit > 0) result = std::min(result, limit);
  }
  return result;
}

void limit_process_memory(int64_t bytes) {
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)  // their own memory has no bound
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min({static_cast<rlim_t>(bytes), limit.rlim_cur, limit.rlim_max});
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

int64_t Limits::process_memory() const {
  constexpr int64_t clang_starts_with = int64_t{1} << 30;
  return std::max(max_memory, clang_starts_with);
}

}  // namespace onnxc
