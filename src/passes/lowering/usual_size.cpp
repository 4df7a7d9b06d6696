#include "passes/lowering/usual_size.h"

#include <algorithm>

#include "ir/expr/solve.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr int64_t usual_dim = 64;

// Calls visit(name, shape) for each input.
template <class Visitor>
void for_each_input(const Graph& graph, const Visitor& visit) {
  for (const Value* input : graph.inputs) visit(input->name, *input->shape);
}
template <class Visitor>
void for_each_input(const Program& program, const Visitor& visit) {
  for (const BufferId input : program.inputs) visit(program.buffer(input).name, program.buffer(input).element_shape());
}

// The value that the usual size of an input's dim gives a symbol: 4 if the dim is 16*symbol.
template <class Model>
std::optional<int64_t> from_inputs(const Model& model, const Symbol& symbol) {
  std::optional<int64_t> result;
  for_each_input(model, [&](const std::string& name, const Shape& shape) {
    for (const Expr& dim : shape) {
      if (result || dim.symbols() != std::set<Symbol>{symbol}) continue;
      const DimSolution solution = solve_dims({{name, 0, 0, dim}});
      if (!solution.bindings.empty())
        result = solution.bindings.front().value.evaluate({{solution.observed, usual_dim}});
    }
  });
  return result;
}

template <class Model>
std::optional<int64_t> usual_size_in(const Model& model, const Expr& size) {
  if (const std::optional<int64_t> known = size.constant()) return known;
  try {
    std::map<Symbol, int64_t> values;
    for (const Symbol& symbol : size.symbols()) {
      const Bounds& bounds = symbol.info().bounds;
      values[symbol] = std::clamp(from_inputs(model, symbol).value_or(usual_dim), bounds.minimum, bounds.maximum);
    }
    return size.evaluate(values);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> usual_size(const Graph& graph, const Expr& size) { return usual_size_in(graph, size); }
std::optional<int64_t> usual_size(const Program& program, const Expr& size) { return usual_size_in(program, size); }

}  // namespace onnxc
