#include "base/memory_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace onnxc::runtime {
namespace {

int64_t plan(std::vector<PlannedBuffer>& buffers) {
  std::vector<int32_t> workspace(buffers.size() * 2);
  return plan_memory(buffers.data(), static_cast<int32_t>(buffers.size()), workspace.data());
}

// The most bytes alive in one step.
int64_t lower_bound(const std::vector<PlannedBuffer>& buffers) {
  int64_t most = 0;
  for (const PlannedBuffer& at : buffers) {
    int64_t alive = 0;
    for (const PlannedBuffer& buffer : buffers)
      if (buffer.first_step <= at.first_step && at.first_step <= buffer.last_step)
        alive += (buffer.bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
    most = std::max(most, alive);
  }
  return most;
}

void expect_sound(const std::vector<PlannedBuffer>& buffers, int64_t arena) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlannedBuffer& a = buffers[i];
    ASSERT_EQ(a.offset % memory_alignment, 0);
    ASSERT_GE(a.offset, 0);
    ASSERT_LE(a.offset + a.bytes, arena);
    for (size_t j = 0; j < i; ++j) {
      const PlannedBuffer& b = buffers[j];
      bool meet_in_time = false;
      for (int32_t step = a.first_step; step <= a.last_step; ++step)
        meet_in_time |= b.first_step <= step && step <= b.last_step;
      bool meet_in_memory =
          a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      ASSERT_FALSE(meet_in_time && meet_in_memory) << "buffers " << j << " and " << i;
    }
  }
}

TEST(MemoryPlan, NothingNeedsNothing) {
  std::vector<PlannedBuffer> none;
  EXPECT_EQ(plan(none), 0);
  std::vector<PlannedBuffer> empty = {{0, 0, 5, 99}};
  EXPECT_EQ(plan(empty), 0);
  EXPECT_EQ(empty[0].offset, 0);
}

TEST(MemoryPlan, ChainUsesTwoBuffers) {
  std::vector<PlannedBuffer> chain;
  for (int32_t step = 0; step < 10; ++step) chain.push_back({1000, step, step + 1, -1});
  EXPECT_EQ(plan(chain), 2 * 1024);
  expect_sound(chain, 2 * 1024);
}

TEST(MemoryPlan, SharedStepIsShared) {
  // The first ends in the step in which the second begins: both are needed there.
  std::vector<PlannedBuffer> buffers = {{64, 0, 1, -1}, {64, 1, 2, -1}};
  EXPECT_EQ(plan(buffers), 128);
}

TEST(MemoryPlan, GapsAreFilledTightly) {
  // Step 5 finds gaps of 512 bytes at 0 and of 384 at 960, left by the two that lived in step 0 only.
  std::vector<PlannedBuffer> buffers = {
      {512, 0, 0, -1}, {448, 0, 9, -1}, {384, 0, 0, -1}, {320, 0, 9, -1}, {300, 5, 5, -1}};
  EXPECT_EQ(plan(buffers), 1664);
  EXPECT_EQ(buffers[4].offset, 960);
  expect_sound(buffers, 1664);
}

TEST(MemoryPlan, TheFullestStepComesFirst) {
  // In the order of size the second would stand at 0 and the last above it, which leaves 256 bytes below for the other
  // two, 384 at once.
  std::vector<PlannedBuffer> buffers = {{192, 0, 1, -1}, {256, 3, 4, -1}, {192, 1, 2, -1}, {256, 2, 4, -1}};
  EXPECT_EQ(plan(buffers), 512);
  expect_sound(buffers, 512);
}

TEST(MemoryPlan, RandomPlansAreSoundAndNearTheBound) {
  std::mt19937 random(7);
  double ratios = 0;
  constexpr int cases = 200;
  for (int i = 0; i < cases; ++i) {
    std::vector<PlannedBuffer> buffers(1 + random() % 60);
    for (PlannedBuffer& buffer : buffers) {
      buffer.bytes = static_cast<int64_t>(random() % 5000);
      buffer.first_step = static_cast<int32_t>(random() % 40);
      buffer.last_step = buffer.first_step + static_cast<int32_t>(random() % 6);
      buffer.offset = -1;
    }
    int64_t arena = plan(buffers);
    expect_sound(buffers, arena);
    int64_t bound = lower_bound(buffers);
    ASSERT_GE(arena, bound);
    ASSERT_EQ(least_memory(buffers.data(), static_cast<int32_t>(buffers.size())), bound);
    ratios += bound > 0 ? static_cast<double>(arena) / static_cast<double>(bound) : 1;
  }
  EXPECT_LT(ratios / cases, 1.03);
}

TEST(MemoryPlan, SumsThatOverflowAreRefused) {
  std::vector<PlannedBuffer> rounding = {{INT64_MAX, 0, 0, 0}};
  EXPECT_EQ(plan(rounding), -1);
  std::vector<PlannedBuffer> sum = {{INT64_MAX / 2, 0, 0, 0}, {INT64_MAX / 2, 0, 0, 0}, {INT64_MAX / 2, 0, 0, 0}};
  EXPECT_EQ(plan(sum), -1);
  std::vector<PlannedBuffer> negative = {{-1, 0, 0, 0}};
  EXPECT_EQ(plan(negative), -1);
}

}  // namespace
}  // namespace onnxc::runtime
