#include "codegen/host/step_outputs.h"

#include <algorithm>

#include "codegen/host/model_interface.h"
#include "codegen/nests/loop_transforms.h"

namespace onnxc {
namespace {

// A buffer and those that it is a view of, the narrowest first.
std::vector<BufferId> with_parents(const Program& program, BufferId id) {
  std::vector<BufferId> chain{id};
  while (program.buffer(chain.back()).view) chain.push_back(program.buffer(chain.back()).view->parent);
  return chain;
}

}  // namespace

StepOutputPrinter::StepOutputPrinter(const EmitContext& context, TextWriter& writer, SharedFunctions& functions)
    : context_(context), writer_(writer), functions_(functions) {
  const std::vector<Step>& steps = context.program.steps;
  for (size_t i = 0; i < steps.size(); ++i)
    for (BufferId written : writes(steps[i]))
      for (BufferId id : with_parents(context.program, written)) last_writers_[id] = i;
}

// The tensors that are whole once this step is done: a Concat is written by several steps, and only then there. A view
// that has its parent's name is not a tensor of the model, but the part of one that a step writes.
std::vector<BufferId> StepOutputPrinter::completed(size_t step) const {
  const Program& program = context_.program;
  std::vector<BufferId> tensors;
  for (BufferId written : writes(program.steps[step])) {
    const std::vector<BufferId> chain = with_parents(program, written);
    for (size_t i = 0; i < chain.size(); ++i) {
      const bool is_part = i + 1 < chain.size() && program.buffer(chain[i]).name == program.buffer(chain[i + 1]).name;
      if (!is_part && last_writers_.at(chain[i]) == step && std::ranges::find(tensors, chain[i]) == tensors.end())
        tensors.push_back(chain[i]);
    }
  }
  return tensors;
}

std::string StepOutputPrinter::describe(size_t step) {
  const std::string array = fmt::format("step{}_outputs", step);
  std::vector<std::string> outputs;
  for (BufferId id : completed(step)) {
    const std::string output_name = fmt::format("step{}_output{}", step, outputs.size());
    if (std::optional<std::string> output = describe_output(id, output_name)) outputs.push_back(*output);
  }
  if (outputs.empty()) return "0, nullptr";
  auto list = writer_.scope(fmt::format("static const StepOutput {}[] =", array), ";");
  for (const std::string& output : outputs) writer_.line(output + ",");
  return fmt::format("{}, {}", outputs.size(), array);
}

// The StepOutput of a buffer; nothing for one that cannot be walked axis by axis, and for a packed output, whose
// elements were another step's result. Elements of less than a byte are shown as the bytes that they have in memory.
std::optional<std::string> StepOutputPrinter::describe_output(BufferId id, const std::string& name) {
  Buffer buffer = context_.program.buffer(id);
  if (buffer.packs) return std::nullopt;
  if (is_sub_byte(buffer.dtype)) buffer.dtype = info(buffer.dtype).compute;
  TextWriter axes(writer_.indentation() + 1);
  std::set<Symbol> used;
  const Expr first = context_.program.offset(id, std::vector<Expr>(buffer.shape.size(), 0));
  used.merge(first.symbols());
  for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
    const std::optional<std::pair<Expr, Expr>> steps = axis_steps(id, axis);
    if (!steps) return std::nullopt;
    for (const Expr& expr : {steps->first, steps->second, buffer.shape[axis]}) used.merge(expr.symbols());
    axes.line(fmt::format("axes[{}] = {{{}, {}, {}, {}}};", axis, text(buffer.shape[axis]),
                          buffer.layout.is_blocked(axis) ? buffer.layout.block_size : 1, text(steps->first),
                          text(steps->second)));
  }
  TextWriter body(writer_.indentation() + 1);
  declare_dims(body, used, context_.names, "symbols");
  body.append(axes.take());
  body.line(fmt::format("return {};", text(first)));
  const std::string place =
      functions_.share(writer_, "int64_t", "place", "const int64_t* symbols, PlacedAxis* axes", body.take());
  return fmt::format("{{{}, {}, {}}}", tensor_description(writer_, buffer, name + "_dims"), context_.place(id), place);
}

// How far one block and one element of an axis go; for an axis that is not blocked, one element and nothing.
std::optional<std::pair<Expr, Expr>> StepOutputPrinter::axis_steps(BufferId id, size_t axis) const {
  const Buffer& buffer = context_.program.buffer(id);
  const int64_t block_size = buffer.layout.is_blocked(axis) ? buffer.layout.block_size : 1;
  std::vector<Expr> indices;
  for (const Expr& extent : buffer.shape) indices.emplace_back(Symbol::axis("i", extent));
  const Symbol outer = Symbol::axis("outer", ceil_div(buffer.shape[axis], block_size)),
               inner = Symbol::axis("inner", block_size);
  indices[axis] = Expr(outer) * block_size + inner;
  const Expr offset = context_.program.offset(id, indices);
  const std::optional<Expr> outer_step = coefficient(offset, outer), inner_step = coefficient(offset, inner);
  if (!outer_step || !inner_step) return std::nullopt;
  for (const Symbol& symbol : outer_step->symbols())
    if (!context_.names.symbols.contains(symbol)) return std::nullopt;
  return std::pair(*outer_step, block_size == 1 ? Expr(0) : *inner_step);
}

}  // namespace onnxc
