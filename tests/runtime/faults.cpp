// Wrapped allocation functions (linked in with --wrap) that fail from the n-th call on.
#include <stddef.h>
#include <sys/types.h>

#include <atomic>

extern "C" {
void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __real_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset);

// How many allocations still succeed; negative: all.
__attribute__((visibility("default"))) std::atomic<int> allocations_left = -1;

static bool fails() {
  int left = allocations_left.load();
  if (left < 0) return false;
  if (left == 0) return true;
  allocations_left.store(left - 1);
  return false;
}

void* __wrap_malloc(size_t size) { return fails() ? nullptr : __real_malloc(size); }
void* __wrap_calloc(size_t count, size_t size) { return fails() ? nullptr : __real_calloc(count, size); }
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails() ? nullptr : __real_aligned_alloc(alignment, size);
}
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  return fails() ? reinterpret_cast<void*>(-1) : __real_mmap(address, size, protection, flags, file, offset);
}
}
