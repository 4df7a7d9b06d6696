// Tiles whose rows are the voxels of a brick: LDS holds these and the voxels around them that taps reach, their halo,
// once for all taps (halo_gemm.h). Pure functions, and a part of GemmPlan's.
#pragma once

#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// Voxels along w are the eight rows of a matrix as instructions read it, 16 bytes a row.
inline constexpr int64_t brick_width = 8, matrix_row_bytes = 16;
// 64 rows of a tile are eight lines of one plane of its brick.
inline constexpr Axes bricks[] = {{8, 8, 8},  {4, 16, 8}, {2, 32, 8}, {4, 8, 8},
                                  {2, 16, 8}, {1, 32, 8}, {2, 8, 8},  {1, 16, 8}};

struct Halo {
  Axes brick, kernel, dilation;
  int64_t blocks;         // of channels that a step takes at once: 64 bytes of a voxel
  bool changes_elements;  // they are rounded or split after they were copied

  constexpr Axes voxels() const {
    return {brick.d + (kernel.d - 1) * dilation.d, brick.h + (kernel.h - 1) * dilation.h,
            brick.w + (kernel.w - 1) * dilation.w};
  }
  // The 64 bytes of a voxel lie in four planes, [chunk][d][h][w]: the voxel that a tap reaches is so many rows further.
  constexpr int64_t chunks() const { return 4 * voxels().product(); }
  constexpr int64_t block_chunks() const { return 4 / blocks; }
  // Eight threads copy all chunks of a block, of some voxels: planes begin in other banks than those before.
  constexpr int64_t plane_bytes() const {
    return (round_up(voxels().product(), brick_width) + brick_width / block_chunks()) * matrix_row_bytes;
  }
  constexpr int64_t bytes() const { return 4 * plane_bytes(); }
  constexpr int64_t line_bytes() const { return voxels().w * matrix_row_bytes; }
  // From the first voxel to one that is so much further.
  constexpr int64_t offset(int64_t d, int64_t h, int64_t w) const {
    return (d * voxels().h + h) * line_bytes() + w * matrix_row_bytes;
  }
  // From the first row of a tile to the one that is 64 * `count` further.
  constexpr int64_t offset_of_rows(int64_t count) const {
    const int64_t a_plane = brick.h / 8;
    return offset(count / a_plane, count % a_plane * 8, 0);
  }

  // A barrier serves the taps of a row of the kernel if they are few, and rows are enough.
  constexpr int64_t taps_a_step() const {
    return kernel.w > 1 && kernel.w <= 3 && kernel.d * kernel.h >= 3 ? kernel.w : 1;
  }
  constexpr int64_t steps() const { return kernel.product() / taps_a_step(); }
  // Steps whose weights LDS holds: two whose products are under way, and those that are copied ahead.
  constexpr int64_t ahead() const { return taps_a_step() > 1 ? 1 : 2; }
  constexpr int64_t stages() const { return ahead() + 2; }
  // The next channels are copied in some steps, from the second on: in the first one the products of the channels
  // before go on. They are there `ahead` steps later, and are changed then.
  constexpr int64_t copy_steps() const { return steps() - ahead() - changes_elements; }
};

}  // namespace onnxc::kernels
