// Cases of convolutions whose tiles are bricks of voxels (halo_gemm.h).
#pragma once

#include <span>

#include "convolution_on_host.h"

namespace onnxc::kernels {

struct Row {
  int products, number;
  void (*run)(const float* input, const float* weights, float* output, const ConvSizes& sizes);
};

struct Case {
  ConvShape shape;
  GemmTile tile;
  Axes brick;
  bool is_split = false;
};
// Whole pairs of blocks and a last one that is short; one pair; taps of a row at once and one by one; columns that fill
// their tile or not, or two; rows of 64 in lines and in planes.
inline constexpr Case cases[] = {{{64, 40, 1, {3, 3, 3}}, {256, 64}, {4, 8, 8}},
                                 {{48, 130, 1, {1, 3, 3}}, {128, 128}, {1, 16, 8}},
                                 {{80, 20, 1, {5, 1, 1}}, {256, 32}, {2, 16, 8}},
                                 {{40, 33, 1, {2, 2, 2}, {1, 1, 1}, {1, 2, 3}}, {512, 32}, {4, 16, 8}},
                                 {{32, 64, 1, {3, 1, 5}}, {128, 64}, {2, 8, 8}},
                                 {{80, 32, 1, {3, 2, 3}}, {256, 32}, {1, 32, 8}, true},
                                 {{20, 16, 1, {3, 3, 3}}, {512, 32}, {8, 8, 8}},
                                 {{32, 96, 1, {1, 3, 3}}, {256, 48}, {1, 32, 8}}};

template <Products products, int number>
constexpr Row row() {
  constexpr Case of = cases[number];
  constexpr GemmPlan plan{
      .shape = of.shape, .products = products, .tile = of.tile, .is_split = of.is_split, .brick = of.brick};
  static_assert(plan.has_suitable_tile(own_gpu));
  return {static_cast<int>(products), number, &convolve<plan, typename Element<products>::Type>};
}

// 1 if one of the tables has the row, which is run.
inline int run_row(std::initializer_list<std::span<const Row>> tables, int products, int number, const float* input,
                   const float* weights, float* output, const int64_t* sizes) {
  const ConvSizes all = {
      1, {sizes[0], sizes[1], sizes[2]}, {sizes[3], sizes[4], sizes[5]}, {sizes[6], sizes[7], sizes[8]}};
  for (const std::span<const Row> table : tables)
    for (const Row& row : table)
      if (row.products == products && row.number == number) {
        row.run(input, weights, output, all);
        return 1;
      }
  return 0;
}

}  // namespace onnxc::kernels
