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
int64_t usual_value(const Model& model, const Symbol& symbol) {
  const Bounds& bounds = symbol.info().bounds;
  return std::clamp(from_inputs(model, symbol).value_or(usual_dim), bounds.minimum, bounds.maximum);
}

// `symbols`: those that are known already, and then those of the size as well.
template <class Model>
std::optional<int64_t> usual_size_in(const Model& model, const Expr& size, std::map<Symbol, int64_t>& symbols) {
  if (const std::optional<int64_t> known = size.constant()) return known;
  try {
    for (const Symbol& symbol : size.symbols())
      if (!symbols.contains(symbol)) symbols.emplace(symbol, usual_value(model, symbol));
    return size.evaluate(symbols);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

template <class Model>
std::optional<int64_t> usual_size_in(const Model& model, const Expr& size) {
  std::map<Symbol, int64_t> symbols;
  return usual_size_in(model, size, symbols);
}

}  // namespace

std::optional<int64_t> usual_size(const Graph& graph, const Expr& size) { return usual_size_in(graph, size); }
std::optional<int64_t> usual_size(const Program& program, const Expr& size) { return usual_size_in(program, size); }

double UsualSizes::of(const Expr& size) {
  return static_cast<double>(usual_size_in(graph_, size, symbols_).value_or(0));
}

}  // namespace onnxc
