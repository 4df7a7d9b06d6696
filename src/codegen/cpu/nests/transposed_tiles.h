// Loads whose neighbours in memory lie along another loop than the innermost one, which stores neighbours, such as
// those of a transposition: each would take a line of the cache for one element.
//
// Before, for i<R, j<C:             y[C*i + j] = 2 * x[R*j + i]
//
// After, for i_tile, j_tile, i, j:  y[C*(16*i_tile + i) + 256*j_tile + j] = 2 * tile[256*i + j]
//   a tile is read, transposed in registers (kernels/cpu/vector/transposed_tile.h), before the loop over i.
//
// Taken are nests without reductions, ordered loops and conditions, and loads that each iteration makes: what a tile
// reads must exist.
#pragma once

#include "codegen/nests/flat_nest.h"

namespace onnxc {

struct TransposedTile {
  BufferId memory;  // in the nest, in place of the storage's
  BufferId storage;
  DType dtype;
  Expr first;   // offset of the tile's first element, over the loops outside of the tile
  Expr stride;  // of the loop that the nest stores along
};

// Rewrites the nest and its parallel loops, which are in the order of memory of its first store: the last two become
// the rows and columns of a tile, and loops over tiles stand outside of them. Changes nothing and returns nothing if no
// load is worth it.
std::vector<TransposedTile> tile_transposed_loads(std::vector<FlatLoop>& loops, FlatNest& nest);

}  // namespace onnxc
