#include "threads/thread_count.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/number_text.h"

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

// Text of a bounded length; what does not fit is cut.
template <size_t size>
class ShortText {
 public:
  ShortText& add(const char* text, char end = 0) {
    while (*text != 0 && *text != end && length_ < size - 1) text_[length_++] = *text++;
    text_[length_] = 0;
    return *this;
  }
  // Drops the last part of a path; false if it has but one.
  bool to_parent() {
    while (length_ > 0 && text_[length_ - 1] != '/') --length_;
    if (length_ == 0) return false;
    text_[--length_] = 0;
    return true;
  }
  const char* text() const { return text_; }

 private:
  char text_[size] = {};
  size_t length_ = 0;
};

using Path = ShortText<1024>;

// Reads OMP_NUM_THREADS: "4", or the first number of "4,2" (OpenMP's nested form). 0 if it is not a positive number.
int openmp_threads() {
  const char* text = getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  const int64_t number = take_number(text);
  if ((*text != 0 && *text != ',') || number < 1) return 0;
  return static_cast<int>(std::min<int64_t>(number, most_threads));
}

int affinity_count() {
  uint64_t set[128] = {};  // 8,192 CPUs, the most that Linux has
  if (syscall(SYS_sched_getaffinity, 0, sizeof set, set) < 0) return 1;
  int count = 0;
  for (uint64_t part : set) count += __builtin_popcountll(part);
  return std::max(1, count);
}

void limit(int& count, int quota) {
  if (quota > 0) count = std::min(count, quota);
}

// The quotas of the cgroup at `path` and of those around it.
void limit_by_cgroup2(int& count, Path path) {
  do {
    char text[64];
    ShortText<1200> file;
    file.add("/sys/fs/cgroup").add(path.text()).add("/cpu.max");
    if (read_text(file.text(), text, sizeof text)) limit(count, cgroup_quota(text));
  } while (path.to_parent());
}

void limit_by_cgroup1(int& count) {
  char quota[32], period[32];
  if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota, sizeof quota)) return;
  if (!read_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof period)) return;
  limit(count, cgroup_quota(ShortText<80>().add(quota).add(" ").add(period).text()));
}

}  // namespace

int cgroup_quota(const char* text) {
  const int64_t quota = take_number(text);
  if (quota <= 0) return 0;  // "max", or -1 in cgroup 1
  const int64_t period = take_number(text);
  if (period <= 0) return 0;
  return static_cast<int>(std::clamp<int64_t>(quota / period + (quota % period != 0 ? 1 : 0), 1, most_threads));
}

int default_thread_count() {
  if (const EnvironmentNumber asked = asked_threads(); asked.is_legal) return static_cast<int>(asked.value);
  if (const int number = openmp_threads()) return number;
  int count = std::min(affinity_count(), most_threads);

  char groups[4096];
  if (read_text("/proc/self/cgroup", groups, sizeof groups)) {
    // The line of cgroup 2 is "0::/path".
    for (const char* line = groups; *line != 0;) {
      if (line[0] == '0' && line[1] == ':' && line[2] == ':' && line[3] == '/') {
        limit_by_cgroup2(count, Path().add(line + 3, '\n'));
        break;
      }
      while (*line != 0 && *line++ != '\n') continue;
    }
  }
  limit_by_cgroup1(count);
  return count;
}

}  // namespace onnxc::runtime
