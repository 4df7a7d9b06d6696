#include "base/arena.h"

#include <sys/mman.h>

namespace onnxc::runtime {
namespace {

constexpr int64_t page = 4096;
constexpr int64_t huge_page = int64_t{2} << 20;
constexpr int64_t large = 2 * huge_page;  // from here on, huge pages pay

}  // namespace

bool Arena::reserve(int64_t bytes) {
  if (bytes <= capacity_) return true;
  release();
  bool huge = bytes >= large;
  int64_t unit = huge ? huge_page : page;
  int64_t capacity, mapping_bytes;
  if (__builtin_add_overflow(bytes, unit - 1, &capacity)) return false;
  capacity -= capacity % unit;
  // A huge page starts at a multiple of its size: one unit more leaves room to start there.
  if (__builtin_add_overflow(capacity, huge ? unit : 0, &mapping_bytes)) return false;
  void* mapping =
      mmap(nullptr, static_cast<size_t>(mapping_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return false;
  char* data = static_cast<char*>(mapping);
  if (huge) {
    data += (huge_page - static_cast<int64_t>(reinterpret_cast<uintptr_t>(mapping) % huge_page)) % huge_page;
    madvise(data, static_cast<size_t>(capacity), MADV_HUGEPAGE);
  }
  mapping_ = mapping;
  mapping_bytes_ = mapping_bytes;
  data_ = data;
  capacity_ = capacity;
  return true;
}

void Arena::release() {
  if (mapping_ != nullptr) munmap(mapping_, static_cast<size_t>(mapping_bytes_));
  mapping_ = nullptr;
  mapping_bytes_ = capacity_ = 0;
  data_ = nullptr;
}

}  // namespace onnxc::runtime
