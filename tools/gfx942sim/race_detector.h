// Races on global memory: two accesses of one launch to the same bytes, one of them a write, with nothing that orders
// them. Each word of memory knows the last write and the last read of it in the launch; who comes later and finds
// somebody else's access there looks for what orders the two:
//
// - waves of a work group: a barrier, before which the earlier access was waited for (s_waitcnt vmcnt). A read is
//   assumed to have been waited for;
// - work groups: a release and an acquire at agent scope or wider: buffer_wbl2 sc1, then an atomic or a store with sc1
// to
//   some address, which an atomic or a load with sc1 of the other group reads, then buffer_inv sc1;
// - two atomics, among them loads and stores with sc1, need no order.
//
// Two stores of the same bytes are not a race. Missed are: all but the last accesses of a word, accesses that meet
// within nanoseconds on two threads of the host, and what waves of a group do after their 4,095th barrier.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gfx942sim/memory.h"
#include "gfx942sim/wave/wave.h"

namespace gfx942sim {

enum class Races : uint8_t {
  none,          // are looked for
  except_waits,  // trusts that a compute unit does the memory operations of its waves in their order, as clang does:
                 // a barrier is enough between waves, waited for or not
  all
};

// GFX942SIM_RACES: "off", "except-waits"; all without it.
Races races_from_environment();

// An access: its work group, wave, how many barriers came before, its instruction, and which bytes of the word it
// touches. Agents are compared by the upper 32 bits.
class AccessTag {
 public:
  AccessTag() = default;
  explicit AccessTag(uint64_t bits) : bits_(bits) {}
  AccessTag(uint64_t group, uint32_t wave, uint32_t epoch, uint32_t instruction)
      : bits_(std::min<uint64_t>(group, last_group) << 37 | uint64_t{wave} << 32 | uint64_t{epoch} << 20 |
              uint64_t{instruction} << 4) {}

  static constexpr uint64_t several_groups = (1U << 27) - 1, last_group = several_groups - 1;
  static constexpr uint32_t several_waves = 31, last_epoch = (1U << 12) - 1, unknown_instruction = (1U << 16) - 1;

  uint64_t bits() const { return bits_; }
  uint32_t agent() const { return static_cast<uint32_t>(bits_ >> 32); }
  uint64_t group() const { return bits_ >> 37; }
  uint32_t wave() const { return agent() & 31; }
  uint32_t epoch() const { return static_cast<uint32_t>(bits_ >> 20) & last_epoch; }
  uint32_t instruction() const { return static_cast<uint32_t>(bits_ >> 4) & unknown_instruction; }
  uint32_t bytes() const { return bits_ & 0xf; }

  AccessTag of_bytes(uint32_t bytes) const { return AccessTag((bits_ & ~uint64_t{0xf}) | bytes); }
  AccessTag of_several_waves() const { return AccessTag(bits_ | uint64_t{several_waves} << 32); }
  AccessTag of_several_groups() const { return AccessTag(bits_ | several_groups << 37); }
  AccessTag of_epoch(uint32_t epoch) const {
    return AccessTag((bits_ & ~(uint64_t{last_epoch} << 20)) | uint64_t{epoch} << 20);
  }
  // Whether another wave has touched some of the same bytes.
  bool meets(AccessTag other) const { return agent() != other.agent() && (bits_ & other.bits_ & 0xf) != 0; }
  bool is_of_same_epoch(AccessTag other) const { return bits_ >> 20 == other.bits_ >> 20; }

 private:
  uint64_t bits_ = 0;
};

// The accesses to four bytes of memory.
struct WordAccesses {
  std::atomic<uint64_t> write, read;
};

// The accesses to an allocation, and which stretches of them are not zero.
struct AccessRecord {
  static constexpr uint64_t stretch = 4096;  // words
  WordAccesses* words = nullptr;             // null: the allocation is not watched
  std::atomic<uint8_t>* is_touched = nullptr;
};

// For a whole launch, for all threads that run its groups.
class RaceDetector {
 public:
  explicit RaceDetector(Races races);
  ~RaceDetector();
  RaceDetector(const RaceDetector&) = delete;
  RaceDetector& operator=(const RaceDetector&) = delete;

  Races races() const { return races_; }
  // Not watched are the kernel's arguments, and what is too large to keep a record of.
  AccessRecord record_of(const Allocation& allocation);

  // Groups whose writes, so far, who acquires from the address may read.
  void publish(uint64_t address, uint64_t group, const std::set<uint64_t>& acquired);
  void collect(uint64_t address, std::set<uint64_t>& groups);

 private:
  static constexpr uint64_t largest_allocation = uint64_t{1} << 29;
  class Pool;
  struct Memory;
  Races races_;
  std::mutex mutex_;
  std::map<const Allocation*, std::unique_ptr<Memory>> records_;
  std::atomic<bool> has_published_ = false;
  std::map<uint64_t, std::set<uint64_t>> published_;
};

// The accesses of one work group.
class GroupAccesses {
 public:
  GroupAccesses(RaceDetector& detector, size_t waves) : detector_(detector), waves_(waves) {}

  void begin_group(uint64_t group);
  // The instruction's number counts its words from the kernel's entry.
  void begin_instruction(int wave, uint64_t instruction, bool is_atomic);

  struct Conflict {
    AccessTag other;
    bool other_writes;
  };
  // Notes an access of the current instruction; the one that it races with, if there is. `stored` are the bytes that a
  // store is to write; null for atomics.
  std::optional<Conflict> touch(const Allocation& allocation, uint64_t address, uint32_t length, bool writes,
                                const void* stored) {
    if (&allocation != allocation_) find_record(allocation);
    WordAccesses* words = record_.words;
    if (words == nullptr) return std::nullopt;
    const uint64_t begin = address - allocation.address, end = begin + length;
    for (const uint64_t word : {begin / 4, (end - 1) / 4})
      record_.is_touched[word / AccessRecord::stretch].store(1, std::memory_order_relaxed);
    for (uint64_t word = begin / 4; 4 * word < end; ++word) {
      uint32_t bytes = 0xf;
      if (4 * word < begin) bytes &= 0xfU << (begin - 4 * word);
      if (4 * word + 4 > end) bytes &= 0xfU >> (4 * word + 4 - end);
      if (auto conflict = touch_word(words[word], current_.of_bytes(bytes), writes)) {
        const bool is_same = writes && conflict->other_writes && stored != nullptr &&
                             std::memcmp(stored, allocation.bytes + begin, length) == 0;
        if (!is_same) return conflict;
      }
    }
    return std::nullopt;
  }
  // A store or an atomic, until it is waited for.
  void note_store(const Wave& wave, uint32_t number, const std::array<uint64_t, wave_size>& addresses, uint32_t length);
  void pass_barrier(const std::vector<Wave>& waves, const DeviceMemory& memory);

  // For the wave that runs: buffer_wbl2 and buffer_inv at agent scope, and accesses that pass their order on.
  void release(int wave) { waves_[static_cast<size_t>(wave)].releases = true; }
  void acquire(int wave);
  void publish(int wave, uint64_t address);
  void collect(int wave, uint64_t address) { detector_.collect(address, waves_[static_cast<size_t>(wave)].collected); }

  // Tells whether the instruction of a tag is an atomic; set once.
  using IsAtomic = bool (*)(const void* context, uint32_t instruction);
  void set_instructions(IsAtomic is_atomic, const void* context) {
    is_atomic_ = is_atomic;
    instructions_ = context;
  }

 private:
  struct Store {
    uint32_t number, length;
    AccessTag tag;
    std::array<uint64_t, wave_size> addresses;  // 0: none
  };
  struct OfWave {
    bool releases = false;
    std::set<uint64_t> collected;
    std::vector<Store> stores;
  };

  void find_record(const Allocation& allocation);
  std::optional<Conflict> touch_word(WordAccesses& word, AccessTag mine, bool writes) {
    const AccessTag write(word.write.load(std::memory_order_relaxed));
    const AccessTag read(word.read.load(std::memory_order_relaxed));
    std::optional<Conflict> conflict;
    if (write.meets(mine) && is_race(write)) conflict = {write, true};
    if (writes) {
      if (!conflict && read.meets(mine) && is_race(read)) conflict = {read, false};
      const uint32_t kept = write.is_of_same_epoch(mine) ? write.bytes() : 0;
      word.write.store(mine.of_bytes(mine.bytes() | kept).bits(), std::memory_order_relaxed);
    } else if (const AccessTag merged = merge_read(read, mine); merged.bits() != read.bits()) {
      word.read.store(merged.bits(), std::memory_order_relaxed);
    }
    return conflict;
  }
  bool is_race(AccessTag other) const;
  static AccessTag merge_read(AccessTag read, AccessTag mine);

  RaceDetector& detector_;
  std::vector<OfWave> waves_;
  uint64_t group_ = 0;
  uint32_t epoch_ = 0;
  AccessTag current_;
  bool current_is_atomic_ = false;
  std::set<uint64_t> acquired_;
  const Allocation* allocation_ = nullptr;
  AccessRecord record_;
  std::vector<std::pair<const Allocation*, AccessRecord>> known_;
  IsAtomic is_atomic_ = nullptr;
  const void* instructions_ = nullptr;
};

}  // namespace gfx942sim
