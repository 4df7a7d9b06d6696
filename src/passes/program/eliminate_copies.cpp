#include "passes/program/eliminate_copies.h"

#include <algorithm>

#include "ir/program/memory_laws.h"
#include "passes/program/program_uses.h"

namespace onnxc {
namespace {

struct Copy {
  BufferId from, to;
};

// to[i] = from[i] over the whole of both.
std::optional<Copy> as_copy(const Program& program, const Step& step) {
  const auto* nest = std::get_if<LoopNest>(&step.work);
  if (nest == nullptr || nest->stores.size() != 1 || !nest->accumulators.empty() || !nest->lets.empty())
    return std::nullopt;
  const Store& store = nest->stores.front();
  if (store.kind != StoreKind::assign || store.condition || store.value->op != ScalarOp::load) return std::nullopt;
  const Buffer &from = program.buffer(store.value->buffer), &to = program.buffer(store.buffer);
  if (!(from.layout == to.layout) || from.shape.size() != nest->axes.size()) return std::nullopt;
  if (store.value->indices != store.indices || store.indices.size() != nest->axes.size()) return std::nullopt;
  for (size_t i = 0; i < nest->axes.size(); ++i) {
    const Axis& axis = nest->axes[i];
    if (axis.kind != AxisKind::parallel || !(store.indices[i] == Expr(axis.symbol))) return std::nullopt;
    if (!proven_equal(axis.extent, from.shape[i]) || !proven_equal(axis.extent, to.shape[i])) return std::nullopt;
  }
  return Copy{store.value->buffer, store.buffer};
}

class CopyElimination {
 public:
  explicit CopyElimination(Program& program)
      : program_(program), uses_(program), bound_by_(binding_steps(program)), loops_(enclosing_loops(program)) {}

  void run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      std::optional<Copy> copy = as_copy(program_, program_.steps[i]);
      if (!copy || !is_written_only_by(copy->to, i)) continue;
      if (place_source(*copy, i) || forward_source(*copy, i)) uses_.remove(i);
    }
    uses_.sweep();
  }

 private:
  // Whether no other step writes the buffer or, under the name of a view, a part of it.
  bool is_written_only_by(BufferId id, size_t step) const {
    return std::ranges::all_of(uses_.writers(id), [&](size_t writer) { return writer == step; }) &&
           std::ranges::all_of(uses_.views(id), [&](BufferId view) { return is_written_only_by(view, step); });
  }

  // The source is written to the copy's destination.
  bool place_source(const Copy& copy, size_t position) {
    Buffer& from = program_.buffer(copy.from);
    if (from.kind != BufferKind::temporary || from.view || from.alias || from.is_packed) return false;
    if (program_.buffer(program_.storage(copy.to)).kind == BufferKind::input) return false;
    if (!is_whole(program_, copy.to) && is_reinterpreted(copy.from)) return false;
    if (!kernels_accept_view(copy.from)) return false;
    const std::set<size_t>& writers = uses_.storage_writers(copy.from);
    if (writers.empty() || *writers.rbegin() > position) return false;
    if (is_in_use(copy, *writers.begin(), position)) return false;
    if (loops_[*writers.begin()] != loops_[position]) return false;
    if (!is_laid_out(copy.to, *writers.begin())) return false;
    from.view = Buffer::View{copy.to, std::vector<Expr>(from.shape.size(), 0)};
    uses_.refresh_storage(copy.from);
    return true;
  }

  // The destination is read from the source.
  bool forward_source(const Copy& copy, size_t position) {
    Buffer& to = program_.buffer(copy.to);
    if (to.kind != BufferKind::temporary || to.view || to.alias) return false;
    if (uses_.storage_writers(copy.to).size() != 1) return false;
    if (!is_whole(program_, copy.from) && is_reinterpreted(copy.to)) return false;
    if (!kernels_accept_view(copy.to)) return false;
    const std::set<size_t>& writers = uses_.storage_writers(program_.storage(copy.from));
    if (writers.upper_bound(position) != writers.end()) return false;
    to.view = Buffer::View{copy.from, std::vector<Expr>(to.shape.size(), 0)};
    uses_.refresh_storage(copy.to);
    return true;
  }

  // Whether something reads the buffer's memory under another shape, and so needs it contiguous.
  bool is_reinterpreted(BufferId id) const {
    return std::any_of(uses_.views(id).begin(), uses_.views(id).end(),
                       [&](BufferId view) { return program_.buffer(view).alias || is_reinterpreted(view); });
  }

  bool kernels_accept_view(BufferId id) const {
    auto accepts = [&](size_t step) {
      const auto* call = std::get_if<KernelCall>(&program_.steps[step].work);
      return call == nullptr || call->spec->accepts_views();
    };
    return std::all_of(uses_.readers(id).begin(), uses_.readers(id).end(), accepts) &&
           std::all_of(uses_.writers(id).begin(), uses_.writers(id).end(), accepts);
  }

  // Whether a step from the source's first write to the copy uses the destination's memory, or a later one writes it
  // while the source is still read.
  bool is_in_use(const Copy& copy, size_t first, size_t position) const {
    if (uses_.is_read_between(copy.to, first, position) || uses_.is_written_between(copy.to, first, position))
      return true;
    const bool is_read_later = *uses_.storage_readers(copy.from).rbegin() > position;
    return is_read_later && uses_.is_written_between(copy.to, position + 1, program_.steps.size());
  }

  // Whether a run knows where the buffer is before that step: its memory may be of a size that only a later one gives.
  bool is_laid_out(BufferId id, size_t step) const {
    auto is_known = [&](const Expr& size) {
      const std::set<Symbol> symbols = size.symbols();
      return std::ranges::all_of(symbols, [&](const Symbol& symbol) {
        auto bound = bound_by_.find(symbol);
        return bound == bound_by_.end() || bound->second < step;
      });
    };
    const Buffer& buffer = program_.buffer(id);
    if (!std::ranges::all_of(buffer.shape, is_known)) return false;
    if (buffer.alias) return is_laid_out(buffer.alias->parent, step);
    return !buffer.view ||
           (std::ranges::all_of(buffer.view->shift, is_known) && is_laid_out(buffer.view->parent, step));
  }

  Program& program_;
  ProgramUses uses_;
  const std::map<Symbol, size_t> bound_by_;
  const std::vector<std::optional<size_t>> loops_;
};

}  // namespace

void eliminate_copies(Program& program) { CopyElimination(program).run(); }

}  // namespace onnxc
