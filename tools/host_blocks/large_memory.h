// Tensors of more bytes than the machine has, for single blocks of a launch over them.
//
// An input repeats the same pages: they are mapped again and again, and take memory once. Their number is a prime, so
// that an index which lost bits above its 31st or 32nd finds another value. A result is memory that nobody has touched:
// only pages that are written exist, and all others read as zeros. Pages that nobody may touch lie around both.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "block.h"

namespace onnxc::host_blocks {

inline constexpr size_t large_page = 4096, repeated_bytes = 1021 * large_page;

// Addresses for so many bytes, with a guard before and after them.
class LargeMemory {
 public:
  explicit LargeMemory(size_t bytes) : bytes_((bytes + large_page - 1) / large_page * large_page) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const found = mmap(nullptr, bytes_ + 2 * large_page, PROT_NONE, flags, -1, 0);
    if (found == MAP_FAILED) fail("no addresses for %zu bytes", bytes);
    begin_ = static_cast<char*>(found) + large_page;
  }
  ~LargeMemory() { munmap(begin_ - large_page, bytes_ + 2 * large_page); }
  LargeMemory(const LargeMemory&) = delete;
  LargeMemory& operator=(const LargeMemory&) = delete;

  char* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  char* begin_;
};

// Element i is that of i % period.
template <class T>
class RepeatedTensor {
 public:
  static constexpr int64_t period = repeated_bytes / sizeof(T);

  // `value` gives an element by its index.
  template <class Value>
  RepeatedTensor(int64_t count, const Value& value) : memory_(static_cast<size_t>(count) * sizeof(T)) {
    const int file = memfd_create("repeated", 0);
    if (file < 0 || ftruncate(file, repeated_bytes) != 0) fail("no memory for %zu bytes", repeated_bytes);
    for (size_t at = 0; at < memory_.bytes(); at += repeated_bytes) {
      const size_t left = memory_.bytes() - at, length = left < repeated_bytes ? left : repeated_bytes;
      const int access = at == 0 ? PROT_READ | PROT_WRITE : PROT_READ;
      if (mmap(memory_.begin() + at, length, access, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        fail("no mapping of %zu bytes", length);
    }
    close(file);
    T* const first = reinterpret_cast<T*>(memory_.begin());
    for (int64_t i = 0; i < period && i < count; ++i) first[i] = value(i);
    mprotect(memory_.begin(), memory_.bytes(), PROT_READ);
  }

  const T* data() const { return reinterpret_cast<const T*>(memory_.begin()); }
  T operator[](int64_t i) const { return data()[i % period]; }

 private:
  LargeMemory memory_;
};

// Runs these parts, out of 64, of all blocks of a launch; the first is 0, the last 64.
template <class Kernel>
void run_parts_of(int64_t blocks, uint32_t threads, const std::vector<int64_t>& parts, const Kernel& kernel) {
  const Body body = {[](void* of) { (*static_cast<const Kernel*>(of))(); }, const_cast<Kernel*>(&kernel)};
  for (const int64_t part : parts) run_block(static_cast<uint32_t>((blocks - 1) * part / 64), threads, body);
}

// The elements that single blocks have left in a result.
struct LargeReport {
  int64_t written, wrong;  // elements that are not zero, and those that are not what is expected
  int64_t lowest, highest, first_wrong;
};

template <class T>
class UntouchedTensor {
 public:
  explicit UntouchedTensor(int64_t count) : count_(count), memory_(static_cast<size_t>(count) * sizeof(T)) {
    mprotect(memory_.begin(), memory_.bytes(), PROT_READ | PROT_WRITE);
    madvise(memory_.begin(), memory_.bytes(), MADV_NOHUGEPAGE);
  }

  T* data() const { return reinterpret_cast<T*>(memory_.begin()); }

  // All that was written, against `expected(index)`, which is never zero, within `error` of its magnitude.
  template <class Expected>
  LargeReport report(const Expected& expected, float error = 0.0f) const {
    LargeReport report = {0, 0, count_, -1, -1};
    for (const size_t page : written_pages()) {
      constexpr int64_t elements = large_page / sizeof(T);
      const int64_t first = static_cast<int64_t>(page) * elements,
                    end = first + elements < count_ ? first + elements : count_;
      for (int64_t i = first; i < end; ++i) {
        const auto found = static_cast<float>(data()[i]);
        if (found == 0.0f) continue;
        ++report.written;
        report.lowest = i < report.lowest ? i : report.lowest;
        report.highest = i;
        const auto right = static_cast<float>(expected(i));
        if (!(__builtin_fabsf(found - right) <= error * __builtin_fabsf(right)) && report.wrong++ == 0)
          report.first_wrong = i;
      }
    }
    return report;
  }

 private:
  // The kernel's table of this process's pages: a bit tells which exist.
  std::vector<size_t> written_pages() const {
    const int file = open("/proc/self/pagemap", O_RDONLY);
    std::vector<uint64_t> entries(memory_.bytes() / large_page);
    const auto size = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
    const auto place = static_cast<off_t>(reinterpret_cast<uintptr_t>(memory_.begin()) / large_page * sizeof(uint64_t));
    if (file < 0 || pread(file, entries.data(), static_cast<size_t>(size), place) != size) fail("no table of pages");
    close(file);
    std::vector<size_t> pages;
    for (size_t i = 0; i < entries.size(); ++i)
      if ((entries[i] >> 62) != 0) pages.push_back(i);
    return pages;
  }

  int64_t count_;
  LargeMemory memory_;
};

}  // namespace onnxc::host_blocks
