#include "async_copy.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "block.h"

namespace onnxc::host_blocks {
namespace {

constexpr size_t copy_bytes = 16;

}  // namespace

void AsyncCopies::copy(void* to, const void* from, size_t real) {
  if (reinterpret_cast<uintptr_t>(to) % copy_bytes != 0 || reinterpret_cast<uintptr_t>(from) % copy_bytes != 0)
    fail("cp.async between places that are not aligned to 16 bytes");
  open_.push_back({to, from, real});
}

void AsyncCopies::end_group() { groups_.push_back(std::exchange(open_, {})); }

void AsyncCopies::wait(size_t left) {
  for (; groups_.size() > left; groups_.pop_front())
    for (const Copy& copy : groups_.front()) {
      std::memset(copy.to, 0, copy_bytes);
      std::memcpy(copy.to, copy.from, copy.real);
      are_shown_ = false;
    }
}

void AsyncCopies::clear() {
  open_.clear();
  groups_.clear();
  show();
}

}  // namespace onnxc::host_blocks
