#include "codegen/cpu/source/step_description.h"

#include <algorithm>

#include "codegen/cpu/source/model_interface.h"
#include "codegen/loop_transforms.h"
#include "support/text.h"

namespace onnxc {
namespace {

// A buffer and those that it is a view of, the narrowest first.
std::vector<BufferId> with_parents(const Program& program, BufferId id) {
  std::vector<BufferId> chain{id};
  while (program.buffer(chain.back()).view) chain.push_back(program.buffer(chain.back()).view->parent);
  return chain;
}

}  // namespace

StepDescriptionPrinter::StepDescriptionPrinter(const EmitContext& context) : context_(context) {
  const std::vector<Step>& steps = context.program.steps;
  for (size_t i = 0; i < steps.size(); ++i)
    for (BufferId written : writes(steps[i]))
      for (BufferId id : with_parents(context.program, written)) last_writers_[id] = i;
}

// The tensors that are whole once this step is done: a Concat is written by several steps, and only then there. A view
// that has its parent's name is no tensor of the model, but the part of one that a step writes.
std::vector<BufferId> StepDescriptionPrinter::completed(size_t step) const {
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

std::string StepDescriptionPrinter::describe(size_t step_index, const std::string& function, const std::string& name,
                                             const Expr& operations, const std::string& flow) {
  const Step& step = context_.program.steps[step_index];
  std::vector<std::string> outputs;
  for (BufferId id : completed(step_index)) {
    const std::string output_name = fmt::format("{}_output{}", function, outputs.size());
    if (std::optional<std::string> output = describe_output(id, output_name)) outputs.push_back(*output);
  }
  std::string array = "nullptr";
  if (!outputs.empty()) {
    array = function + "_outputs";
    auto list = writer_.scope(fmt::format("static const StepOutput {}[] =", array), ";");
    for (const std::string& output : outputs) writer_.line(output + ",");
  }
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", c_string_literal(name),
                     c_string_literal(origin_lines(step, &Origin::name)),
                     c_string_literal(origin_lines(step, &Origin::type)), function, describe_operations(operations),
                     outputs.size(), array, flow);
}

std::string StepDescriptionPrinter::describe_operations(const Expr& operations) {
  if (operations.is_constant(0)) return "nullptr";
  SymbolNames checked;
  for (size_t i = 0; i < context_.symbols.size(); ++i)
    checked[context_.symbols[i]] = fmt::format("CheckedSize(symbols[{}])", i);
  return function("double", "operations", "const int64_t* symbols",
                  fmt::format("  return static_cast<double>(CheckedSize({}).value);\n",
                              print_expr(operations, checked, "CheckedSize")));
}

// The StepOutput of a buffer; nothing for one that cannot be walked axis by axis.
std::optional<std::string> StepDescriptionPrinter::describe_output(BufferId id, const std::string& name) {
  const Buffer& buffer = context_.program.buffer(id);
  TextWriter axes(1);
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
  TextWriter body(1);
  declare_dims(body, used, context_.names, "symbols");
  body.append(axes.take());
  body.line(fmt::format("return {};", text(first)));
  const std::string place = function("int64_t", "place", "const int64_t* symbols, PlacedAxis* axes", body.take());
  return fmt::format("{{{}, {}, {}}}", tensor_description(writer_, buffer, name + "_dims"), context_.place(id), place);
}

// How far one block and one element of an axis go; for an axis that is not blocked, one element and nothing.
std::optional<std::pair<Expr, Expr>> StepDescriptionPrinter::axis_steps(BufferId id, size_t axis) const {
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

std::string StepDescriptionPrinter::function(const std::string& result, const std::string& name,
                                             const std::string& parameters, const std::string& body) {
  const auto [known, is_new] =
      functions_.emplace(fmt::format("{} {}", name, body), fmt::format("{}{}", name, functions_.size()));
  if (is_new) writer_.append(fmt::format("static {} {}({}) {{\n{}}}\n", result, known->second, parameters, body));
  return known->second;
}

}  // namespace onnxc
