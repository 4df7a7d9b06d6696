// The default schedule of a loop nest on the GPU: right for every extent, dynamic or not.
//
// The iterations of the parallel loops are points, numbered with the loop that moves the store least running fastest,
// so that neighbouring threads write neighbouring elements. Two forms:
//   thread a point: each thread runs the ordered and the reduce loops of its points by itself;
//   block a point:  the 256 threads of a block share the reduce loops of a point and fold what they have in LDS. Chosen
//                   where reductions are long, or so few that threads would stand idle. Not for ordered loops, nor
//                   for the argument reductions, whose result depends on the order of the elements.
// Which form is chosen rests on estimates of dynamic extents; that the result is right does not.
#pragma once

#include "codegen/flat_nest.h"

namespace onnxc {

struct DeviceSchedule {
  enum class Form { thread_a_point, block_a_point };

  Form form = Form::thread_a_point;
  std::vector<FlatLoop> points, ordered, reduce;  // outermost first
  // Loops of `points` whose extent depends on another one, with that extent: the lanes of the last block of channels
  // are as many as the block leaves. In `points` they have all the lanes of a block.
  std::vector<FlatLoop> ragged;
  FlatNest nest;  // with the loops above as its symbols; its own loops are empty

  // Iterations of the loops of `points`, and of `reduce`.
  Expr point_count() const;
  Expr reduce_count() const;
};

DeviceSchedule schedule_for_device(FlatNest nest);

}  // namespace onnxc
