// The caches that the groups of a launch share: an L2 of each die (4 MiB) and the Infinity Cache (256 MiB), both empty
// at first.
//
// Problem: a line that a group touches for the first time may come from its die's L2, from the Infinity Cache or from
// memory, which differ by a factor of four in latency. A line that leaves a cache has to be brought again.
//
// Method: each group hands in its first touches of lines, in their order and with the cycle of each. Groups are taken
// in the grid's order, each by itself, whatever the order in which they were simulated. Dies take them in turn. Least
// recently used lines leave first, by the line: hardware has sets, but spreads addresses over them by a hash.
//
// Groups that run at the same time run in step. A line that one of them has asked for t cycles ago is under way, and
// is there t cycles sooner. Limits: groups drift apart, which this does not follow.
//
// Stores are kept in L2, which writes them back when they leave it, or at the kernel's end.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "gfx942sim/reports/traffic.h"

namespace gfx942sim {

// The lines that a cache holds.
class CachedLines {
 public:
  struct Line {
    uint64_t number = 0;
    uint64_t group = 0;    // that had it brought
    uint64_t cycle = 0;    // of that group
    uint64_t latency = 0;  // of its way into this cache's compute units
    bool is_dirty = false;
    size_t newer = 0, older = 0;  // places; 0: none
  };
  explicit CachedLines(uint64_t capacity) : capacity_(capacity) {}
  // The line, which is the most recently used from now on; null if it is not there.
  Line* find(uint64_t number);
  // Puts a new line in; `left` is what it takes the place of, with the number 0 if nothing.
  Line& insert(const Line& line, Line& left);
  uint64_t dirty_lines() const;

 private:
  void link_newest(size_t place);
  void unlink(size_t place);

  uint64_t capacity_;
  std::vector<Line> lines_ = std::vector<Line>(1);  // the first holds the ends of the list
  std::unordered_map<uint64_t, size_t> places_;
};

class SharedCaches {
 public:
  struct Shape {
    int dies;
    uint64_t lines_of_l2;  // of a die
    uint64_t lines_of_infinity_cache;
    uint64_t groups_at_once;
  };
  SharedCaches(const Shape& shape, uint64_t recorded_group);

  // Takes what a group touched; may be called by several threads, once for each group.
  void add(uint64_t group, std::vector<Touch> touches);

  // Lines that the L2 of all dies had to be given, and those that memory had to bring.
  uint64_t loaded_into_l2() const { return loaded_into_l2_; }
  uint64_t loaded_from_memory() const { return loaded_from_memory_; }
  // Stored lines that have left an L2, and those that the L2 of all dies still hold. A line that groups of several dies
  // store to counts for each.
  uint64_t written_back() const { return written_back_; }
  uint64_t dirty_lines() const;
  // How long each first touch of the recorded group takes.
  const std::vector<uint16_t>& recorded_latencies() const { return recorded_latencies_; }

 private:
  void take(uint64_t group, const std::vector<Touch>& touches);
  uint64_t load(uint64_t group, const Touch& touch);
  void store(uint64_t group, const Touch& touch);
  uint64_t latency_from_infinity_cache(uint64_t group, const Touch& touch);
  void keep_in_l2(const CachedLines::Line& line);
  uint64_t remaining(const CachedLines::Line& line, uint64_t group, uint64_t cycle, uint64_t least) const;

  uint64_t groups_at_once_, recorded_group_;
  std::vector<CachedLines> l2_;  // of each die
  CachedLines infinity_cache_;
  uint64_t loaded_into_l2_ = 0, loaded_from_memory_ = 0, written_back_ = 0;
  std::vector<uint16_t> recorded_latencies_;

  std::mutex mutex_;
  std::map<uint64_t, std::vector<Touch>> waiting_;  // for a group before them
  uint64_t next_group_ = 0;
};

}  // namespace gfx942sim
