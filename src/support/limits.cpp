#include "support/limits.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace onnxc {

int64_t available_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
  int64_t result = pages > 0 && page_size > 0 ? pages * page_size : std::numeric_limits<int64_t>::max();
  // Version 2 of control groups, then version 1; "max" where there is no limit, which reads as no number.
  for (const char* name : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(name) >> limit && limit > 0) result = std::min(result, limit);
  }
  return result;
}

}  // namespace onnxc
