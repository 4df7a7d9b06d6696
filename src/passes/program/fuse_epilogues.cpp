#include "passes/program/fuse_epilogues.h"

#include "ir/program/memory_laws.h"
#include "ir/program/pointwise.h"
#include "passes/lowering/target.h"
#include "passes/program/program_uses.h"

namespace onnxc {
namespace {

// The kernel's epilogue followed by the nest.
Epilogue compose(const KernelCall& call, const LoopNest& nest) {
  std::map<Symbol, Expr> to_nest_axes;
  for (size_t i = 0; i < call.epilogue.axes.size(); ++i)
    to_nest_axes.emplace(call.epilogue.axes[i].symbol, nest.axes[i].symbol);
  Scalar inner = substitute(call.epilogue.value, to_nest_axes);
  Scalar value = replace_loads(nest.stores.front().value,
                               [&](const ScalarNode& load) { return load.buffer == call.output ? inner : Scalar(); });
  return {nest.axes, value};
}

class EpilogueFusion {
 public:
  EpilogueFusion(Program& program, const Target& target) : program_(program), target_(target), uses_(program) {}

  void run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      // A kernel takes one nest after another until what follows does not fit; each moves it to the nest's place.
      std::optional<size_t> position = i;
      while (position && !uses_.is_removed(*position)) position = fuse_next(*position);
    }
    uses_.sweep();
  }

 private:
  // Returns the kernel's new place when it took the nest that follows.
  std::optional<size_t> fuse_next(size_t position) {
    const auto* kernel = std::get_if<KernelCall>(&program_.steps[position].work);
    if (kernel == nullptr || !kernel->epilogue.value) return std::nullopt;
    KernelCall call = *kernel;
    const Buffer& output = program_.buffer(call.output);
    if (output.kind != BufferKind::temporary || output.view || output.alias) return std::nullopt;
    if (uses_.has_views(call.output) || uses_.readers(call.output).size() != 1) return std::nullopt;
    if (uses_.writers(call.output).size() != 1) return std::nullopt;
    size_t reader = *uses_.readers(call.output).begin();
    const auto* nest = std::get_if<LoopNest>(&program_.steps[reader].work);
    if (!uses_.may_move(position, reader)) return std::nullopt;
    if (nest == nullptr || !is_pointwise_on(program_, *nest, call.output)) return std::nullopt;
    Epilogue epilogue = compose(call, *nest);
    BufferId stored = nest->stores.front().buffer;
    if (!target_.fits_epilogue(program_, call, epilogue, stored)) return std::nullopt;
    call.epilogue = std::move(epilogue);
    call.output = stored;
    if (memory_fault(program_, call)) return std::nullopt;

    std::vector<Origin> origins = program_.steps[position].origins;
    const std::vector<Origin>& later = program_.steps[reader].origins;
    origins.insert(origins.end(), later.begin(), later.end());
    // The nest's place: everything that the epilogue reads has been computed there.
    program_.steps[reader] = {std::move(call), std::move(origins), program_.steps[reader].condition};
    uses_.remove(position);
    uses_.refresh(reader);
    return reader;
  }

  Program& program_;
  const Target& target_;
  ProgramUses uses_;
};

}  // namespace

void fuse_epilogues(Program& program, const Target& target) { EpilogueFusion(program, target).run(); }

}  // namespace onnxc
