// The source of the cache lines of a kernel's accesses: the vector unit's L1, or beyond it; and how many different
// lines there are at all. A group's first touches are written down for the caches that all share (shared_caches.h).
//
// L1 is 32 KiB in lines of 128 bytes, four sets of 64, least recently used out. The groups that a compute unit holds at
// once share it: each begins with its part of an empty one. Stores go through to L2.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gfx942sim {

inline constexpr uint64_t line_bytes = 128;

// A set of line numbers, in pages of bits.
class LineSet {
 public:
  // False when it was there already.
  bool insert(uint64_t line);
  void add(const LineSet& other);
  uint64_t count() const;

 private:
  static constexpr uint64_t lines_in_page = 1 << 15;
  using Page = std::vector<uint64_t>;
  Page& page(uint64_t number);

  std::unordered_map<uint64_t, Page> pages_;
  uint64_t last_number_ = ~uint64_t{0};
  Page* last_ = nullptr;
};

// A set that is cheap to clear: an open table, whose entries count only for one generation.
class GroupLines {
 public:
  void clear() {
    ++generation_;
    count_ = 0;
  }
  // False when it was there already.
  bool insert(uint64_t line);

 private:
  struct Entry {
    uint64_t line = 0;
    uint64_t generation = 0;
  };
  void grow();
  std::vector<Entry> entries_ = std::vector<Entry>(1024);
  uint64_t generation_ = 1;
  std::size_t count_ = 0;
};

enum class LineSource : uint8_t { l1, l2, first_touch };

// A group's first access of a line, by the cycle of its wave.
struct Touch {
  uint64_t line;
  uint32_t cycle;
  bool is_store;
};

class Traffic {
 public:
  explicit Traffic(uint64_t groups_of_l1) : ways_(std::max<uint64_t>(1, ways / groups_of_l1)) {}
  void begin_group() {
    l1_ = {};
    loaded_of_group_.clear();
    stored_of_group_.clear();
    touches_.clear();
  }
  // The source of a loaded line: L1, L2 if the group has had it before, or any.
  LineSource load(uint64_t line, uint64_t cycle);
  // Whether the group has not stored to the line before.
  bool store(uint64_t line, uint64_t cycle);
  // The group's first touches, in their order.
  std::vector<Touch>& touches() { return touches_; }
  void add(const Traffic& other);

  uint64_t l1_misses() const { return l1_misses_; }
  // Lines that a group had not loaded before, or not stored to, over all groups.
  uint64_t first_touches() const { return first_touches_; }
  uint64_t different_loaded_lines() const { return loaded_.count(); }
  uint64_t different_stored_lines() const { return stored_.count(); }

 private:
  static constexpr uint64_t sets = 4, ways = 64;
  struct Cache {
    std::array<std::array<uint64_t, ways>, sets> lines{};  // line + 1; 0: empty
    std::array<std::array<uint32_t, ways>, sets> used{};   // when, by a count of accesses
    uint32_t accesses = 0;
  };
  bool hits_l1(uint64_t line);

  uint64_t ways_;  // of a group's part
  Cache l1_;
  uint64_t l1_misses_ = 0, first_touches_ = 0;
  LineSet loaded_, stored_;
  GroupLines loaded_of_group_, stored_of_group_;
  std::vector<Touch> touches_;
};

}  // namespace gfx942sim
