// The default schedule of a loop nest on the GPU: right for every extent, dynamic or not.
//
// The iterations of the parallel loops are points, numbered with the loop that moves the store least running fastest,
// so that neighbouring threads write neighbouring elements. Three forms:
//   thread a point: each thread runs the ordered and the reduce loops of its points by itself;
//   block a tile:   a transpose. Where what is loaded and what is stored run fastest along different loops, a block has
//                   a tile of the two: its threads compute the values in the order of the loads, exchange them through
//                   LDS, and store them in the order of the stores, so that both sides move whole cache lines. Rows of
//                   the tile are as far apart in LDS as keeps threads of either order on banks of their own. For plain
//                   stores of nests without reductions; bound by memory.
//   block a point:  the 256 threads of a block share the reduce loops of a point and fold what they have in LDS. Chosen
//                   where reductions are long, or so few that threads would stand idle. Not for ordered loops, nor
//                   for the argument reductions, whose result depends on the order of the elements.
// Which form is chosen rests on estimates of dynamic extents; that the result is right does not.
#pragma once

#include "codegen/nests/flat_nest.h"

namespace onnxc {

// What a block exchanges through LDS: `store` runs fastest in what is stored, `load` in what is loaded.
struct TransposeTile {
  FlatLoop store, load;
  int64_t store_size, load_size;  // powers of two
  Symbol store_tile, load_tile;   // the numbers of the tiles, loops of `points`
  int64_t element_size;           // bytes of an element of the store

  bool exchanges(const Symbol& loop) const { return loop == store.symbol || loop == load.symbol; }
  // Elements of LDS, and where one stands: the shorter of the two runs over rows.
  bool has_store_rows() const { return store_size < load_size; }
  int64_t row_stride() const;
  int64_t lds_elements() const;
  int64_t rounds() const;  // elements of a thread
};

struct DeviceSchedule {
  enum class Form { thread_a_point, block_a_point, block_a_tile };

  Form form = Form::thread_a_point;
  std::vector<FlatLoop> points, ordered, reduce;  // outermost first
  // Loops of `points` whose extent depends on another one, with that extent: the lanes of the last block of channels
  // are as many as the block leaves. In `points` they have all the lanes of a block.
  std::vector<FlatLoop> ragged;
  std::optional<TransposeTile> tile;  // of block_a_tile
  FlatNest nest;                      // with the loops above as its symbols; its own loops are empty

  // Iterations of the loops of `points`, and of `reduce`.
  Expr point_count() const;
  Expr reduce_count() const;
};

DeviceSchedule schedule_for_device(FlatNest nest);

}  // namespace onnxc
