#include "codegen/call/usual_size.h"

#include <algorithm>

#include "ir/expr/solve.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

constexpr int64_t usual_dim = 64;

// The value that the usual size of an input's dim gives a symbol: 4 where the dim is 16*symbol.
std::optional<int64_t> from_inputs(const Program& program, const Symbol& symbol) {
  for (const BufferId input : program.inputs)
    for (const Expr& dim : program.buffer(input).shape) {
      if (dim.symbols() != std::set<Symbol>{symbol}) continue;
      const DimSolution solution = solve_dims({{program.buffer(input).name, 0, 0, dim}});
      if (solution.bindings.empty()) continue;
      return solution.bindings.front().value.evaluate({{solution.observed, usual_dim}});
    }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> usual_size(const Program& program, const Expr& size) {
  try {
    std::map<Symbol, int64_t> values;
    for (const Symbol& symbol : size.symbols()) {
      const Bounds& bounds = symbol.info().bounds;
      values[symbol] = std::clamp(from_inputs(program, symbol).value_or(usual_dim), bounds.minimum, bounds.maximum);
    }
    return size.evaluate(values);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace onnxc
