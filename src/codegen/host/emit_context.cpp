#include "codegen/host/emit_context.h"

#include "ir/random_symbols.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::vector<InputDim> input_dims(const Program& program) {
  std::vector<InputDim> dims;
  for (size_t input = 0; input < program.inputs.size(); ++input) {
    const Buffer& buffer = program.buffer(program.inputs[input]);
    const Shape& shape = buffer.element_shape();
    for (size_t axis = 0; axis < shape.size(); ++axis)
      dims.push_back({buffer.name, static_cast<int>(input), static_cast<int>(axis), shape[axis]});
  }
  return dims;
}

std::vector<BufferId> used_storages(const Program& program) {
  std::set<BufferId> used;
  for (BufferId id : program.inputs) used.insert(program.storage(id));
  for (BufferId id : program.outputs) used.insert(program.storage(id));
  for (const State& state : program.states) used.insert(state.buffer);
  for (const Step& step : program.steps) {
    for (BufferId id : reads(step)) used.insert(program.storage(id));
    for (BufferId id : writes(step)) used.insert(program.storage(id));
  }
  return {used.begin(), used.end()};
}

}  // namespace

EmitContext::EmitContext(const Program& a_program)
    : program(a_program), dims(solve_dims(input_dims(a_program))), storages(used_storages(a_program)) {
  if (!dims.errors.empty()) throw UserError(dims.errors.front());
  for (const Binding& binding : dims.bindings) symbols.push_back(binding.symbol);
  for (const Step& step : program.steps) {
    if (!begins_level(step)) continue;
    std::vector<Symbol> bound;
    if (const auto* binding = std::get_if<SymbolBinding>(&step.work)) bound = binding->symbols;
    if (const auto* loop = std::get_if<LoopBegin>(&step.work)) bound = {loop->round};
    for (const Symbol& symbol : bound)
      if (levels_.emplace(symbol, level_count_).second) symbols.push_back(symbol);
    ++level_count_;
  }
  if (program.draws) symbols.insert(symbols.end(), {run_seed(), run_pass()});
  for (size_t i = 0; i < symbols.size(); ++i) {
    names.symbols.emplace(symbols[i], identifier("d", static_cast<int64_t>(i), symbols[i].name()));
    names.places.emplace(symbols[i], i);
  }
  for (size_t i = 0; i < storages.size(); ++i) names.storages.emplace(storages[i], i);
}

int EmitContext::level(const Expr& size) const {
  int highest = 0;
  for (const Symbol& symbol : size.symbols())
    if (auto found = levels_.find(symbol); found != levels_.end()) highest = std::max(highest, found->second);
  return highest;
}

int EmitContext::level(const Shape& sizes) const {
  int highest = 0;
  for (const Expr& size : sizes) highest = std::max(highest, level(size));
  return highest;
}

int EmitContext::level_of_step(size_t step) const {
  int level = 0;
  for (size_t i = 0; i <= step; ++i) level += begins_level(program.steps[i]) ? 1 : 0;
  return level;
}

std::string describe_buffer(const Buffer& buffer) {
  std::string text = fmt::format("\"{}\" {} {}", comment_text(buffer.name), info(buffer.dtype).name,
                                 comment_text(to_string(buffer.shape)));
  if (!buffer.layout.is_row_major()) text += ", layout " + buffer.layout.to_string();
  return text;
}

std::string step_comment(const Program& program, size_t index, const Step& step) {
  std::string title;
  for (const Origin& origin : step.origins)
    title +=
        fmt::format("{}\"{}\" ({})", title.empty() ? "" : ", ", comment_text(origin.name), comment_text(origin.type));
  TextWriter writer;
  writer.line(fmt::format("// Step {}: {}", index, title));
  for (BufferId id : reads(step))
    writer.line(fmt::format("//   reads b{}: {}", id, describe_buffer(program.buffer(id))));
  for (BufferId id : writes(step))
    writer.line(fmt::format("//   writes b{}: {}", id, describe_buffer(program.buffer(id))));
  return writer.take();
}

std::string origin_lines(const Step& step, const std::function<std::string(const Origin&)>& text) {
  std::vector<std::string> lines;
  for (const Origin& origin : step.origins) lines.push_back(text(origin));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace onnxc
