#include "provider/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace onnxc::provider {
namespace {

using testing::ElementsAre;
using Nodes = std::vector<size_t>;
using Edges = std::vector<std::vector<size_t>>;

TEST(Partition, IsTheWholeGraphWhereNothingIsLeft) {
  EXPECT_THAT(partition({{}, {0}, {0, 1}}, {false, false, false}), ElementsAre(Nodes{0, 1, 2}));
}

TEST(Partition, IsEmptyWhereAllIsLeft) { EXPECT_TRUE(partition({{}, {0}}, {true, true}).empty()); }

TEST(Partition, EndsAtANodeThatIsLeft) {
  // 0 -> 1 -> 2 -> 3 -> 4, and 3 is left
  EXPECT_THAT(partition({{}, {0}, {1}, {2}, {3}}, {false, false, false, true, false}),
              ElementsAre(Nodes{0, 1, 2}, Nodes{4}));
}

TEST(Partition, DoesNotReachAroundANodeThatIsLeft) {
  // 0 -> 1 -> 3, 0 -> 2 -> 3, and 1 is left: 3 cannot be with 0, since 1 is between them.
  EXPECT_THAT(partition({{}, {0}, {0}, {1, 2}}, {false, true, false, false}), ElementsAre(Nodes{0, 2}, Nodes{3}));
}

TEST(Partition, GoesOnBehindANodeThatNeedsNothingOfIt) {
  // 0 and 1 -> 2, and 0 is left: it runs before.
  EXPECT_THAT(partition({{}, {}, {0, 1}}, {true, false, false}), ElementsAre(Nodes{1, 2}));
}

// The nodes that can be reached from a node, by a walk over all edges.
std::vector<char> reached_from(const Edges& predecessors, size_t start) {
  std::vector<char> reached(predecessors.size(), 0);
  reached[start] = 1;
  for (size_t node = start + 1; node < predecessors.size(); ++node)
    reached[node] = std::ranges::any_of(predecessors[node], [&](size_t before) { return reached[before] != 0; });
  return reached;
}

TEST(Partition, OfAnyGraphHasEachNodeOnceAndNoWayBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Edges predecessors(1 + random() % 12);
    std::vector<bool> is_left;
    for (size_t node = 0; node < predecessors.size(); ++node) {
      for (size_t before = 0; before < node; ++before)
        if (random() % 3 == 0) predecessors[node].push_back(before);
      is_left.push_back(random() % 4 == 0);
    }
    std::vector<int> count(predecessors.size(), 0);
    for (const Nodes& part : partition(predecessors, is_left)) {
      EXPECT_TRUE(std::ranges::is_sorted(part));
      for (const size_t node : part) ++count[node];
      for (size_t outside = 0; outside < predecessors.size(); ++outside) {
        if (std::ranges::binary_search(part, outside)) continue;
        const std::vector<char> behind = reached_from(predecessors, outside);
        const bool is_behind =
            std::ranges::any_of(part, [&](size_t node) { return reached_from(predecessors, node)[outside] != 0; });
        EXPECT_FALSE(is_behind && std::ranges::any_of(part, [&](size_t node) { return behind[node] != 0; }));
      }
    }
    for (size_t node = 0; node < predecessors.size(); ++node) EXPECT_EQ(count[node], is_left[node] ? 0 : 1);
  }
}

}  // namespace
}  // namespace onnxc::provider
