#include "ir/interpreter/symbolic_evaluation.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/interpreter/memory.h"
#include "ir/loops/operations.h"
#include "ir/loops/scalar_arithmetic.h"
#include "ir/loops/text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using Number = std::optional<SymbolicNumber>;

constexpr int64_t maximum_steps = 1 << 12, maximum_elements = 1 << 12;

std::vector<Number> numbers(const Tensor& tensor) {
  const LoadFunction load = load_function(tensor.dtype());
  const auto size = static_cast<size_t>(element_size(tensor.dtype()));
  std::vector<Number> result;
  for (size_t i = 0; i < static_cast<size_t>(tensor.size()); ++i)
    result.push_back(symbolic_constant(tensor.dtype(), load(tensor.bytes().data() + i * size)));
  return result;
}

// The elements of the storages that are small and have a constant shape; the others are unknown.
class SymbolicMemory {
 public:
  SymbolicMemory(const Program& program, const std::vector<std::optional<SymbolicElements>>& inputs)
      : program_(program), storages_(program.buffers.size()) {
    internal_check(inputs.size() == program.inputs.size(), "as many inputs as the program has");
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& buffer = program.buffers[i];
      if (buffer.view || buffer.alias || buffer.is_packed) continue;
      std::optional<int64_t> count = buffer.layout.element_count(buffer.shape).constant();
      if (!count || *count > maximum_elements) continue;
      storages_[i].resize(static_cast<size_t>(*count));
      if (buffer.constant && buffer.layout.is_row_major()) storages_[i] = numbers(*buffer.constant);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) continue;
      std::vector<Number>& storage = storages_[static_cast<size_t>(program.inputs[i])];
      if (storage.size() == inputs[i]->size()) storage.assign(inputs[i]->begin(), inputs[i]->end());
    }
  }

  // The element at these indices; null when they or the shape are symbolic, or out of bounds.
  Number* element(BufferId id, const std::vector<Expr>& indices) {
    const Buffer& buffer = program_.buffer(id);
    for (size_t i = 0; i < indices.size(); ++i) {
      std::optional<int64_t> index = indices[i].constant(), extent = buffer.shape[i].constant();
      if (!index || !extent || *index < 0 || *index >= *extent) return nullptr;
    }
    std::optional<int64_t> offset = program_.offset(id, indices).constant();
    std::vector<Number>& storage = storages_[static_cast<size_t>(program_.storage(id))];
    if (!offset || *offset < 0 || static_cast<size_t>(*offset) >= storage.size()) return nullptr;
    return &storage[static_cast<size_t>(*offset)];
  }

  void forget(BufferId id) {
    for (Number& element : storages_[static_cast<size_t>(program_.storage(id))]) element.reset();
  }

  std::optional<SymbolicElements> read(BufferId id) {
    std::optional<std::vector<int64_t>> dims = constant_dims(program_.buffer(id).shape);
    if (!dims || checked_product(*dims) > maximum_elements) return std::nullopt;
    SymbolicElements elements;
    bool complete = true;
    for_each_index(*dims, [&](const int64_t* index) {
      Number* found = element(id, std::vector<Expr>(index, index + dims->size()));
      complete = complete && found != nullptr && found->has_value();
      if (complete) elements.push_back(**found);
    });
    return complete ? std::optional(std::move(elements)) : std::nullopt;
  }

 private:
  const Program& program_;
  std::vector<std::vector<Number>> storages_;  // by buffer id
};

// A condition that holds for all sizes, or for none.
std::optional<bool> truth(const Number& condition) {
  const std::optional<int64_t> known = condition ? condition->numerator.constant() : std::nullopt;
  return known ? std::optional(*known != 0) : std::nullopt;
}

// The value of scalars at one point of a nest.
class PointEvaluator {
 public:
  // `bindings` are the axes and lets whose values are known, `unknown` the other lets.
  PointEvaluator(SymbolicMemory& memory, const std::map<Symbol, Expr>& bindings, const std::set<Symbol>& unknown,
                 const std::vector<Number>& accumulators)
      : memory_(memory), bindings_(bindings), unknown_(unknown), accumulators_(accumulators) {}

  Number evaluate(const Scalar& scalar) {
    if (auto known = done_.find(&*scalar); known != done_.end()) return known->second;
    Number result = evaluate_node(*scalar);
    done_.emplace(&*scalar, result);
    return result;
  }

  // An index that uses an unknown let stays symbolic, and no element is found at it.
  std::vector<Expr> bind(const std::vector<Expr>& indices) const {
    std::vector<Expr> bound;
    for (const Expr& index : indices) bound.push_back(index.substitute(bindings_));
    return bound;
  }

 private:
  Number evaluate_node(const ScalarNode& node) {
    switch (node.op) {
      case ScalarOp::constant:
        return evaluate_constant(node);
      case ScalarOp::index:
        return evaluate_index(node.expr);
      case ScalarOp::load: {
        Number* element = memory_.element(node.buffer, bind(node.indices));
        return element == nullptr ? std::nullopt : *element;
      }
      case ScalarOp::accumulator:
        return accumulators_.at(static_cast<size_t>(node.slot));
      case ScalarOp::select:
        return evaluate_select(node);
      case ScalarOp::reinterpret:
      case ScalarOp::string_function:
        return std::nullopt;
      default:
        return evaluate_operation(node);
    }
  }

  static Number evaluate_constant(const ScalarNode& node) {
    ScalarValue value;
    if (is_floating(node.dtype))
      value.number = node.number;
    else
      value.integer = node.integer;
    return symbolic_constant(node.dtype, value);
  }

  Number evaluate_index(const Expr& expr) const {
    for (const Symbol& symbol : expr.symbols())
      if (unknown_.contains(symbol)) return std::nullopt;
    return SymbolicNumber{expr.substitute(bindings_)};
  }

  Number evaluate_select(const ScalarNode& node) {
    if (const std::optional<bool> holds = truth(evaluate(node.operands[0])))
      return evaluate(node.operands[*holds ? 1 : 2]);
    // Either branch will do when they agree.
    Number if_true = evaluate(node.operands[1]), if_false = evaluate(node.operands[2]);
    return if_true == if_false ? if_true : std::nullopt;
  }

  Number evaluate_operation(const ScalarNode& node) {
    const DType dtype = node.operands[0].dtype();
    Number first = evaluate(node.operands[0]);
    if (!first) return std::nullopt;
    if (node.op == ScalarOp::cast) return symbolic_cast(node.dtype, dtype, *first);
    if (node.operands.size() == 1) return symbolic_unary(node.op, dtype, *first);
    // One operand may decide a logical operation.
    const bool is_and = node.op == ScalarOp::logical_and, is_or = node.op == ScalarOp::logical_or;
    if ((is_and || is_or) && first->numerator.is_constant(is_or ? 1 : 0)) return first;
    Number second = evaluate(node.operands[1]);
    return second ? symbolic_binary(node.op, dtype, *first, *second) : std::nullopt;
  }

  SymbolicMemory& memory_;
  const std::map<Symbol, Expr>& bindings_;
  const std::set<Symbol>& unknown_;
  const std::vector<Number>& accumulators_;
  std::unordered_map<const ScalarNode*, Number> done_;
};

// The value of a reduction over nothing, if it is a number.
Number identity(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::any:
      return SymbolicNumber{0};
    case ReduceKind::product:
    case ReduceKind::all:
      return SymbolicNumber{1};
    default:
      return std::nullopt;
  }
}

class NestEvaluator {
 public:
  NestEvaluator(const LoopNest& nest, SymbolicMemory& memory) : nest_(nest), memory_(memory) {}

  // False when the nest cannot be walked: its extents are symbolic or too large.
  bool run() {
    if (!add_axes(AxisKind::parallel, outer_) || !add_axes(AxisKind::ordered, outer_) ||
        !add_axes(AxisKind::reduce, inner_))
      return false;
    if (steps_ > maximum_steps) return false;
    bool followed = true;
    for_each_index(outer_.dims, [&](const int64_t* index) {
      bind(outer_, index);
      followed = followed && reduce() && store();
    });
    return followed;
  }

 private:
  struct Axes {
    std::vector<Symbol> symbols;
    std::vector<int64_t> dims;
  };

  bool add_axes(AxisKind kind, Axes& axes) {
    for (const Axis& axis : nest_.axes) {
      if (axis.kind != kind) continue;
      std::optional<int64_t> extent = axis.extent.constant();
      if (!extent || *extent > maximum_steps) return false;
      axes.symbols.push_back(axis.symbol);
      axes.dims.push_back(*extent);
      steps_ = std::min(steps_ * std::max<int64_t>(*extent, 1), maximum_steps + 1);
    }
    return true;
  }

  // Binds the axes to numbers, and the lets that are known with them; a use of the others is not followed.
  void bind(const Axes& axes, const int64_t* index) {
    for (size_t i = 0; i < axes.symbols.size(); ++i) bindings_.insert_or_assign(axes.symbols[i], Expr(index[i]));
    for (const Let& let : nest_.lets) {
      bindings_.erase(let.symbol);
      unknown_.insert(let.symbol);
    }
    for (const Let& let : nest_.lets) {
      Number value = point().evaluate(let.value);
      if (!value || !value->integer()) continue;
      bindings_.emplace(let.symbol, *value->integer());
      unknown_.erase(let.symbol);
    }
  }

  PointEvaluator point() { return PointEvaluator(memory_, bindings_, unknown_, accumulators_); }

  bool reduce() {
    accumulators_.assign(nest_.accumulators.size(), std::nullopt);
    for (size_t i = 0; i < accumulators_.size(); ++i) {
      if (!folding_op(nest_.accumulators[i].kind)) return false;
      accumulators_[i] = identity(nest_.accumulators[i].kind);
    }
    bool first = true;
    if (!accumulators_.empty())
      for_each_index(inner_.dims, [&](const int64_t* index) {
        bind(inner_, index);
        for (size_t i = 0; i < accumulators_.size(); ++i) fold(i, first);
        first = false;
      });
    return true;
  }

  void fold(size_t i, bool first) {
    const Accumulator& accumulator = nest_.accumulators[i];
    Number element = point().evaluate(accumulator.element);
    if (first)
      accumulators_[i] = element;
    else if (!accumulators_[i] || !element)
      accumulators_[i] = std::nullopt;
    else
      accumulators_[i] = symbolic_binary(*folding_op(accumulator.kind), accumulator.dtype, *accumulators_[i], *element);
  }

  // False when it is not known which elements a store changes.
  bool store() {
    for (const Store& store : nest_.stores) {
      PointEvaluator here = point();
      if (store.condition) {
        const std::optional<bool> holds = truth(here.evaluate(store.condition));
        if (!holds) return false;
        if (!*holds) continue;
      }
      Number* element = memory_.element(store.buffer, here.bind(store.indices));
      if (element == nullptr) return false;
      Number value = here.evaluate(store.value);
      *element = rounded(store, store.kind == StoreKind::assign ? value : combine(store, *element, value));
    }
    return true;
  }

  // The value rounded to the element's type, if arithmetic on that type is done in a wider one.
  static Number rounded(const Store& store, const Number& value) {
    const DType dtype = store.value.dtype();
    return value && is_computed_wider(dtype) ? symbolic_cast(dtype, dtype, *value) : value;
  }

  static Number combine(const Store& store, const Number& before, const Number& value) {
    if (!before || !value) return std::nullopt;
    ScalarOp op = store.kind == StoreKind::add        ? ScalarOp::add
                  : store.kind == StoreKind::multiply ? ScalarOp::multiply
                  : store.kind == StoreKind::minimum  ? ScalarOp::minimum
                                                      : ScalarOp::maximum;
    return symbolic_binary(op, store.value.dtype(), *before, *value);
  }

  const LoopNest& nest_;
  SymbolicMemory& memory_;
  Axes outer_, inner_;
  int64_t steps_ = 1;
  std::map<Symbol, Expr> bindings_;
  std::set<Symbol> unknown_;
  std::vector<Number> accumulators_;
};

}  // namespace

std::optional<SymbolicElements> symbolic_elements(const Tensor& tensor) {
  SymbolicElements elements;
  for (const Number& number : numbers(tensor)) {
    if (!number) return std::nullopt;
    elements.push_back(*number);
  }
  return elements;
}

std::vector<std::optional<SymbolicElements>> evaluate_symbolically(
    const Program& program, const std::vector<std::optional<SymbolicElements>>& inputs) {
  SymbolicMemory memory(program, inputs);
  for (const Step& step : program.steps) {
    const auto* nest = std::get_if<LoopNest>(&step.work);
    if (nest != nullptr && NestEvaluator(*nest, memory).run()) continue;
    for (BufferId id : writes(step)) memory.forget(id);
  }
  std::vector<std::optional<SymbolicElements>> outputs;
  for (BufferId id : program.outputs) outputs.push_back(memory.read(id));
  return outputs;
}

}  // namespace onnxc
