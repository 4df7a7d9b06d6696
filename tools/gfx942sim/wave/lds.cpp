#include "gfx942sim/wave/lds.h"

#include <fmt/format.h>

#include <algorithm>

namespace gfx942sim {
void Lds::reset(uint32_t size) {
  size_ = size;
  epoch_ = 1;
  bytes_.assign(size, 0xff);
  written_.assign(size, 0);
  readers_.assign(size, 0);
  writers_.assign(size, 0);
  atomics_.assign(size, 0);
}

std::optional<std::string> Lds::check(uint32_t address, uint32_t length, LdsAccess access, int wave) {
  if (address > size_ || length > size_ - address)
    return fmt::format("{} {} bytes of LDS at {}, but the work group has {}",
                       access == LdsAccess::read ? "reads" : "writes", length, address, size_);
  if (access != LdsAccess::write) {
    const uint8_t* begin = written_.data() + address;
    const uint8_t* unwritten = std::find(begin, begin + length, 0);
    if (unwritten != begin + length)
      return fmt::format("reads LDS byte {}, which was never written", unwritten - written_.data());
  }
  if (auto race = find_race(address, length, access, wave)) return race;
  touch(address, length, access, wave);
  return std::nullopt;
}

std::optional<std::string> Lds::find_race(uint32_t address, uint32_t length, LdsAccess access, int wave) const {
  const auto me = static_cast<uint32_t>(wave);
  // Whether a tag is of this epoch and of another wave; "several waves" is another.
  auto foreign = [&](Tag tag) {
    return static_cast<uint32_t>(tag >> wave_bits) == epoch_ && (tag & several_waves) != me;
  };
  bool race = false;
  for (uint32_t i = address; i < address + length; ++i) {
    race |= foreign(writers_[i]);
    if (access != LdsAccess::read) race |= foreign(readers_[i]);
    if (access != LdsAccess::atomic) race |= foreign(atomics_[i]);
  }
  if (!race) return std::nullopt;
  auto name = [](Tag tag) {
    const uint32_t other = tag & several_waves;
    return other == several_waves ? std::string("several waves") : fmt::format("wave {}", other);
  };
  for (uint32_t i = address; i < address + length; ++i) {
    if (foreign(writers_[i]))
      return fmt::format("{} LDS byte {}, which {} wrote, without a barrier (and an s_waitcnt before it) between",
                         access == LdsAccess::read ? "reads" : "writes", i, name(writers_[i]));
    if (access != LdsAccess::read && foreign(readers_[i]))
      return fmt::format("writes LDS byte {}, which {} read, without a barrier (and an s_waitcnt before it) between", i,
                         name(readers_[i]));
    if (access != LdsAccess::atomic && foreign(atomics_[i]))
      return fmt::format(
          "{} LDS byte {}, which {} changed atomically, without a barrier (and an s_waitcnt before it) between",
          access == LdsAccess::read ? "reads" : "writes", i, name(atomics_[i]));
  }
  return std::nullopt;
}

void Lds::touch(uint32_t address, uint32_t length, LdsAccess access, int wave) {
  const Tag mine = tag_of(static_cast<uint32_t>(wave));
  if (access == LdsAccess::write) {
    std::fill_n(writers_.begin() + address, length, mine);
    return;
  }
  const Tag several = tag_of(several_waves);
  std::vector<Tag>& tags = access == LdsAccess::read ? readers_ : atomics_;
  for (uint32_t i = address; i < address + length; ++i)
    tags[i] = (static_cast<uint32_t>(tags[i] >> wave_bits) == epoch_ && tags[i] != mine) ? several : mine;
}

void Lds::pass_barrier() {
  if (++epoch_ <= last_epoch) return;
  // Tags begin anew: what was touched before the barrier does not count any more.
  epoch_ = 1;
  for (std::vector<Tag>* tags : {&readers_, &writers_, &atomics_}) std::fill(tags->begin(), tags->end(), Tag{0});
}

void Lds::mark_written(uint32_t address, uint32_t length) {
  std::fill_n(written_.begin() + address, length, uint8_t{1});
}

}  // namespace gfx942sim
