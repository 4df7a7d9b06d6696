// The default schedule of a loop nest on a CPU: which loops there are, in which order, what threads share, what is
// vectorised. It is correct for every nest and every extent, 0 and dynamic ones included.
//
// Method:
// - The parallel loops stand in the order of the first store's memory; two that every access runs through as one are
//   merged, so that an elementwise nest over contiguous tensors is one loop.
// - The innermost loop is the one whose consecutive iterations store consecutive elements.
// - Ordered loops stand inside the parallel ones, but for an innermost parallel one that is vectorised.
// - A reduction keeps an array of accumulators, one a lane, so that the compiler vectorises it whatever it folds and
//   the result is the same for every vector width: lanes of a parallel loop where loads are contiguous along that
//   (`parallel_lanes`), else lanes of the innermost reduce loop, folded in order at its end (`reduce_lanes`).
// - Tasks are pieces of the outer loops of about `work_per_task` elements, whose number depends on the sizes alone.
#pragma once

#include "codegen/nests/flat_nest.h"

namespace onnxc {

enum class ReductionForm : uint8_t {
  none,
  scalar,          // one accumulator, folded in order
  parallel_lanes,  // the innermost parallel loop has an accumulator an iteration, the reduce loops stand around it
  reduce_lanes,    // the innermost reduce loop runs in steps of `lanes`, each lane with its accumulator
};

struct NestSchedule {
  std::vector<FlatLoop> outer;  // parallel and ordered loops, outermost first
  std::vector<FlatLoop> reduce;
  ReductionForm reduction = ReductionForm::none;
  int64_t lanes = 1;        // accumulators in an array
  bool vectorises = false;  // the innermost of `outer` has independent iterations

  // The first `task_loops` of `outer` are what tasks are made of: each task is one iteration of all but the last of
  // them, and `grain` iterations of that.
  size_t task_loops = 0;
  Expr grain = 1;
  Expr tasks = 1;

  FlatNest nest;  // with the loops above as its symbols; its own loops are empty
};

NestSchedule schedule(FlatNest nest);

std::string to_string(const NestSchedule& schedule);

}  // namespace onnxc
