#include "passes/graph/define_node.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ir/interpreter/interpreter.h"
#include "ir/loops/scalar_arithmetic.h"
#include "ops/op.h"

namespace onnxc {
namespace {

std::vector<Value*> distinct(const std::vector<Value*>& values) {
  std::vector<Value*> result;
  std::unordered_set<const Value*> seen;
  for (Value* value : values)
    if (value != nullptr && seen.insert(value).second) result.push_back(value);
  return result;
}

bool has_constant_shape(const Value* value) { return value->shape && constant_dims(*value->shape).has_value(); }

// Whether the shape of its output depends on the node only.
bool has_own_shape(const Node& node, const Value& output) {
  return output.shape && std::ranges::all_of(*output.shape, [&](const Expr& dim) {
           return std::ranges::includes(node.bound_symbols, dim.symbols());
         });
}

// How often the innermost bodies of the loops run; nothing when they are not all loops of constant extents.
std::optional<double> count_steps(const Program& program) {
  double total = 0;
  for (const Step& step : program.steps) {
    if (std::holds_alternative<SymbolBinding>(step.work)) continue;
    const auto* nest = std::get_if<LoopNest>(&step.work);
    if (nest == nullptr) return std::nullopt;
    double rounds = 1;
    for (const Axis& axis : nest->axes) {
      std::optional<int64_t> extent = axis.extent.constant();
      if (!extent) return std::nullopt;
      rounds *= static_cast<double>(*extent);
    }
    total += rounds;
  }
  return total;
}

bool calls_string_functions(const Program& program) {
  return std::ranges::any_of(program.steps, [](const Step& step) {
    const auto* nest = std::get_if<LoopNest>(&step.work);
    return nest != nullptr && onnxc::calls_string_functions(*nest);
  });
}

}  // namespace

void do_naming(const Node& node, const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    const std::string text = error.what(), name = node.describe();
    throw UserError(text.starts_with(name) ? text : name + ": " + text);
  }
}

std::vector<Value*> distinct_inputs(const Node& node) { return distinct(node.inputs); }
std::vector<Value*> distinct_outputs(const Node& node) { return distinct(node.outputs); }

Program define_node(const Node& node) {
  Program program;
  std::map<const Value*, BufferId> buffers;
  auto add = [&](const Value* value, BufferKind kind, std::vector<BufferId>& list) {
    internal_check(value->shape.has_value(), "shapes are inferred before a node is defined");
    Buffer buffer;
    buffer.name = value->name;
    buffer.dtype = value->dtype;
    buffer.shape = *value->shape;
    buffer.layout = Layout::row_major(buffer.shape.size());
    buffer.kind = kind;
    BufferId id = program.add(std::move(buffer));
    buffers.emplace(value, id);
    list.push_back(id);
  };
  for (const Value* input : distinct_inputs(node)) add(input, BufferKind::input, program.inputs);
  for (const Value* output : distinct_outputs(node)) add(output, BufferKind::output, program.outputs);
  program.draws = node.random_stream.has_value();
  DefineContext context(node, program, [&](const Value& value) { return buffers.at(&value); });
  node.op->define(context);
  return program;
}

std::optional<Tensor> known_tensor(const Value& value) {
  if (value.constant) return value.constant;
  if (!value.elements || !has_constant_shape(&value)) return std::nullopt;
  Tensor tensor = Tensor::zeros(value.dtype, *constant_dims(*value.shape));
  internal_check(tensor.size() == static_cast<int64_t>(value.elements->size()), "as many elements as the shape says");
  const StoreFunction store = store_function(value.dtype);
  std::byte* to = tensor.mutable_bytes();
  for (const Expr& element : *value.elements) {
    if (!element.constant()) return std::nullopt;
    store(to, {.integer = *element.constant()});
    to += element_size(value.dtype);
  }
  return tensor;
}

std::optional<std::vector<Tensor>> compute_outputs(const Node& node, const std::vector<Tensor>& inputs,
                                                   int64_t maximum_steps, int64_t& steps_left) {
  if (node.random_stream || node.op->define == nullptr) return std::nullopt;
  if (!std::ranges::all_of(distinct_outputs(node), [&](const Value* value) { return has_own_shape(node, *value); }))
    return std::nullopt;
  Program program = define_node(node);
  if (calls_string_functions(program)) return std::nullopt;
  std::optional<double> steps = count_steps(program);
  if (!steps || *steps > static_cast<double>(std::min(maximum_steps, steps_left))) return std::nullopt;
  steps_left -= static_cast<int64_t>(*steps);
  return interpret(program, {}, inputs);
}

}  // namespace onnxc
