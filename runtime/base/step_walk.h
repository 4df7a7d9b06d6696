// The order in which a run executes a model's steps, on either device: conditions, and loops round by round.
#pragma once

#include "base/model.h"

namespace onnxc::runtime {

// The level that a step begins, or in which it runs.
inline int32_t level_of_step(const StepDescription* steps, int32_t step) {
  int32_t level = 0;
  for (int32_t i = 0; i <= step; ++i) level += steps[i].bind != nullptr ? 1 : 0;
  return level;
}

// `walk` has
//   void begin_round(int32_t step, bool is_first);
//   onnxc_status holds(int32_t step, bool& result);  // the step's condition
//   onnxc_status run(int32_t step);
template <class Walk>
onnxc_status walk_steps(const StepDescription* steps, int32_t count, Walk walk) {
  bool is_next_round = false;
  for (int32_t step = 0; step < count; ++step) {
    const StepDescription& description = steps[step];
    if (description.kind == StepKind::loop_end) {
      is_next_round = true;
      step = description.partner - 1;
      continue;
    }
    bool holds = true;
    if (description.kind == StepKind::loop_begin) {
      walk.begin_round(step, !is_next_round);
      is_next_round = false;
      const onnxc_status status = walk.holds(step, holds);
      if (status != ONNXC_OK) return status;
      if (!holds) step = description.partner;  // its rounds are over
    } else if (description.kind == StepKind::work && description.condition != nullptr) {
      const onnxc_status status = walk.holds(step, holds);
      if (status != ONNXC_OK) return status;
      if (!holds) continue;
    }
    const onnxc_status status = walk.run(step);
    if (status != ONNXC_OK) return status;
  }
  return ONNXC_OK;
}

}  // namespace onnxc::runtime
