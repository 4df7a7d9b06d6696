#include "pipeline/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/expr/solve.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

Value* find(const std::vector<Value*>& values, const std::string& name) {
  const auto found = std::ranges::find_if(values, [&](const Value* value) { return value->name == name; });
  return found == values.end() ? nullptr : *found;
}

void check_name(const std::vector<const Graph*>& graphs, std::vector<Value*> Graph::* values, const std::string& what,
                const std::string& name) {
  std::set<std::string> known;
  for (const Graph* graph : graphs)
    for (const Value* value : graph->*values) {
      if (value->name == name) return;
      known.insert(printable(value->name));
    }
  throw UsageError(fmt::format("--state: {} has no {} {}; it has: {}", graphs.size() > 1 ? "no model" : "the model",
                               what, quote(name), list_text(std::vector<std::string>(known.begin(), known.end()))));
}

std::string typed(const Value& value) {
  return fmt::format("{} {}", info(value.dtype).name, printable(to_string(*value.shape)));
}

// The beginning of the messages.
std::string title(const StateNames& names) { return fmt::format("--state {}={}", names.input, names.output); }

void check_pair(const StateNames& names, const Value& input, const Value& output, Graph& graph) {
  const Shape &taken = *input.shape, &given = *output.shape;
  const auto refuse = [&] {
    user_error("{}: the output is {}, and the input whose memory it takes is {}; both must be equal",
               printable(title(names)), typed(output), typed(input));
  };
  if (input.dtype != output.dtype || taken.size() != given.size()) refuse();
  for (size_t axis = 0; axis < taken.size(); ++axis) {
    if (proven_equal(taken[axis], given[axis])) continue;
    if (proven_at_least(taken[axis], given[axis] + 1) || proven_at_least(given[axis], taken[axis] + 1)) refuse();
    graph.guards.push_back({Guard::Kind::equal, given[axis], taken[axis],
                            fmt::format("state {}: dim {} of the output {} must be that of the input",
                                        quote(names.input), axis, quote(names.output))});
  }
}

// The dims of the inputs that the caller gives.
DimSolution solve_callers_dims(const Graph& graph, const std::set<const Value*>& bound) {
  std::vector<InputDim> dims;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& input = *graph.inputs[i];
    for (size_t axis = 0; !bound.contains(&input) && axis < input.shape->size(); ++axis)
      dims.push_back({input.name, static_cast<int>(i), static_cast<int>(axis), (*input.shape)[axis]});
  }
  return solve_dims(dims);
}

void check_sizes_known(const Value& state, const DimSolution& callers) {
  std::set<Symbol> known;
  for (const Binding& binding : callers.bindings) known.insert(binding.symbol);
  for (size_t axis = 0; axis < state.shape->size(); ++axis)
    for (const Symbol& symbol : (*state.shape)[axis].symbols())
      if (!known.contains(symbol)) {
        const std::string name = printable(symbol.name());
        user_error("state {}: no other input has its dim {}, {}; give it a value with --dim {}=SIZE", quote(state.name),
                   axis, printable((*state.shape)[axis].to_string()), name);
      }
}

}  // namespace

void check_state_names(const std::vector<StateNames>& states, const std::vector<const Graph*>& graphs) {
  for (const StateNames& names : states) {
    check_name(graphs, &Graph::inputs, "input", names.input);
    check_name(graphs, &Graph::outputs, "output", names.output);
  }
}

void check_states(const std::vector<StateNames>& states, Graph& graph) {
  std::set<const Value*> bound;
  for (const StateNames& names : states) {
    const Value* const input = find(graph.inputs, names.input);
    const Value* const output = find(graph.outputs, names.output);
    for (const Value* value : {input, output})
      user_check(value == nullptr || value->dtype != DType::string,
                 "{}: {} is a tensor of strings, which a run does not keep for the next", printable(title(names)),
                 quote(value == nullptr ? "" : value->name));
    if (input != nullptr && output != nullptr) check_pair(names, *input, *output, graph);
    if (input != nullptr) bound.insert(input);
  }
  const DimSolution callers = solve_callers_dims(graph, bound);
  for (const StateNames& names : states)
    for (const Value* value : {find(graph.inputs, names.input), find(graph.outputs, names.output)})
      if (value != nullptr) check_sizes_known(*value, callers);
}

void check_shared_states(const std::vector<const Program*>& programs) {
  std::map<std::string, const Buffer*> known;
  for (const Program* program : programs)
    for (const State& state : program->states) {
      const Buffer& buffer = program->buffer(state.buffer);
      const auto [other, is_new] = known.emplace(state.name, &buffer);
      if (is_new) continue;
      const Shape &before = other->second->element_shape(), &shape = buffer.element_shape();
      const auto may_be_equal = [](const Expr& a, const Expr& b) {
        return !a.constant() || !b.constant() || *a.constant() == *b.constant();
      };
      user_check(
          other->second->element_dtype() == buffer.element_dtype() && std::ranges::equal(before, shape, may_be_equal),
          "state {}: it is {} {} in one model and {} {} in another, and both share it; name them differently",
          quote(state.name), info(other->second->element_dtype()).name, printable(to_string(before)),
          info(buffer.element_dtype()).name, printable(to_string(shape)));
    }
}

}  // namespace onnxc
