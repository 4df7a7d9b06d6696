// The default schedule of a loop nest on the GPU: right for every extent, dynamic or not.
//
// The iterations of the parallel loops are points. The points are numbered with the loop of the store's smallest stride
// running fastest, so that neighbouring threads write neighbouring elements. Four forms:
//   thread a point: each thread runs the ordered and reduce loops of its points by itself;
//   block a tile:   a transpose, whose loads and stores run fastest along different loops. A block has a tile of the
//                   two loops: its threads compute values in the order of the loads, exchange them through LDS, and
//                   store them in the order of the stores, so that both sides move whole cache lines. The leading
//                   dimension in LDS keeps the threads of either order on different banks. For plain stores of nests
//                   without reductions; bound by memory.
//   threads a point: the 256 threads of a block, or some neighbouring ones, divide the reduce loops of a point and
//                   combine their results in LDS. For reductions that are long, or so few that threads would stand
//                   idle; no more threads a point than keep the GPU busy. Not for ordered loops. An argument reduction,
//                   whose result depends on the order of the elements, folds extremes with the number of the element
//                   that each was.
//   block a scan:   a running sum or product (ir/loops/running_fold.h): the threads of a block fold 256 iterations of
//                   the ordered loop at a time, in eight steps through LDS, and carry the sum to the next.
// Ordered loops whose stores combine with what they find, and mean the same in any order (is_order_free), are loops
// over points: their stores are atomic. The choice of the form rests on estimates of dynamic extents; the result is
// right whatever they are.
#pragma once

#include "codegen/nests/flat_nest.h"
#include "ir/loops/running_fold.h"
#include "machine/gpu_machine.h"

namespace onnxc {

// A tile that a block transposes in LDS: `store` runs fastest in the store, `load` in the loads.
struct TransposeTile {
  FlatLoop store, load;
  int64_t store_size, load_size;  // powers of two
  Symbol store_tile, load_tile;   // the numbers of the tiles, loops of `points`
  int64_t element_size;           // bytes of an element of the store

  bool exchanges(const Symbol& loop) const { return loop == store.symbol || loop == load.symbol; }
  // Elements of LDS, and the place of one: the shorter of the two runs over rows.
  bool has_store_rows() const { return store_size < load_size; }
  int64_t row_stride() const;
  int64_t lds_elements() const;
  int64_t rounds() const;  // elements of a thread
};

struct DeviceSchedule {
  enum class Form { thread_a_point, threads_a_point, block_a_tile, block_a_scan };

  Form form = Form::thread_a_point;
  std::vector<FlatLoop> points, ordered, reduce;  // outermost first
  // Loops of `points` whose extent depends on another loop, with that extent: the last channel block has fewer lanes.
  // In `points` they have all lanes of a block.
  std::vector<FlatLoop> ragged;
  std::optional<TransposeTile> tile;  // of block_a_tile
  std::optional<RunningFold> scan;    // of block_a_scan
  // Threads that share a point's reduction, a power of two. Each runs the innermost `own_loops` of `reduce` by itself:
  // the numbers of their iterations need no division.
  int64_t point_threads = 1;
  size_t own_loops = 0;
  bool are_points_adjacent = false;  // neighbouring threads have neighbouring points; else they share one

  int64_t points_a_block() const;
  // From one of a point's threads to the next.
  int64_t thread_stride() const { return are_points_adjacent ? points_a_block() : 1; }

  bool has_atomic_stores = false;
  FlatNest nest;  // with the loops above as its symbols; its own loops are empty

  // The loops of `reduce` whose iterations threads share.
  std::vector<FlatLoop> shared_loops() const { return {reduce.begin(), reduce.end() - static_cast<long>(own_loops)}; }
  // Iterations of the loops of `points`, and of those that threads share.
  Expr point_count() const;
  Expr shared_count() const;
};

// For the GPU of that row.
DeviceSchedule schedule_for_device(FlatNest nest, const machine::GpuMachine& gpu);

}  // namespace onnxc
