#include "passes/lower.h"

#include <algorithm>

#include "codegen/target.h"
#include "ops/op.h"

namespace onnxc {

// -------------------------------------------------------------------------------------------------------- layouts

LayoutMap assign_layouts(const Graph& graph, const Target& target) {
  LayoutMap layouts;
  auto blocks = [](const Value* value) { return value != nullptr && value->shape && value->shape->size() >= 3; };
  for (const auto& node : graph.nodes()) {
    bool blocked = target.prefers_blocked(*node);
    if (!blocked && node->op->layout == LayoutRule::follows && !node->outputs.empty() && blocks(node->outputs[0])) {
      blocked = std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
        return layouts.contains(input) && input->shape->size() == node->outputs[0]->shape->size();
      });
    }
    if (!blocked) continue;
    for (const Value* output : node->outputs)
      if (blocks(output) && !graph.is_output(output))
        layouts.emplace(output, target.blocked_layout(output->shape->size()));
  }
  return layouts;
}

// -------------------------------------------------------------------------------------------------------- buffers

LoweringContext::LoweringContext(const Graph& graph, Program& program, LayoutMap layouts)
    : graph_(graph), program_(program), layouts_(std::move(layouts)) {}

BufferId LoweringContext::buffer(const Value& value) {
  auto found = buffers_.find(&value);
  if (found != buffers_.end()) return found->second;
  internal_check(value.shape.has_value(), "shapes are inferred before lowering");
  Buffer buffer;
  buffer.name = value.name;
  buffer.dtype = value.dtype;
  buffer.shape = *value.shape;
  auto layout = layouts_.find(&value);
  buffer.layout = layout != layouts_.end() ? layout->second : Layout::row_major(buffer.shape.size());
  if (value.constant) {
    buffer.kind = BufferKind::constant;
    buffer.constant = value.constant;
  } else if (std::find(graph_.inputs.begin(), graph_.inputs.end(), &value) != graph_.inputs.end()) {
    buffer.kind = BufferKind::input;
  } else if (graph_.is_output(&value)) {
    buffer.kind = BufferKind::output;
  }
  BufferId id = program_.add(std::move(buffer));
  buffers_.emplace(&value, id);
  return id;
}

void LoweringContext::copy(BufferId from, BufferId to, const Origin& origin) {
  const Buffer &source = program_.buffer(from), &destination = program_.buffer(to);
  NestBuilder nest(copy_nest_name);
  std::vector<Expr> indices = nest.parallel(source.shape);
  Operand input{from, source.dtype, source.shape}, output{to, destination.dtype, destination.shape};
  nest.store(output, indices, input(indices));
  program_.steps.push_back({nest.take(), {origin}});
}

BufferId LoweringContext::buffer_as(const Value& value, const Layout& layout, const Origin& origin) {
  BufferId own = buffer(value);
  if (program_.buffer(own).layout == layout) return own;
  auto [found, is_new] = copies_.try_emplace({own, layout.to_string()}, -1);
  if (is_new) {
    Buffer converted = program_.buffer(own);
    converted.kind = BufferKind::temporary;
    converted.constant.reset();
    converted.layout = layout;
    found->second = program_.add(std::move(converted));
    copy(own, found->second, origin);
  }
  return found->second;
}

void LoweringContext::emit_kernel(KernelCall call, const Value& output, const Layout& layout, const Origin& origin) {
  BufferId own = buffer(output);
  call.output = own;
  if (!(program_.buffer(own).layout == layout)) {
    Buffer written = program_.buffer(own);
    written.kind = BufferKind::temporary;
    written.layout = layout;
    call.output = program_.add(std::move(written));
  }
  BufferId written = call.output;
  program_.steps.push_back({std::move(call), {origin}});
  if (own != written) copy(written, own, origin);
}

// -------------------------------------------------------------------------------------------------------- lowering

namespace {

// The model's outputs in their order. One that is an input, a constant or another output as well is copied, since each
// is memory of the caller's own.
void lower_outputs(const Graph& graph, LoweringContext& context) {
  Program& program = context.program();
  for (const Value* output : graph.outputs) {
    BufferId id = context.buffer(*output);
    bool taken = std::find(program.outputs.begin(), program.outputs.end(), id) != program.outputs.end();
    if (program.buffer(id).kind == BufferKind::output && !taken) {
      program.outputs.push_back(id);
      continue;
    }
    Buffer copy = program.buffer(id);
    copy.kind = BufferKind::output;
    copy.constant.reset();
    BufferId own = program.add(std::move(copy));
    NestBuilder nest(copy_nest_name);
    std::vector<Expr> indices = nest.parallel(*output->shape);
    Operand from{id, output->dtype, *output->shape}, to{own, output->dtype, *output->shape};
    nest.store(to, indices, from(indices));
    program.steps.push_back({nest.take(), {{output->name, "Identity", "", 0}}});
    program.outputs.push_back(own);
  }
}

}  // namespace

Program lower(const Graph& graph, const Target& target, bool use_templates) {
  Program program;
  program.guards = graph.guards;
  program.size_rules = graph.size_rules;
  LoweringContext context(graph, program, use_templates ? assign_layouts(graph, target) : LayoutMap{});
  for (const Value* input : graph.inputs) program.inputs.push_back(context.buffer(*input));
  for (const auto& node : graph.nodes()) {
    if (use_templates && target.lower(*node, context)) continue;
    DefineContext define(*node, program, [&](const Value& value) { return context.buffer(value); });
    internal_check(node->op->define != nullptr, "a row with a definition");
    node->op->define(define);
  }
  lower_outputs(graph, context);
  return program;
}

}  // namespace onnxc
