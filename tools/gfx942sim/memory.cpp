#include "gfx942sim/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "support/diagnostics.h"

namespace gfx942sim {
namespace {

constexpr uint64_t reserved_bytes = uint64_t{1} << 40;
constexpr uint64_t guard_bytes = uint64_t{1} << 16;
constexpr uint64_t alignment = 256;  // hipMalloc's

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

DeviceMemory::DeviceMemory() {
  void* range = mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  onnxc::user_check(
      range != MAP_FAILED,
      "gfx942sim cannot reserve {} bytes of address space for the device's memory; is it limited (ulimit -v)?",
      reserved_bytes);
  reserved_ = reinterpret_cast<uint64_t>(range);
  next_ = reserved_ + guard_bytes;
}

DeviceMemory::~DeviceMemory() { munmap(reinterpret_cast<void*>(reserved_), reserved_bytes); }

const Allocation* DeviceMemory::allocate(uint64_t size, const std::string& label, int device) {
  const uint64_t span = round_up(size, alignment) + guard_bytes;
  if (span > reserved_ + reserved_bytes - next_) return nullptr;
  auto* bytes = static_cast<std::byte*>(std::malloc(size + 1));
  if (!bytes) return nullptr;
  std::memset(bytes, 0xff, size);
  Entry entry{{next_, size, bytes, label, device}, {bytes, [](std::byte* memory) { std::free(memory); }}};
  next_ += span;
  used_[device] += size;
  return insert(std::move(entry));
}

const Allocation* DeviceMemory::adopt(void* host_memory, uint64_t size, const std::string& label) {
  auto* bytes = static_cast<std::byte*>(host_memory);
  return insert(
      {{reinterpret_cast<uint64_t>(host_memory), size, bytes, label, any_device}, {bytes, [](std::byte*) {}}});
}

const Allocation* DeviceMemory::insert(Entry entry) {
  const uint64_t address = entry.allocation.address;
  return &allocations_.insert_or_assign(address, std::move(entry)).first->second.allocation;
}

bool DeviceMemory::release(uint64_t address) {
  auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  const bool on_device = address >= reserved_ && address < reserved_ + reserved_bytes;
  if (on_device) used_[found->second.allocation.device] -= found->second.allocation.size;
  allocations_.erase(found);
  return true;
}

const Allocation* DeviceMemory::find(uint64_t address, uint64_t length) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = std::prev(after)->second.allocation;
  return candidate.contains(address, length) ? &candidate : nullptr;
}

std::string DeviceMemory::describe(uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second.allocation;
    const uint64_t distance = address - before.address;
    if (distance < before.size) return fmt::format("at byte {} of {} ({} bytes)", distance, before.label, before.size);
    if (distance - before.size < guard_bytes)
      return fmt::format("{} bytes past the end of {} ({} bytes)", distance - before.size, before.label, before.size);
  }
  if (after != allocations_.end() && after->first - address <= guard_bytes)
    return fmt::format("{} bytes before {} ({} bytes)", after->first - address, after->second.allocation.label,
                       after->second.allocation.size);
  return "near no allocation";
}

}  // namespace gfx942sim
