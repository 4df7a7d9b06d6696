#include "passes/program/drop_roundings.h"

#include "ir/loops/rounding.h"

namespace onnxc {
namespace {

// The same value, rounded at most once, at its end.
void drop(Scalar& value) {
  if (value) value = scalar::cast(value.dtype(), without_rounding(value));
}

void drop(LoopNest& nest) {
  for (Let& let : nest.lets) drop(let.value);
  for (Accumulator& accumulator : nest.accumulators) drop(accumulator.element);
  for (Store& store : nest.stores) {
    drop(store.value);
    drop(store.condition);
  }
}

}  // namespace

void drop_roundings(Program& program) {
  for (Step& step : program.steps) {
    if (auto* nest = std::get_if<LoopNest>(&step.work)) drop(*nest);
    if (auto* call = std::get_if<KernelCall>(&step.work)) {
      drop(call->epilogue.value);
      drop(call->inner_epilogue.value);
    }
  }
}

}  // namespace onnxc
