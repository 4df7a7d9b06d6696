// The geometry of normalised lines as pure functions: when the statistics of parts are folded, and that folds are all
// of the parts, once each.
#include "kernels/hip/memory_bound/line_geometry.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

using kernels::LineKind;
using kernels::LinePlan;
using kernels::LineSizes;
using kernels::MomentFolds;
using machine::gfx942;

// Channels in blocks of 16, in chunks of 512 voxels.
constexpr LinePlan blocked{.kind = LineKind::moments,
                           .outer_axes = 2,
                           .line_axes = 3,
                           .lanes = 16,
                           .threads = 16,
                           .held = 32,
                           .is_blocked = true};

LineSizes volume(int64_t images, int64_t channels, int64_t edge) {
  return {{images, kernels::divide_up(channels, 16), edge, edge, edge, 16}, channels};
}

// For a convolution's tiles of so many voxels.
MomentFolds folds_of_tiles(int64_t channels, int64_t edge, int64_t tile, int64_t lines = 1) {
  return blocked.moment_folds(volume(1, channels, edge), kernels::divide_up(edge * edge * edge, tile), lines, gfx942);
}

TEST(LineGeometry, FoldsTheMomentsOfManyTiles) {
  // 64^3: every one of 1,024 blocks would read the statistics of 2,048 tiles, 400 MB in all.
  EXPECT_GT(folds_of_tiles(32, 64, 128).parts, 0);
  EXPECT_GT(folds_of_tiles(32, 128, 128).parts, 0);
  EXPECT_GT(folds_of_tiles(64, 128, 256).parts, 0);
  // 32^3: of 128 blocks each reads 256, which takes less than a launch.
  EXPECT_EQ(folds_of_tiles(32, 32, 128).parts, 0);
  // The same tiles if 32 channels have common statistics.
  EXPECT_GT(folds_of_tiles(32, 32, 128, 32).parts, 0);
}

TEST(LineGeometry, FoldsAreAllPartsOnceEach) {
  for (const int64_t parts : {1200, 2048, 2049, 16384, 100003})
    for (const int64_t lines : {1, 3, 16}) {
      const MomentFolds folds = blocked.moment_folds(volume(1, 64, 128), parts, lines, gfx942);
      ASSERT_GT(folds.parts, 0) << parts;
      const int64_t count = folds.count.divisor;
      EXPECT_LE(count, kernels::most_folds);
      EXPECT_GE(count * folds.parts, parts * lines);
      EXPECT_LT((count - 1) * folds.parts, parts * lines);
    }
}

TEST(LineGeometry, AnEmptyTensorHasNoFolds) {
  for (const LineSizes& sizes : {volume(0, 32, 64), volume(1, 32, 0)})
    EXPECT_EQ(blocked.moment_folds(sizes, 1, 32, gfx942).parts, 0);
}

TEST(LineGeometry, TrafficIsPartsTimesBlocks) {
  const LineSizes small = volume(1, 32, 64), large = volume(1, 32, 128);
  const double cycles = blocked.moment_cycles(small, 2048, kernels::partial_values, gfx942);
  EXPECT_DOUBLE_EQ(blocked.moment_cycles(small, 4096, kernels::partial_values, gfx942), 2 * cycles);
  // Eight times the blocks: 27 rounds of 304 in place of 4.
  EXPECT_DOUBLE_EQ(blocked.moment_cycles(large, 2048, kernels::partial_values, gfx942), cycles * 27 / 4);
  // Three values, of each half a line, at 64 bytes a cycle.
  EXPECT_DOUBLE_EQ(cycles, 4 * 2048 * 3 * 128 / 64.0);
}

// 41 frames of 480x832 in 96 channels, normalised over the channels: 1.57e9 elements from the first of a line to its
// last. Offsets of 32 bits count 4 GiB of floats.
TEST(LineGeometry, OffsetsOf64BitsCountWhat32BitsDoNot) {
  constexpr LineSizes video{{1, 96, 41, 480, 832, 1}, 0}, clip{{1, 64, 16, 480, 832, 1}, 0};
  constexpr LinePlan narrow{
      .kind = LineKind::softmax, .outer_axes = 1, .line_axes = 1, .lanes = 64, .threads = 4, .held = 24},
      wide{.kind = LineKind::softmax,
           .outer_axes = 1,
           .line_axes = 1,
           .lanes = 64,
           .threads = 4,
           .held = 24,
           .is_wide = true};
  EXPECT_EQ(narrow.blocks(video), INT64_MAX);
  EXPECT_EQ(wide.blocks(video), 41 * 480 * 832 / 64);
  EXPECT_EQ(narrow.blocks(clip), wide.blocks(clip));
}

TEST(LineGeometry, ABlockWithSeveralLinesReachesFurther) {
  constexpr LinePlan several{.kind = LineKind::moments, .outer_axes = 1, .line_axes = 1, .threads = 64},
      one{.kind = LineKind::moments, .outer_axes = 1, .line_axes = 1, .threads = 256};
  constexpr int64_t most = int64_t{1} << 28;
  EXPECT_TRUE(several.is_narrow(most - 1, 1));
  EXPECT_FALSE(several.is_narrow(most, 1));
  EXPECT_TRUE(one.is_narrow(4 * most - 1, 1));
  EXPECT_FALSE(one.is_narrow(INT64_MAX, 1));
  EXPECT_FALSE(one.is_narrow(1, INT64_MAX));
}

}  // namespace
}  // namespace onnxc
