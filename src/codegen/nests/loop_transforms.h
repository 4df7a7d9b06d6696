// Transformations of flat loops that keep what a nest computes.
#pragma once

#include "codegen/nests/flat_nest.h"

namespace onnxc {

// The coefficient of `symbol` in an expression that is linear in it; nothing where it is not.
std::optional<Expr> coefficient(const Expr& expr, const Symbol& symbol);

// Makes one loop of every two adjacent ones that all accesses run through as one: an outer iteration moves each access
// as far as a whole inner loop does. `loops` are some of the loops of `nest`, all of one kind.
//
// Before: i<N, j<M  y[M*i + j] = x[M*i + j]. After: ij<N*M  y[ij] = x[ij].
void merge_loops(std::vector<FlatLoop>& loops, FlatNest& nest);

// Cuts a loop into tiles: before i<N, after i_tile<ceil(N/size), i<min(size, N - size*i_tile). Returns the two loops.
std::pair<FlatLoop, FlatLoop> tile_loop(const FlatLoop& loop, int64_t size, FlatNest& nest);

// What an extent is taken for where code must be one way or the other: itself, or for a dynamic one its highest value
// or 64, whichever is less. Code must be right for every extent all the same.
int64_t estimate(const Expr& extent);
// Iterations of the loops from `first` on.
int64_t estimate(const std::vector<FlatLoop>& loops, size_t first = 0);

// Loops of one iteration go, and their symbols become 0.
void drop_single_iterations(FlatNest& nest);

// Sorts independent loops by how far an iteration moves `offset`: larger steps outside. What it does not move by a
// known step stays outermost; lanes stay inside of the blocks that bound them.
void order_by_offset(std::vector<FlatLoop>& loops, const Expr& offset);

}  // namespace onnxc
