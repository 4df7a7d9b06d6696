#include "passes/program/fuse_kernels.h"

#include <algorithm>

#include "ir/program/memory_laws.h"
#include "passes/lowering/target.h"
#include "passes/program/program_uses.h"

namespace onnxc {
namespace {

class KernelFusion {
 public:
  KernelFusion(Program& program, const Target& target) : program_(program), target_(target), uses_(program) {}

  void run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) fuse(i);
    uses_.sweep();
  }

 private:
  const KernelCall* kernel(size_t step) const {
    return uses_.is_removed(step) ? nullptr : std::get_if<KernelCall>(&program_.steps[step].work);
  }

  // The only kernel that reads what the kernel of a step computes.
  std::optional<size_t> next(size_t step) const {
    const BufferId id = kernel(step)->output;
    const Buffer& buffer = program_.buffer(id);
    if (buffer.kind != BufferKind::temporary || buffer.view || buffer.alias || uses_.has_views(id)) return std::nullopt;
    if (uses_.readers(id).size() != 1 || uses_.writers(id).size() != 1) return std::nullopt;
    const size_t reader = *uses_.readers(id).begin();
    if (kernel(reader) == nullptr) return std::nullopt;
    if (program_.steps[reader].condition != program_.steps[step].condition) return std::nullopt;
    return reader;
  }

  // The steps that begin with `first`, as many as there are up to `count`, each the only reader of the one before.
  std::vector<size_t> chain_from(size_t first, size_t count) const {
    std::vector<size_t> chain{first};
    while (chain.size() < count) {
      const std::optional<size_t> follower = next(chain.back());
      if (!follower) break;
      chain.push_back(*follower);
    }
    return chain;
  }

  void fuse(size_t first) {
    if (kernel(first) == nullptr) return;
    for (const Fusion& fusion : target_.fusions) {
      const std::vector<size_t> chain = chain_from(first, fusion.calls);
      if (chain.size() < fusion.calls) continue;
      std::vector<const KernelCall*> calls;
      for (const size_t step : chain) calls.push_back(kernel(step));
      if (auto call = fusion.fuse(program_, calls)) return replace(chain, std::move(*call));
    }
  }

  // Puts one call in the place of steps that follow one another: the last one's, since everything that the kernel reads
  // has been computed there, if it is still the same.
  void replace(const std::vector<size_t>& steps, KernelCall call) {
    const size_t last = steps.back();
    if (!std::ranges::all_of(steps, [&](size_t step) { return uses_.may_move(step, last); })) return;
    if (memory_fault(program_, call)) return;
    uses_.take_new_buffers();
    std::vector<Origin> origins;
    for (size_t step : steps)
      origins.insert(origins.end(), program_.steps[step].origins.begin(), program_.steps[step].origins.end());
    program_.steps[last] = {std::move(call), std::move(origins), program_.steps[last].condition};
    for (size_t step : steps)
      if (step != last) uses_.remove(step);
    uses_.refresh(last);
  }

  Program& program_;
  const Target& target_;
  ProgramUses uses_;
};

}  // namespace

void fuse_kernels(Program& program, const Target& target) { KernelFusion(program, target).run(); }

}  // namespace onnxc
