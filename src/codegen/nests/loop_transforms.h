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

// Makes `count` iterations of a parallel loop one, each with an accumulator and a store of its own: they share what
// their elements load alike. The last iterations may compute the last row several times.
//
// Before: i<M  acc0 += a[i, k] * b[k, j]  y[i, j] = acc0. After, for two: i<ceil(M/2)  acc0 += a[2*i, k] * b[k, j];
// acc1 += a[min(2*i + 1, M - 1), k] * b[k, j]  y[2*i, j] = acc0, y[min(2*i + 1, M - 1), j] = acc1.
FlatLoop join_iterations(const FlatLoop& loop, int64_t count, FlatNest& nest);

// An index min(bound, i) of a loop over i, as of an operand whose extent may be 1.
struct ClampedIndex {
  Symbol symbol;  // that stands for it in the nest
  Expr bound;
};

// Gives a symbol to each such index in the loads of what is stored.
std::vector<ClampedIndex> name_clamped_indices(const Symbol& symbol, FlatNest& nest);

// Splits loops at the number that their index is taken modulo, if that is known to divide their extent: inside, memory
// is contiguous again. Short periods are left alone.
//
// Before: i<3*N  y[i] = x[i % N]. After: i_period<3, i<N  y[N*i_period + i] = x[i].
void split_periodic_loops(FlatNest& nest);

// Sorts independent loops by the stride of `offset` along them, larger strides outside. A loop without a known stride
// stays outermost; a loop over lanes stays inside the loop over blocks that bounds it.
void order_by_offset(std::vector<FlatLoop>& loops, const Expr& offset);

}  // namespace onnxc
