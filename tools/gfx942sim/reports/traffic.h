// The source of the cache lines of a kernel's accesses: the vector unit's L1, or beyond it; and how many different
// lines there are at all, which memory must bring at least once.
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

enum class LineSource : uint8_t { l1, l2, shared_cache };

class Traffic {
 public:
  Traffic(int dies, uint64_t groups_of_l1)
      : ways_(std::max<uint64_t>(1, ways / groups_of_l1)), loaded_(static_cast<size_t>(dies)) {}
  // Groups are dealt in turn to the dies that have an L2 of their own.
  void begin_group(uint64_t number) {
    l1_ = {};
    of_group_.clear();
    l2_ = &loaded_[number % loaded_.size()];
  }
  // The source of a loaded line: L1, or what all compute units share if the group has not had it before.
  LineSource load(uint64_t line);
  void store(uint64_t line) { stored_.insert(line); }
  void add(const Traffic& other);

  uint64_t l1_misses() const { return l1_misses_; }
  // Lines that a group had not had before, over all groups.
  uint64_t first_touches() const { return first_touches_; }
  uint64_t different_loaded_lines() const;
  // The different lines that each L2 has to be given, of all of them together.
  uint64_t lines_of_l2() const;
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
  std::vector<LineSet> loaded_;   // by each die
  LineSet* l2_ = loaded_.data();  // of the group's die
  LineSet stored_;
  GroupLines of_group_;
};

}  // namespace gfx942sim
