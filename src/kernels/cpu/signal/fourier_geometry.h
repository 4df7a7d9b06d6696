// The contract of the compiler and fourier.h.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// x [outer, extent, inner, parts] gives y [outer, bins, inner, 1 or 2]; transforms of `length` along the second axis,
// at most 2^40 long.
struct FourierSizes {
  int64_t outer, extent, inner, parts, length, bins;
};

// Whether passes of 2 to 5 elements make up a transform of this length.
constexpr bool has_fast_passes(int64_t length) {
  constexpr int64_t radices[] = {2, 3, 5};
  for (const int64_t radix : radices)
    while (length % radix == 0) length /= radix;
  return length == 1;
}

// The least number with such factors that is no less, below 2^60.
constexpr int64_t next_with_fast_passes(int64_t least) {
  int64_t result = INT64_MAX;
  for (int64_t fives = 1; fives < 5 * least; fives *= 5)
    for (int64_t factors = fives; factors < 3 * least; factors *= 3) {
      int64_t product = factors;
      while (product < least) product *= 2;
      result = smaller(result, product);
    }
  return result;
}

// The length of the transforms that are made of passes: that itself, or that of a convolution (Bluestein) which does
// not wrap around.
constexpr int64_t passes_length(int64_t length) {
  return has_fast_passes(length) ? length : next_with_fast_passes(2 * length - 1);
}

// The parts of a task's scratch, in doubles. An array of complex numbers holds all real parts, then all imaginary ones.
struct FourierGeometry {
  static constexpr int64_t coarse_roots = 64;  // a root of unity is a product of one of these and of a fine one

  int64_t length, passes;  // of the transform, and of those that are made of passes
  int64_t side_by_side;    // lines whose elements lie next to each other in the arrays
  int64_t task_lines;
  KernelWork work;

  constexpr bool convolves() const { return passes != length; }
  constexpr int64_t seeds() const { return coarse_roots + divide_up(2 * passes, coarse_roots) + 1; }
  constexpr int64_t array() const { return round_up(2 * passes * side_by_side, 8); }
  constexpr int64_t table(int64_t count) const { return round_up(2 * count, 8); }
  // Seeds, roots, chirp, the convolution's other operand; two arrays that each pass reads and writes in turns.
  constexpr int64_t doubles() const {
    return table(seeds()) + table(passes) + (convolves() ? table(length) + table(passes) : 0) + 2 * array();
  }
};

constexpr FourierGeometry fourier_geometry(int64_t double_lanes, const FourierSizes& sizes) {
  constexpr int64_t task_elements = 16 * 1024;  // pay for the roots, which each task computes
  const int64_t lines = sizes.outer * sizes.inner;
  if (lines == 0 || sizes.bins == 0) return {1, 1, 1, 1, {0, 0}};
  FourierGeometry geometry{sizes.length, passes_length(sizes.length), double_lanes, 1, {0, 0}};
  // A few lines fill no vector; of long ones the arrays leave the cache.
  if (3 * lines < double_lanes || geometry.doubles() * int64_t{sizeof(double)} > second_level_cache)
    geometry.side_by_side = 1;
  geometry.task_lines = round_up(larger(1, task_elements / geometry.passes), double_lanes);
  if (geometry.side_by_side == 1) geometry.task_lines = larger(1, task_elements / geometry.passes);
  geometry.work = {divide_up(lines, geometry.task_lines), geometry.doubles() * int64_t{sizeof(double)}};
  return geometry;
}

}  // namespace onnxc::kernels
