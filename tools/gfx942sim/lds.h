// A work group's local memory. Every byte knows whether it was written, and which waves touched it since the last
// barrier.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gfx942sim {

enum class LdsAccess : uint8_t { read, write, atomic };

class Lds {
 public:
  // Forgets all contents.
  void reset(uint32_t size);
  uint32_t size() const { return size_; }

  // What is wrong with an access, or nothing. Between two barriers, bytes that one wave writes may be touched by no
  // other; atomics of several waves may meet.
  std::optional<std::string> check(uint32_t address, uint32_t length, LdsAccess access, int wave);

  // Marks the bytes as touched since the last barrier without looking for a race: for an operation that was issued
  // before the barrier and not waited for.
  void touch(uint32_t address, uint32_t length, LdsAccess access, int wave);

  uint8_t* bytes(uint32_t address) { return bytes_.data() + address; }
  void mark_written(uint32_t address, uint32_t length);

  void pass_barrier() { ++epoch_; }

 private:
  // The epoch and the wave of the last access of a kind: epoch * waves_per_tag + wave. Epochs begin at 1.
  using Tag = uint32_t;
  std::optional<std::string> find_race(uint32_t address, uint32_t length, LdsAccess access, int wave) const;

  uint32_t size_ = 0;
  uint32_t epoch_ = 1;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> written_;
  std::vector<Tag> readers_, writers_, atomics_;
};

}  // namespace gfx942sim
