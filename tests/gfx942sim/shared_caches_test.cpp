// Caches that groups share, each of a few lines: which of them has a line, and how long it takes.
#include "gfx942sim/reports/shared_caches.h"

#include <gtest/gtest.h>

#include "machine/gpu_timing.h"

namespace gfx942sim {
namespace {

constexpr onnxc::machine::GpuTiming timing = onnxc::machine::mi300x_timing;

Touch load(uint64_t line, uint32_t cycle = 0) { return {line, cycle, false}; }
Touch store(uint64_t line) { return {line, 0, true}; }

// Two dies, groups that never run at the same time, and the latencies of the last group.
class Caches {
 public:
  explicit Caches(std::vector<std::vector<Touch>> groups, SharedCaches::Shape shape = {2, 4, 100, 1})
      : caches(shape, groups.size() - 1) {
    for (size_t i = 0; i < groups.size(); ++i) caches.add(i, groups[i]);
  }
  std::vector<uint16_t> latencies() const { return caches.recorded_latencies(); }
  SharedCaches caches;
};

using Latencies = std::vector<uint16_t>;
constexpr uint16_t l2 = timing.l2_latency, infinity_cache = timing.infinity_cache_latency,
                   memory = timing.memory_latency;

TEST(SharedCaches, ALineComesFromMemoryThenFromTheInfinityCacheThenFromTheDiesL2) {
  EXPECT_EQ(Caches({{load(1)}}).latencies(), Latencies{memory});
  EXPECT_EQ(Caches({{load(1)}, {load(1)}}).latencies(), Latencies{infinity_cache});  // on the other die
  const Caches third({{load(1)}, {load(1)}, {load(2), load(1)}});
  EXPECT_EQ(third.latencies(), (Latencies{memory, l2}));
  EXPECT_EQ(third.caches.loaded_into_l2(), 3U);
  EXPECT_EQ(third.caches.loaded_from_memory(), 2U);
}

TEST(SharedCaches, TheLineUnusedForLongestLeaves) {
  // Four lines fit. Line 1 is used again before 5 comes, and 2 is not.
  const std::vector<Touch> first = {load(1), load(2), load(3), load(4)}, other = {};
  EXPECT_EQ(Caches({first, other, {load(1), load(5)}, other, {load(1), load(2)}}).latencies(),
            (Latencies{l2, infinity_cache}));
}

TEST(SharedCaches, WhatLeavesTheInfinityCacheComesFromMemory) {
  const Caches caches({{load(1), load(2), load(3)}, {load(3), load(1)}}, {2, 4, 2, 1});
  EXPECT_EQ(caches.latencies(), (Latencies{infinity_cache, memory}));
  EXPECT_EQ(caches.caches.loaded_from_memory(), 4U);
}

TEST(SharedCaches, ALineThatAnotherGroupHasAskedForIsThereSooner) {
  const SharedCaches::Shape at_once{2, 4, 100, 100};
  EXPECT_EQ(Caches({{load(1, 100)}, {load(1, 100)}}, at_once).latencies(), Latencies{memory});
  EXPECT_EQ(Caches({{load(1, 100)}, {load(1, 150)}}, at_once).latencies(), Latencies{memory - 50});
  EXPECT_EQ(Caches({{load(1, 100)}, {load(1, 50)}}, at_once).latencies(), Latencies{memory});
  EXPECT_EQ(Caches({{load(1)}, {load(1, 5000)}}, at_once).latencies(), Latencies{infinity_cache});
  EXPECT_EQ(Caches({{load(1)}, {}, {load(1, memory - l2)}}, at_once).latencies(), Latencies{l2});
}

TEST(SharedCaches, StoresStayInL2UntilTheyLeave) {
  EXPECT_EQ(Caches({{store(1), store(2), load(2)}}).caches.dirty_lines(), 2U);
  const Caches full({{store(1), load(2), load(3), load(4), load(5)}});
  EXPECT_EQ(full.caches.dirty_lines(), 0U);
  EXPECT_EQ(full.caches.written_back(), 1U);
  // Both dies have what groups of both store to.
  EXPECT_EQ(Caches({{store(1)}, {store(1)}, {store(1)}}).caches.dirty_lines(), 2U);
  // It was not loaded from memory, and is in the Infinity Cache.
  const Caches again({{store(1), load(2), load(3), load(4), load(5)}, {}, {load(1)}});
  EXPECT_EQ(again.latencies(), Latencies{infinity_cache});
  EXPECT_EQ(again.caches.loaded_from_memory(), 4U);
}

TEST(SharedCaches, GroupsAreTakenInTheGridsOrder) {
  SharedCaches caches({2, 4, 100, 1}, 2);
  caches.add(2, {load(1)});
  caches.add(1, {load(1)});
  EXPECT_EQ(caches.loaded_from_memory(), 0U);  // until the first group has come
  caches.add(0, {load(1)});
  EXPECT_EQ(caches.loaded_from_memory(), 1U);
  EXPECT_EQ(caches.recorded_latencies(), Latencies{l2});
}

}  // namespace
}  // namespace gfx942sim
