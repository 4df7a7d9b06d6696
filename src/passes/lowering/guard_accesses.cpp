#include "passes/lowering/guard_accesses.h"

#include "ir/program/bounds_law.h"
#include "ops/nest_builder.h"

namespace onnxc {
namespace {

Scalar is_inside(const Program& program, BufferId id, const std::vector<Expr>& indices) {
  Scalar inside;
  const Shape& shape = program.buffer(id).shape;
  for (size_t i = 0; i < shape.size(); ++i) inside = both(inside, within(indices[i], shape[i]));
  return inside;
}

Scalar guarded(const Program& program, const Scalar& scalar, const std::set<const ScalarNode*>& loads) {
  return replace_loads(scalar, [&](const ScalarNode& load) -> Scalar {
    if (!loads.contains(&load)) return {};
    return scalar::select(is_inside(program, load.buffer, load.indices),
                          scalar::load(load.dtype, load.buffer, load.indices), scalar::constant(load.dtype, 0));
  });
}

void guard(const Program& program, LoopNest& nest, const UndecidedAccesses& undecided) {
  for (Store& store : nest.stores) {
    const bool is_undecided = undecided.stores.contains(&store);
    store.value = guarded(program, store.value, undecided.loads);
    store.condition = guarded(program, store.condition, undecided.loads);
    if (is_undecided) store.condition = both(store.condition, is_inside(program, store.buffer, store.indices));
  }
  for (Let& let : nest.lets) let.value = guarded(program, let.value, undecided.loads);
  for (Accumulator& accumulator : nest.accumulators)
    accumulator.element = guarded(program, accumulator.element, undecided.loads);
}

}  // namespace

void guard_accesses(Program& program) {
  const StepFacts facts(program);
  const BoundsLaw law(program, facts);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    auto* nest = std::get_if<LoopNest>(&program.steps[i].work);
    if (nest == nullptr) continue;
    const UndecidedAccesses undecided = law.undecided(i, *nest);
    if (!undecided.first.empty()) guard(program, *nest, undecided);
  }
}

}  // namespace onnxc
