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

  // The fault of an access, or nothing. Between two barriers, bytes that one wave writes may be touched by no other;
  // atomics of several waves may meet.
  std::optional<std::string> check(uint32_t address, uint32_t length, LdsAccess access, int wave);

  // The same for an access that is most likely right: false if it is not, or if only check can tell.
  template <uint32_t length>
  bool is_right(uint32_t address, LdsAccess access, int wave);

  // Marks the bytes as touched since the last barrier without looking for a race: for an operation that was issued
  // before the barrier and not waited for.
  void touch(uint32_t address, uint32_t length, LdsAccess access, int wave);

  uint8_t* bytes(uint32_t address) { return bytes_.data() + address; }
  void mark_written(uint32_t address, uint32_t length);

  void pass_barrier();

 private:
  // The epoch and the wave of the last access of a kind: the wave in the low bits. Epochs begin at 1.
  using Tag = uint16_t;  // small, since each access looks at one of each kind for each of its bytes
  static constexpr uint32_t wave_bits = 5;
  static constexpr uint32_t last_epoch = (1U << (16 - wave_bits)) - 1;
  static constexpr Tag several_waves = (1U << wave_bits) - 1;  // in the place of the wave
  Tag tag_of(uint32_t wave) const { return static_cast<Tag>(epoch_ << wave_bits | wave); }
  std::optional<std::string> find_race(uint32_t address, uint32_t length, LdsAccess access, int wave) const;

  uint32_t size_ = 0;
  uint32_t epoch_ = 1;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> written_;
  std::vector<Tag> readers_, writers_, atomics_;
};

template <uint32_t length>
bool Lds::is_right(uint32_t address, LdsAccess access, int wave) {
  if (address > size_ || length > size_ - address || access == LdsAccess::atomic) return false;
  const Tag begin_of_epoch = tag_of(0), mine = tag_of(static_cast<uint32_t>(wave)), several = tag_of(several_waves);
  Tag* const writers = writers_.data() + address;
  Tag* const readers = readers_.data() + address;
  const Tag* const atomics = atomics_.data() + address;
  // Tags of this epoch are the largest there are. All ones if one is of this epoch and of another wave.
  auto foreign = [&](Tag tag) { return static_cast<Tag>(-(tag >= begin_of_epoch) & -(tag != mine)); };
  Tag wrong = 0;
  for (uint32_t i = 0; i < length; ++i) wrong |= foreign(writers[i]) | foreign(atomics[i]);
  if (access == LdsAccess::write) {
    for (uint32_t i = 0; i < length; ++i) wrong |= foreign(readers[i]);
    if (wrong) return false;
    for (uint32_t i = 0; i < length; ++i) writers[i] = mine;
    return true;
  }
  uint8_t written = 1;
  for (uint32_t i = 0; i < length; ++i) written &= written_[address + i];
  if (wrong || !written) return false;
  for (uint32_t i = 0; i < length; ++i) readers[i] = foreign(readers[i]) ? several : mine;
  return true;
}

}  // namespace gfx942sim
