// Memory of the stand-in's GPUs: memory of the host with a margin on both sides, so that a kernel that writes beyond an
// allocation is found. It is NaN until it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace cuda_stand_in {

class DeviceMemory {
 public:
  // Null if the device has no room.
  void* allocate(int context, size_t bytes, size_t most_bytes);
  // Pinned memory of the host.
  void* allocate_host(int context, size_t bytes);
  // Throws gpu_streams::Refusal for what is not the start of an allocation of that kind.
  void free(void* pointer);
  void free_host(void* pointer);
  // All of a context that is gone.
  void free_context(int context);

  // Throws unless all bytes lie in one allocation of the device.
  void require_device(const void* pointer, size_t bytes, const char* what) const;
  // The same for memory of the device and pinned memory.
  void require_known(const void* pointer, size_t bytes, const char* what) const;
  // Throws if a pointer to the host is one to the device.
  void require_host(const void* pointer, const char* what) const;
  bool is_pinned(const void* pointer, size_t bytes) const;
  // 0: not known, 1: of the host, 2: of a device; and the number of its context.
  int kind_of(const void* pointer, int& context) const;
  // Tells of an allocation beside which a kernel wrote; empty if there is none.
  std::string damage() const;
  size_t count() const { return allocations_.size(); }
  size_t used_bytes(int context) const;

 private:
  struct Allocation {
    std::unique_ptr<std::byte[]> memory;
    size_t bytes;
    int context;
    bool is_on_host;
  };
  void* add(int context, size_t bytes, bool is_on_host);
  void remove(void* pointer, bool is_on_host);
  // The allocation that the bytes lie in; null if there is none.
  const Allocation* find(const void* pointer, size_t bytes) const;

  std::map<std::byte*, Allocation> allocations_;  // by their first byte
};

}  // namespace cuda_stand_in
