// The contract of the compiler and argsort.h.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// x [outer, extent, inner] gives positions along the extent, [outer, count, inner]; count <= extent.
struct ArgsortSizes {
  int64_t outer, extent, inner, count;
};

// An element: a number in whose order the elements stand, and its former place.
struct SortRecord {
  uint64_t key;
  int64_t position;
};

struct ArgsortGeometry {
  static constexpr int64_t chunk = 256;      // elements of a line whose keys are made at once
  static constexpr int64_t most_lines = 16;  // of a task

  int64_t task_lines;    // neighbours along the inner axis
  int64_t line_records;  // that are kept of a line
  bool sorts_all;        // by radix, through as many records again
  KernelWork work;

  constexpr int64_t keys_bytes() const { return round_up(task_lines * chunk * int64_t{sizeof(uint64_t)}, 64); }
};

constexpr ArgsortGeometry argsort_geometry(const ArgsortSizes& sizes) {
  // Neighbours share the cache lines that they are read from; their records should stay in the second-level cache.
  constexpr int64_t most_records = 32 * 1024;
  constexpr int64_t least_radix = 512;  // below, a sort by comparisons is faster
  const bool sorts_all = sizes.count == sizes.extent && sizes.extent >= least_radix;
  const int64_t line_records = sorts_all ? 2 * sizes.extent : smaller(sizes.extent, 2 * sizes.count + 32);
  const int64_t task_lines = smaller(smaller(ArgsortGeometry::most_lines, larger(1, sizes.inner)),
                                     larger(1, most_records / larger(1, line_records)));
  ArgsortGeometry geometry{task_lines, line_records, sorts_all, {0, 0}};
  if (sizes.count == 0) return geometry;
  geometry.work = {sizes.outer * divide_up(sizes.inner, task_lines),
                   geometry.keys_bytes() + task_lines * line_records * int64_t{sizeof(SortRecord)}};
  return geometry;
}

}  // namespace onnxc::kernels
