#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/loops/text.h"
#include "ir/program/program.h"
#include "ir/program/text.h"
#include "ir/tensor_text.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

std::string_view name(BufferKind kind) {
  switch (kind) {
    case BufferKind::input:
      return "input";
    case BufferKind::output:
      return "output";
    case BufferKind::constant:
      return "constant";
    case BufferKind::temporary:
      return "temporary";
    case BufferKind::state:
      return "state";
  }
  internal_error("a buffer of no kind");
}

std::optional<BufferKind> parse_buffer_kind(std::string_view text) {
  for (BufferKind kind :
       {BufferKind::input, BufferKind::output, BufferKind::constant, BufferKind::temporary, BufferKind::state})
    if (name(kind) == text) return kind;
  return std::nullopt;
}

namespace {

// "dim N 1..8"; of a quotient its dividend, as which it is printed: "dim D 16.. = 16*n + 3".
std::string print_dim(const Symbol& symbol) {
  const ExactDivision* division = symbol.info().division.get();
  const Symbol dim = division == nullptr ? symbol : *division->dividend.as_symbol();
  const Bounds& bounds = dim.info().bounds;
  std::string text = fmt::format("dim {} {}..{}", printable(dim.name()),
                                 bounds.minimum == Bounds::minus_infinity ? "" : std::to_string(bounds.minimum),
                                 bounds.maximum == Bounds::infinity ? "" : std::to_string(bounds.maximum));
  if (division != nullptr) text += fmt::format(" = {}*n", division->divisor);
  if (division != nullptr && division->rest != 0) text += fmt::format(" + {}", division->rest);
  return text + "\n";
}

// The dims with other bounds than being not negative.
std::string print_dims(const Program& program) {
  std::set<Symbol> symbols;
  auto add = [&](const Expr& expr) { symbols.merge(expr.symbols()); };
  for (const Buffer& buffer : program.buffers) {
    std::ranges::for_each(buffer.shape, add);
    std::ranges::for_each(buffer.element_shape(), add);
  }
  for (const Guard& guard : program.guards) {
    add(guard.left);
    add(guard.right);
    add(guard.condition);
  }
  for (const auto& [symbol, step] : binding_steps(program)) symbols.insert(symbol);
  std::string text;
  for (const Symbol& symbol : symbols)
    if (symbol.info().division || symbol.info().bounds != Bounds{0, Bounds::infinity}) text += print_dim(symbol);
  return text;
}

std::string print_ids(const std::vector<BufferId>& ids) {
  std::vector<std::string> texts;
  for (BufferId id : ids) texts.push_back(fmt::format("b{}", id));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// b2 temporary float32 [N, 64, 2*D] layout 0 1/16 2 1%16 "conv1"
std::string print_buffer(BufferId id, const Buffer& buffer) {
  std::string text =
      fmt::format("b{} {} {} {}", id, name(buffer.kind), info(buffer.dtype).name, to_string(buffer.shape));
  if (!buffer.layout.is_row_major()) text += fmt::format(" layout {}", buffer.layout.to_string());
  if (buffer.view) text += fmt::format(" view b{} {}", buffer.view->parent, to_string(buffer.view->shift));
  if (buffer.alias) text += fmt::format(" alias b{}", buffer.alias->parent);
  if (buffer.packs) text += fmt::format(" packs {} {}", info(buffer.packs->dtype).name, to_string(buffer.packs->shape));
  if (buffer.is_packed) text += " packed";
  if (buffer.constant && !buffer.is_packed) text += print_elements(*buffer.constant);
  return text + " " + c_string_literal(buffer.name) + "\n";
}

//   epilogue [i, j] max(acc0 + b2[j], 0.0)
//   inner epilogue [i<N, j<4] acc0 * 0.5
// The axes of an epilogue are the output's; those of an inner one are of no buffer, so that their extents are printed.
std::string print_epilogue(const Epilogue& epilogue, bool is_inner) {
  if (!epilogue.value) return {};
  LoopNest nest;
  nest.axes = epilogue.axes;
  nest.stores.push_back({-1, {}, epilogue.value, StoreKind::assign, {}});
  nest = with_distinct_names(nest);
  std::vector<std::string> axes;
  for (const Axis& axis : nest.axes)
    axes.push_back(is_inner ? fmt::format("{}<{}", axis.symbol.name(), axis.extent.to_string()) : axis.symbol.name());
  return fmt::format("  {}epilogue [{}] {}\n", is_inner ? "inner " : "", fmt::join(axes, ", "),
                     to_string(nest.stores.front().value));
}

std::string print_work(const KernelCall& call) {
  const std::string views = call.spec->accepts_views() ? "" : " without views";
  const std::string workspace = call.workspace ? fmt::format(" workspace b{}", *call.workspace) : "";
  return fmt::format("kernel {}  b{} = {}{}{}\n", call.spec->describe(), call.output, print_ids(call.inputs), workspace,
                     views) +
         print_epilogue(call.inner_epilogue, true) + print_epilogue(call.epilogue, false);
}

// bind k_0, k_1 = b3
std::string print_work(const SymbolBinding& binding) {
  std::vector<std::string> names;
  for (const Symbol& symbol : binding.symbols) names.push_back(symbol.name());
  return fmt::format("bind {} = b{}\n", fmt::join(names, ", "), binding.buffer);
}

// loop round_0 < N while b4 carries b2, b3
std::string print_work(const LoopBegin& loop) {
  std::string text = fmt::format("loop {} < {}", loop.round.name(), loop.count.to_string());
  if (loop.condition >= 0) text += fmt::format(" while b{}", loop.condition);
  if (!loop.carried.empty()) text += " carries " + print_ids(loop.carried);
  return text + "\n";
}

std::string print_work(const LoopEnd&) { return "end loop\n"; }

std::string print_work(const LoopNest& nest) { return to_string(nest); }

// # "conv1" com.example.Conv-22
std::string print_origins(const std::vector<Origin>& origins) {
  std::string text;
  for (const Origin& origin : origins)
    text += fmt::format("# {} {}{}-{}\n", c_string_literal(origin.name),
                        origin.domain.empty() ? "" : printable(origin.domain) + ".", printable(origin.type),
                        origin.version);
  return text;
}

}  // namespace

std::string to_string(const Program& program) {
  std::string text = print_dims(program);
  if (program.draws) text += "draws\n";
  for (size_t i = 0; i < program.buffers.size(); ++i)
    text += print_buffer(static_cast<BufferId>(i), program.buffers[i]);
  text += fmt::format("inputs {}\noutputs {}\n", print_ids(program.inputs), print_ids(program.outputs));
  for (const State& state : program.states)
    text += fmt::format("state b{} {}\n", state.buffer, c_string_literal(state.name));
  for (const Guard& guard : program.guards) {
    text += fmt::format("guard {} {} {} {}", guard.left.to_string(),
                        guard.kind == Guard::Kind::equal ? "==" : ">=", guard.right.to_string(),
                        c_string_literal(guard.reason));
    text += guard.condition.is_constant(1) ? "\n" : fmt::format(" when {}\n", guard.condition.to_string());
  }
  for (const Step& step : program.steps) {
    if (!step.condition.is_constant(1)) text += fmt::format("when {}\n", step.condition.to_string());
    text += print_origins(step.origins) + std::visit([](const auto& work) { return print_work(work); }, step.work);
  }
  return text;
}

}  // namespace onnxc
