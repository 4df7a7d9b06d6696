// The default schedule of a loop nest on a CPU: its loops and their order, what threads divide among themselves, what
// is vectorised. It is correct for every nest and every extent, 0 and dynamic ones included.
//
// Method:
// - The parallel loops are in the memory order of the first store. Two loops that every access runs through as one are
//   merged, so that an elementwise nest over contiguous tensors is one loop.
// - The innermost loop is the one whose consecutive iterations store consecutive elements.
// - Loads that run through memory along another of the parallel loops are made by tiles (transposed_tiles.h).
// - Ordered loops are inside the parallel ones, except inside an innermost parallel one that is vectorised.
// - A reduction keeps an array of accumulators, one a lane, so that the compiler vectorises every kind of fold and the
//   result is the same for every vector width. Its lanes are those of a parallel loop if loads are contiguous along it
//   (`parallel_lanes`), else of the innermost reduce loop, folded in order at its end (`reduce_lanes`).
// - If another parallel loop does not move such a load, as the rows of a matrix product, four of its iterations are
//   one: they share the load, and their accumulators fill the registers.
// - Indices min(bound, i) of an innermost loop, of operands that may be broadcast, are named: the loop is compiled for
//   operands that are whole along it, and for those of one element.
// - String functions are calls: nothing around them is vectorised, and nests that make strings are one task.
// - Tasks are pieces of the outer loops of about `work_per_task` elements; their number depends only on the sizes.
#pragma once

#include "codegen/cpu/nests/transposed_tiles.h"
#include "codegen/nests/loop_transforms.h"
#include "machine/vector_unit.h"

namespace onnxc {

enum class ReductionForm : uint8_t {
  none,
  scalar,          // one accumulator, folded in order
  parallel_lanes,  // the innermost parallel loop has an accumulator an iteration, the reduce loops stand around it
  reduce_lanes,    // the innermost reduce loop runs in steps of `lanes`, each lane with its accumulator
  extreme_lanes,   // the same for argument reductions over one loop (kernels/cpu/vector/extreme_position.h)
};

struct NestSchedule {
  std::vector<FlatLoop> outer;  // parallel and ordered loops, outermost first
  std::vector<FlatLoop> reduce;
  ReductionForm reduction = ReductionForm::none;
  int64_t lanes = 1;         // accumulators in an array
  bool vectorises = false;   // the innermost of `outer` has independent iterations
  int64_t vector_lanes = 0;  // the machine's
  bool sets_width = false;   // vectorised loops are given these lanes; else the compiler chooses

  std::vector<ClampedIndex> clamped;  // of the innermost of `outer`, if that is vectorised

  std::vector<TransposedTile> tiles;  // their rows and columns are the last two of `outer`

  // Tasks are made of the first `task_loops` of `outer`: a task is one iteration of all but the last of these, and
  // `grain` iterations of the last.
  size_t task_loops = 0;
  Expr grain = 1;
  Expr tasks = 1;

  FlatNest nest;  // with the loops above as its symbols; its own loops are empty
};

// Loops that convert float16 are given the machine's lanes: by itself clang takes four.
NestSchedule schedule(FlatNest nest, const machine::VectorUnit& vectors);

std::string to_string(const NestSchedule& schedule);

}  // namespace onnxc
