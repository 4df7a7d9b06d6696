#include "threads/thread_count.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

namespace onnxc::runtime {
namespace {

// Reads the start of a small file as text; false when it is not there.
bool read_text(const char* path, char* text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, size - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = 0;
  return length > 0;
}

// A positive number in an environment variable; of "4,2" (OpenMP's nested form) the first. 0 when there is none.
int environment_number(const char* name) {
  const char* text = getenv(name);
  if (text == nullptr) return 0;
  char* end;
  long number = strtol(text, &end, 10);
  if (end == text || (*end != 0 && *end != ',') || number < 1) return 0;
  return static_cast<int>(std::min<long>(number, most_threads));
}

int affinity_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

void limit(int& count, int quota) {
  if (quota > 0) count = std::min(count, quota);
}

// The quotas of the cgroup at `path` and of those around it.
void limit_by_cgroup2(int& count, char* path) {
  for (;;) {
    char file[1200], text[64];
    snprintf(file, sizeof file, "/sys/fs/cgroup%s/cpu.max", path);
    if (read_text(file, text, sizeof text)) limit(count, cgroup_quota(text));
    char* slash = strrchr(path, '/');
    if (slash == nullptr) return;
    *slash = 0;
  }
}

void limit_by_cgroup1(int& count) {
  char quota[32], period[32], text[80];
  if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota, sizeof quota)) return;
  if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof period)) return;
  snprintf(text, sizeof text, "%s %s", quota, period);
  limit(count, cgroup_quota(text));
}

}  // namespace

int cgroup_quota(const char* text) {
  char* end;
  long long quota = strtoll(text, &end, 10);
  if (end == text || quota <= 0) return 0;  // "max", or -1 in cgroup 1
  long long period = strtoll(end, &end, 10);
  if (period <= 0) return 0;
  return static_cast<int>(std::clamp<long long>(quota / period + (quota % period != 0 ? 1 : 0), 1, most_threads));
}

int default_thread_count() {
  if (int number = environment_number("ONNXC_THREADS")) return number;
  if (int number = environment_number("OMP_NUM_THREADS")) return number;
  int count = std::min(affinity_count(), most_threads);

  char groups[4096];
  if (read_text("/proc/self/cgroup", groups, sizeof groups)) {
    // The line of cgroup 2 is "0::/path".
    for (char* line = groups; line != nullptr; line = strchr(line, '\n'), line = line != nullptr ? line + 1 : nullptr) {
      if (strncmp(line, "0::/", 4) != 0) continue;
      char path[1024];
      snprintf(path, sizeof path, "%.*s", static_cast<int>(strcspn(line + 3, "\n")), line + 3);
      limit_by_cgroup2(count, path);
      break;
    }
  }
  limit_by_cgroup1(count);
  return count;
}

}  // namespace onnxc::runtime
