// The device's memory: allocations with guards around them, at addresses that the host cannot touch.
//
// Addresses come from a range that is reserved and never mapped, and are not used twice: a host that follows a device
// pointer, a kernel that leaves an allocation and a use after free all miss every allocation. Not safe for concurrent
// changes; kernels only look up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace gfx942sim {

inline constexpr int any_device = -1;  // of memory that every device reaches: of the host, of a launch itself

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  std::byte* bytes = nullptr;  // on the host
  std::string label;           // what a report calls it
  int device = any_device;     // whose memory it is
  bool is_kernel_arguments = false;

  bool contains(uint64_t begin, uint64_t length) const {
    return begin >= address && length <= size && begin - address <= size - length;
  }
};

class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Filled with 0xff, which is NaN in every float type. How much fits a device its owner knows. Null
  // when the host has no room.
  const Allocation* allocate(uint64_t size, const std::string& label, int device = any_device);
  // Makes memory of the host visible to kernels at its own address.
  const Allocation* adopt(void* host_memory, uint64_t size, const std::string& label);
  // Scalar loads may run over the end of the kernel's arguments into their padding to 16 bytes.
  void mark_kernel_arguments(uint64_t address) { allocations_.at(address).allocation.is_kernel_arguments = true; }
  // False when no allocation begins there.
  bool release(uint64_t address);

  // The allocation that holds all these bytes, or null.
  const Allocation* find(uint64_t address, uint64_t length) const;
  // The allocation at or next to an address, for reports: "4 bytes past the end of allocation (1024 bytes)".
  std::string describe(uint64_t address) const;

  // The devices for which it holds.
  template <class Predicate>
  uint64_t used_bytes(const Predicate& counts) const {
    uint64_t sum = 0;
    for (const auto& [device, bytes] : used_)
      if (counts(device)) sum += bytes;
    return sum;
  }

 private:
  struct Entry {
    Allocation allocation;
    std::unique_ptr<std::byte, void (*)(std::byte*)> owned;
  };
  const Allocation* insert(Entry entry);

  uint64_t reserved_ = 0;
  uint64_t next_ = 0;
  std::map<int, uint64_t> used_;           // of each device
  std::map<uint64_t, Entry> allocations_;  // by address
};

}  // namespace gfx942sim
