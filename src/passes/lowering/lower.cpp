#include "passes/lowering/lower.h"

#include <algorithm>
#include <set>
#include <span>

#include "ops/op.h"
#include "passes/graph/define_node.h"
#include "passes/lowering/guard_accesses.h"
#include "passes/lowering/sub_byte.h"

namespace onnxc {

// -------------------------------------------------------------------------------------------------------- buffers

LoweringContext::LoweringContext(const Graph& graph, Program& program, const LayoutMap& layouts)
    : graph_(graph), program_(program), layouts_(layouts) {}

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
  } else if (is_sub_byte(value.dtype)) {
    buffer.kind = BufferKind::temporary;  // the caller has it packed
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
  program_.steps.push_back(
      {copy_nest(copy_nest_name, {to, destination.dtype, destination.shape}, {from, source.dtype, source.shape}).take(),
       {origin}});
}

BufferId LoweringContext::buffer_as(const Value& value, const Layout& layout, const Origin& origin) {
  BufferId own = buffer(value);
  if (program_.buffer(own).layout == layout) return own;
  if (const auto found = copies_.find({own, layout.to_string() + place_}); found != copies_.end()) return found->second;
  Buffer converted = program_.buffer(own);
  converted.kind = BufferKind::temporary;
  converted.constant.reset();
  converted.layout = layout;
  const BufferId result = program_.add(std::move(converted));
  copy(own, result, origin);
  remember_copy(own, layout, result);
  return result;
}

void LoweringContext::remember_copy(BufferId own, const Layout& layout, BufferId copy) {
  const CopyKey key{own, layout.to_string() + place_};
  copies_[key] = copy;
  if (!loops_.empty()) loops_.back().push_back(key);
}

void LoweringContext::end_loop() {
  for (const CopyKey& key : loops_.back()) copies_.erase(key);
  loops_.pop_back();
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
  if (own == written) return;
  copy(written, own, origin);
  remember_copy(own, layout, written);
}

// -------------------------------------------------------------------------------------------------------- lowering

namespace {

// The model's outputs in their order. One that is an input, a constant or another output as well is copied, since each
// is memory of the caller's own.
void lower_outputs(const Graph& graph, LoweringContext& context) {
  Program& program = context.program();
  for (const Value* output : graph.outputs) {
    BufferId id = context.buffer(*output);
    if (is_sub_byte(output->dtype)) {
      program.outputs.push_back(pack_output(program, id));
      continue;
    }
    bool taken = std::find(program.outputs.begin(), program.outputs.end(), id) != program.outputs.end();
    if (program.buffer(id).kind == BufferKind::output && !taken) {
      program.outputs.push_back(id);
      continue;
    }
    Buffer copy = program.buffer(id);
    copy.kind = BufferKind::output;
    copy.constant.reset();
    BufferId own = program.add(std::move(copy));
    context.copy(id, own, {output->name, "Identity", "", 0});
    program.outputs.push_back(own);
  }
}

bool has_layout(const Buffer& buffer, LayoutDemand demand) {
  return demand == LayoutDemand::none || buffer.layout.is_row_major() == (demand == LayoutDemand::rows);
}

// The calls of a node do what its offer says: one has its name, by which reports find it, and those of its activations
// and of its output are in the layouts that were priced.
void check_calls(const Program& program, std::span<const Step> steps, const Node& node, const Offer& offer) {
  bool has_call = false, is_named = false;
  for (const Step& step : steps) {
    const auto* call = std::get_if<KernelCall>(&step.work);
    if (call == nullptr) continue;
    has_call = true;
    is_named |= (call->spec->describe() + " ").starts_with(offer.kernel + " ");
    const auto is_activation = [&](BufferId id) { return program.buffer(id).name == node.inputs[0]->name; };
    for (const BufferId input : call->inputs)
      internal_check(!is_activation(input) || has_layout(program.buffer(input), offer.reads),
                     "a kernel reads the layout of its offer");
    const Buffer& written = program.buffer(call->output);
    internal_check(written.name != node.outputs[0]->name || has_layout(written, offer.gives),
                   "a kernel writes the layout of its offer");
  }
  if (has_call && !is_named) internal_error("no call has the name of its offer, " + offer.kernel);
}

void lower_node(const Node& node, const KernelChoices& choices, LoweringContext& context) {
  const Offer* offer = choices.chosen(node);
  if (offer == nullptr) return lower_by_definition(node, context);
  const size_t first = context.program().steps.size();
  context.set_kernel(offer->kernel);
  offer->lower(context);
  check_calls(context.program(), std::span(context.program().steps).subspan(first), node, *offer);
}

// Binds the symbols among a value's elements: they are known once the value is computed.
void bind_elements(const Value* value, LoweringContext& context) {
  if (value == nullptr || !value->elements_at_run_time) return;
  SymbolBinding binding;
  for (const Expr& element : *value->elements) binding.symbols.push_back(*element.as_symbol());
  binding.buffer = context.buffer(*value);
  const Origin origin = value->producer != nullptr ? value->producer->origin : Origin{value->name, "Input", "", 0};
  context.program().steps.push_back({std::move(binding), {origin}});
}

// Drops the guards of nodes that were folded away: they refer to sizes that no step binds.
void drop_unbound_guards(const Graph& graph, Program& program) {
  const std::map<Symbol, size_t> bound = binding_steps(program);
  std::set<Symbol> unbound;
  for (const RunTimeSymbol& each : graph.run_time_symbols)
    if (!bound.contains(each.symbol)) unbound.insert(each.symbol);
  std::erase_if(program.guards, [&](const Guard& guard) {
    std::set<Symbol> used = (guard.left - guard.right).symbols();
    used.merge(guard.condition.symbols());
    return std::ranges::any_of(used, [&](const Symbol& symbol) { return unbound.contains(symbol); });
  });
}

}  // namespace

void lower_by_definition(const Node& node, LoweringContext& context) {
  DefineContext define(node, context.program(), [&](const Value& value) { return context.buffer(value); });
  internal_check(node.op->define != nullptr, "a row with a definition");
  node.op->define(define);
}

Program lower(const Graph& graph, const KernelChoices& choices) {
  Program program;
  program.guards = graph.guards;
  program.size_rules = graph.size_rules;
  program.strings = graph.strings;
  LoweringContext context(graph, program, choices.layouts);
  for (const Value* input : graph.inputs) {
    const BufferId id = context.buffer(*input);
    program.inputs.push_back(is_sub_byte(input->dtype) ? unpack_input(program, id) : id);
  }
  for (const Value* input : graph.inputs) bind_elements(input, context);
  for (const auto& node : graph.nodes()) {
    const size_t first = program.steps.size();
    context.set_condition(node->condition);
    program.draws |= node->random_stream.has_value();
    do_naming(*node, [&] { lower_node(*node, choices, context); });
    for (const Value* output : node->outputs) bind_elements(output, context);
    for (size_t i = first; i < program.steps.size(); ++i) {
      Step& step = program.steps[i];
      step.condition = node->condition;
      if (std::holds_alternative<LoopBegin>(step.work)) context.begin_loop();
      if (std::holds_alternative<LoopEnd>(step.work)) context.end_loop();
    }
  }
  context.set_condition(1);
  lower_outputs(graph, context);
  drop_unbound_guards(graph, program);
  guard_accesses(program);
  return program;
}

}  // namespace onnxc
