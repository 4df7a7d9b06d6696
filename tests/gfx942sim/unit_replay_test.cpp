// The time of groups that share a compute unit, of traces written by hand.
#include "gfx942sim/reports/unit_replay.h"

#include <gtest/gtest.h>

#include "gfx942sim/wave/wave_clock.h"

namespace gfx942sim {
namespace {

constexpr LineCycles lines{2, 3, 10};

WaveTrace repeat(Step step, size_t times) { return WaveTrace(times, step); }
constexpr Step matrix{.kind = Step::Kind::matrix, .busy = 64},
    exclusive{.kind = Step::Kind::exclusive_matrix, .busy = 64}, vector{.kind = Step::Kind::vector, .busy = 100},
    lds{.kind = Step::Kind::lds, .busy = 100, .latency = 64}, wait_lds{.kind = Step::Kind::wait_lds},
    wait_memory{.kind = Step::Kind::wait_vector_memory}, barrier{.kind = Step::Kind::barrier},
    scalar{.kind = Step::Kind::scalar, .busy = 4};

double cycles(std::vector<WaveTrace> waves, UnitLoad load = {1, 1}) {
  return unit_cycles({.waves = std::move(waves), .first_touch_latencies = {}}, load, lines);
}

TEST(UnitReplay, AWaveWaitsForItsMatrixUnit) {
  EXPECT_EQ(cycles({repeat(matrix, 10)}), 9 * 64 + 4);
  // The waves of a group lie on SIMDs of their own; those of five groups do not.
  EXPECT_EQ(cycles({4, repeat(matrix, 10)}), 9 * 64 + 4);
  EXPECT_EQ(cycles({repeat(matrix, 10)}, {5, 5}), 19 * 64 + 4);
}

TEST(UnitReplay, ProductsLeaveTheVectorUnitFreeButForThoseOfFloat32) {
  EXPECT_EQ(cycles({{matrix, vector}}), 4 + 100);
  EXPECT_EQ(cycles({{exclusive, vector}}), 64 + 100);
}

TEST(UnitReplay, WavesWaitForEachOtherInLds) {
  const WaveTrace wave{lds, wait_lds};
  EXPECT_EQ(cycles({wave}), 4 + 100 + 64);
  EXPECT_EQ(cycles({wave, wave}), 4 + 200 + 64);
}

TEST(UnitReplay, FourSimdsShareAScalarInstructionACycle) {
  EXPECT_EQ(cycles({repeat(scalar, 100)}), 400);
  EXPECT_EQ(cycles({repeat(scalar, 100)}, {4, 4}), 403);
  EXPECT_NEAR(cycles({repeat(scalar, 100)}, {8, 8}), 800, 8);
}

TEST(UnitReplay, ABarrierEndsWhenTheLastWaveIsThere) {
  EXPECT_EQ(cycles({{vector, barrier, vector}, {vector, vector, vector, barrier, vector}}), 400);
}

TEST(UnitReplay, LinesPassL1AndL2AndWhatLiesBeyond) {
  const Step load{
      .kind = Step::Kind::vector_memory, .lines = 4, .misses = 2, .first_touches = 1, .busy = 4, .latency = 460};
  EXPECT_EQ(cycles({{load, wait_memory}}), 4 + 10 + 460);  // which is the slowest
  const Step of_l1{.kind = Step::Kind::vector_memory, .lines = 16, .busy = 4, .latency = 126};
  EXPECT_EQ(cycles({{of_l1, wait_memory}}), 4 + 32 + 126);
  EXPECT_EQ(cycles({{of_l1, of_l1, wait_memory}}), 4 + 64 + 126);
}

TEST(UnitReplay, AnAccessTakesAsLongAsTheSlowestOfItsLines) {
  const Step load{.kind = Step::Kind::vector_memory, .lines = 3, .misses = 2, .first_touches = 2, .first_touch = 1};
  const auto with = [&](std::vector<uint16_t> latencies) {
    return unit_cycles({{{load, wait_memory}}, std::move(latencies)}, {1, 1}, lines);
  };
  EXPECT_EQ(with({9000, 300, 500, 9000}), 20 + 500);
  EXPECT_EQ(with({9000, 700, 500, 9000}), 20 + 700);
}

TEST(UnitReplay, AGroupThatEndsMakesRoom) {
  EXPECT_EQ(cycles({repeat(vector, 1)}, {5, 2}), 300);
  EXPECT_EQ(cycles({repeat(vector, 1)}, {4, 4}), 100);
}

TEST(UnitReplay, TimesOnlyTheFirstOfVeryManySteps) {
  // 21 groups of a million steps: 19 are replayed, one after the other.
  EXPECT_NEAR(cycles({repeat(vector, 1'000'000)}, {21, 1}), 21e8, 1);
}

}  // namespace
}  // namespace gfx942sim
