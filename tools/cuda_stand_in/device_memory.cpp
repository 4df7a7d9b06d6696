#include "cuda_stand_in/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "cuda_stand_in/errors.h"

namespace cuda_stand_in {
namespace {

using gpu_streams::Refusal;

constexpr size_t alignment = 256, margin = 256;
constexpr std::byte untouched{0xa5};

bool is_untouched(const std::byte* begin, size_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte byte) { return byte == untouched; });
}

}  // namespace

void* DeviceMemory::add(int context, size_t bytes, bool is_on_host) {
  const size_t whole = bytes + 2 * margin + alignment;
  auto memory = std::make_unique<std::byte[]>(whole);
  const auto address = reinterpret_cast<uintptr_t>(memory.get()) + margin;
  std::byte* first = memory.get() + margin + (alignment - address % alignment) % alignment;
  std::memset(first - margin, static_cast<int>(untouched), bytes + 2 * margin);
  std::memset(first, 0xff, bytes);
  allocations_[first] = {std::move(memory), bytes, context, is_on_host};
  return first;
}

void* DeviceMemory::allocate(int context, size_t bytes, size_t most_bytes) {
  if (bytes == 0) throw Refusal(gpu_streams::invalid_value, "0 bytes are asked for");
  return used_bytes(context) + bytes > most_bytes ? nullptr : add(context, bytes, false);
}

void* DeviceMemory::allocate_host(int context, size_t bytes) { return add(context, bytes, true); }

void DeviceMemory::remove(void* pointer, bool is_on_host) {
  const auto found = allocations_.find(static_cast<std::byte*>(pointer));
  if (found == allocations_.end() || found->second.is_on_host != is_on_host)
    throw Refusal(gpu_streams::invalid_value,
                  fmt::format("{} is not the start of {} memory", pointer, is_on_host ? "pinned" : "device"));
  allocations_.erase(found);
}

void DeviceMemory::free(void* pointer) { remove(pointer, false); }

void DeviceMemory::free_host(void* pointer) { remove(pointer, true); }

void DeviceMemory::free_context(int context) {
  std::erase_if(allocations_, [&](const auto& entry) { return entry.second.context == context; });
}

const DeviceMemory::Allocation* DeviceMemory::find(const void* pointer, size_t bytes) const {
  auto* at = static_cast<std::byte*>(const_cast<void*>(pointer));
  const auto after = allocations_.upper_bound(at);
  if (after == allocations_.begin()) return nullptr;
  const auto& [first, allocation] = *std::prev(after);
  const auto offset = static_cast<size_t>(at - first);
  return offset < allocation.bytes && bytes <= allocation.bytes - offset ? &allocation : nullptr;
}

void DeviceMemory::require_known(const void* pointer, size_t bytes, const char* what) const {
  if (find(pointer, bytes) == nullptr)
    throw Refusal(
        gpu_streams::invalid_value,
        fmt::format("{} of {} bytes at {} is not in one piece of this driver's memory", what, bytes, pointer));
}

void DeviceMemory::require_device(const void* pointer, size_t bytes, const char* what) const {
  require_known(pointer, bytes, what);
  if (find(pointer, bytes)->is_on_host)
    throw Refusal(gpu_streams::invalid_value, fmt::format("{} at {} is memory of the host", what, pointer));
}

void DeviceMemory::require_host(const void* pointer, const char* what) const {
  const Allocation* found = find(pointer, 1);
  if (found != nullptr && !found->is_on_host)
    throw Refusal(gpu_streams::invalid_value, fmt::format("{} at {} is device memory", what, pointer));
}

bool DeviceMemory::is_pinned(const void* pointer, size_t bytes) const {
  const Allocation* found = find(pointer, bytes);
  return found != nullptr && found->is_on_host;
}

int DeviceMemory::kind_of(const void* pointer, int& context) const {
  const Allocation* found = find(pointer, 1);
  if (found == nullptr) return 0;
  context = found->context;
  return found->is_on_host ? 1 : 2;
}

std::string DeviceMemory::damage() const {
  for (const auto& [first, allocation] : allocations_) {
    if (!is_untouched(first - margin, margin)) return fmt::format("before an allocation of {} bytes", allocation.bytes);
    if (!is_untouched(first + allocation.bytes, margin))
      return fmt::format("after an allocation of {} bytes", allocation.bytes);
  }
  return "";
}

size_t DeviceMemory::used_bytes(int context) const {
  size_t used = 0;
  for (const auto& [first, allocation] : allocations_)
    if (!allocation.is_on_host && allocation.context == context) used += allocation.bytes;
  return used;
}

}  // namespace cuda_stand_in
