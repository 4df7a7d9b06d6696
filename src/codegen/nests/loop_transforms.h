// Transformations of flat loops that keep what a nest computes.
#pragma once

#include "codegen/nests/flat_nest.h"

namespace onnxc {

// Whether the extent of one of the loops depends on the loop's index.
bool bounds_another(const FlatLoop& loop, const std::vector<FlatLoop>& loops);

// The coefficient of `symbol` in an expression that is linear in it; nothing if it is not.
std::optional<Expr> coefficient(const Expr& expr, const Symbol& symbol);
// Whether neighbours along `symbol` are neighbours in memory.
bool moves_by_one(const Expr& offset, const Symbol& symbol);

// Merges every two adjacent loops that all accesses run through as one: an outer iteration moves each access as far as
// a whole inner loop does. `loops` are some of the loops of `nest`, all of one kind.
//
// Before: i<N, j<M  y[M*i + j] = x[M*i + j]. After: ij<N*M  y[ij] = x[ij].
void merge_loops(std::vector<FlatLoop>& loops, FlatNest& nest);

// Cuts a loop into tiles: before i<N, after i_tile<ceil(N/size), i<min(size, N - size*i_tile). Returns the two loops.
std::pair<FlatLoop, FlatLoop> tile_loop(const FlatLoop& loop, int64_t size, FlatNest& nest);

// The value that an extent is assumed to have when the schedule must decide: itself, or for a dynamic one its upper
// bound, at most 64. Code must still be right for every extent.
int64_t estimate(const Expr& extent);
// Iterations of the loops from `first` on.
int64_t estimate(const std::vector<FlatLoop>& loops, size_t first = 0);

// Removes loops of one iteration, whose symbols become 0.
void drop_single_iterations(FlatNest& nest);

// Splits loops at the number that their index is taken modulo, if that is known to divide their extent: inside, memory
// is contiguous again. Short periods are left alone.
//
// Before: i<3*N  y[i] = x[i % N]. After: i_period<3, i<N  y[N*i_period + i] = x[i].
void split_periodic_loops(FlatNest& nest);

// Sorts independent loops by the stride of `offset` along them, larger strides outside. A loop without a known stride
// stays outermost; a loop over lanes stays inside the loop over blocks that bounds it.
void order_by_offset(std::vector<FlatLoop>& loops, const Expr& offset);

}  // namespace onnxc
