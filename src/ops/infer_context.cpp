#include "ops/infer_context.h"

#include <algorithm>
#include <set>

#include "ir/expr/indicator.h"
#include "support/checked.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {

void InferContext::output(size_t i, DType dtype, Shape shape) {
  if (!has_output(i)) return;
  Value* value = mutable_node_.outputs[i];
  value->dtype = dtype;
  value->shape = std::move(shape);
}

void InferContext::output_elements(size_t i, std::vector<Expr> elements) {
  if (!has_output(i) || static_cast<int64_t>(elements.size()) > Value::maximum_elements) return;
  mutable_node_.outputs[i]->elements = std::move(elements);
}

std::optional<Expr> InferContext::whole_number(size_t i) const {
  if (const std::optional<std::vector<Expr>> known = elements(i))
    return known->size() == 1 ? std::optional(known->front()) : std::nullopt;
  if (const Tensor* value = constant(i)) {
    const std::optional<SymbolicElements> numbers =
        value->size() == 1 ? symbolic_elements(*value) : std::optional<SymbolicElements>();
    return numbers ? numbers->front().integer() : std::nullopt;
  }
  const auto found = reals_.find(node_.inputs[i]);
  return found != reals_.end() && found->second.size() == 1 ? found->second.front().integer() : std::nullopt;
}

Expr InferContext::run_time_dim(size_t output, size_t axis, Bounds bounds) {
  internal_check(has_output(output), "a dim of an output that somebody wants");
  return run_time_symbol(fmt::format("{}_dim{}", node_.outputs[output]->name, axis), bounds,
                         fmt::format("dim {} of the output", axis));
}

Expr InferContext::run_time_symbol(std::string_view name, Bounds bounds, std::string_view what) {
  const Symbol symbol = graph_.add_run_time_symbol(name, bounds, fmt::format("{}: {}", node_.describe(), what));
  mutable_node_.bound_symbols.insert(symbol);
  return symbol;
}

// The stream of a name, which no pass and no other node of the model changes: FNV-1a.
void InferContext::draws_random_numbers() {
  if (mutable_node_.random_stream) return;
  uint64_t hash = 0xcbf29ce484222325;
  const auto first = std::ranges::find_if(node_.outputs, [](const Value* output) { return output != nullptr; });
  internal_check(first != node_.outputs.end(), "a node with an output");
  for (const char letter : (*first)->name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  mutable_node_.random_stream = hash;
}

namespace {

// Symbols for the elements of a value, bound when it is computed.
std::vector<Expr> symbols_for_elements(Graph& graph, Value& value, int64_t count, Bounds bounds) {
  std::vector<Expr> symbols;
  for (int64_t element = 0; element < count; ++element)
    symbols.emplace_back(
        graph.add_run_time_symbol(value.shape->empty() ? value.name : fmt::format("{}_{}", value.name, element), bounds,
                                  fmt::format("element {} of '{}'", element, value.name)));
  value.elements = symbols;
  value.elements_at_run_time = count > 0;  // of none all are known
  return symbols;
}

}  // namespace

void InferContext::check_condition(const Value& value) {
  user_check(value.dtype == DType::boolean, "the condition {} must be of type bool, found {}", quote(value.name),
             info(value.dtype).name);
  user_check(value.shape && proven_equal(product(*value.shape), 1),
             "the condition {} must have one element, found shape {}", quote(value.name),
             value.shape ? short_text(*value.shape) : "?");
}

Expr InferContext::truth(Graph& graph, Value& value) {
  check_condition(value);
  if (value.constant) return value.constant->as_int64().at(0) != 0 ? 1 : 0;
  if (value.elements) {
    const Expr known = value.elements->at(0);
    if (known.constant()) return known.is_constant(0) ? 0 : 1;
    return known;
  }
  return symbols_for_elements(graph, value, 1, {0, 1})[0];
}

std::vector<Expr> InferContext::needed_elements(size_t i, std::string_view role) const {
  if (std::optional<std::vector<Expr>> known = elements(i)) return *known;
  Value& value = *node_.inputs[i];
  const bool is_whole = is_integer(value.dtype) || value.dtype == DType::boolean;
  check(is_whole, "input {} ('{}', {}) must be of integers, found {}", i, value.name, role, info(value.dtype).name);
  const std::optional<std::vector<int64_t>> dims = constant_dims(shape(i));
  check(dims.has_value(),
        "input {} ('{}', {}) has shape {}: how many values it has must be known when the model is compiled", i,
        value.name, role, short_text(shape(i)));
  const int64_t count = checked_product(*dims);
  check(count <= Value::maximum_elements, "input {} ('{}', {}) has {} that depend on the data; at most {} can", i,
        value.name, role, counted(count, "value"), Value::maximum_elements);
  return symbols_for_elements(graph_, value, count, Bounds{});
}

Expr InferContext::same(const Expr& a, const Expr& b, std::string_view what) {
  if (proven_equal(a, b)) return a.symbols().size() <= b.symbols().size() ? a : b;
  check(!proven_different(a, b), "{}: {} and {} differ", what, short_text(a), short_text(b));
  graph_.guards.push_back({Guard::Kind::equal, a, b, fmt::format("{}: {}", node_.describe(), what)});
  // The one that says more: a constant, else the one over fewer symbols.
  if (b.constant() || (!a.constant() && b.symbols().size() < a.symbols().size())) return b;
  return a;
}

void InferContext::at_least(const Expr& a, const Expr& b, std::string_view what) {
  if (proven_at_least(a, b)) return;
  check(!proven_less(a, b), "{}: {} is less than {}", what, short_text(a), short_text(b));
  graph_.guards.push_back({Guard::Kind::at_least, a, b, fmt::format("{}: {}", node_.describe(), what)});
}

Expr broadcast_extent(const std::vector<Expr>& dims) {
  // If one is 0 the result is 0; elsewhere the indicators of those that were broadcast before are 1.
  Expr least = 1, largest = without_indicators(dims.front());
  for (const Expr& dim : dims) {
    least = min(least, dim);
    largest = max(largest, without_indicators(dim));
  }
  return least == min(largest, 1) ? largest : least * largest;
}

namespace {

// 0 if two dims may be broadcast: one is 1, or they are equal.
Expr broadcast_rule(const Expr& a, const Expr& b) { return (a - 1) * (b - 1) * (a - b); }

bool is_guarded(const std::vector<Guard>& guards, const Expr& a, const Expr& b) {
  const Expr rule = broadcast_rule(a, b), opposite = -rule;
  return std::ranges::any_of(guards, [&](const Guard& guard) {
    return guard.kind == Guard::Kind::equal && guard.condition.is_constant(1) && guard.right.is_constant(0) &&
           (guard.left == rule || guard.left == opposite);
  });
}

// The dims whose broadcasting has this one as its result, as the guards say; else itself.
std::vector<Expr> broadcast_parts(const std::vector<Guard>& guards, const Expr& dim) {
  if (dim.terms().size() != 1) return {dim};
  for (const Atom& factor : dim.terms()[0].factors) {
    if (factor->kind != AtomKind::max) continue;
    const std::vector<Expr>& dims = factor->operands;
    if (!(broadcast_extent(dims) == dim)) continue;
    bool all_guarded = true;
    for (size_t i = 0; i < dims.size(); ++i)
      for (size_t k = 0; k < i; ++k) all_guarded = all_guarded && is_guarded(guards, dims[i], dims[k]);
    if (all_guarded) return dims;
  }
  return {dim};
}

}  // namespace

void InferContext::one_number(size_t i, std::string_view role) {
  check(!proven_different(product(shape(i)), 1), "one number is expected as {} (input {}), found shape {}", role, i,
        short_text(shape(i)));
  same(product(shape(i)), 1, fmt::format("one number is expected as {} (input {})", role, i));
}

void InferContext::not_empty(const Expr& extent, const Expr& reads, std::string_view what) {
  if (proven_at_least(extent, 1) || proven_equal(reads, 0)) return;
  at_least(extent, proven_at_least(reads, 1) ? Expr(1) : min(reads, 1), what);
}

void InferContext::one_or_same(const Expr& dim, const Expr& other, const std::string& what) {
  if (dim.is_constant(1)) return;
  if (proven_different(dim, Expr(1)) || proven_equal(dim, other)) {
    same(dim, other, what);
    return;
  }
  // (dim - 1) * (dim - other) == 0
  graph_.guards.push_back(
      {Guard::Kind::equal, (dim - 1) * (dim - other), 0, fmt::format("{}: {}", node_.describe(), what)});
}

Expr InferContext::broadcast(const Expr& a, const Expr& b) {
  if (a.is_constant(1) || proven_equal(a, b)) return b;
  if (b.is_constant(1)) return a;
  const std::string what = "dims that are broadcast must be equal or 1";
  // A dim known to be more than 1 (or 0) is the result; the other must then be equal or 1.
  if (proven_different(a, Expr(1))) {
    one_or_same(b, a, what);
    return a;
  }
  if (proven_different(b, Expr(1))) {
    one_or_same(a, b, what);
    return b;
  }
  // Both may be 1. A dim that is such a result itself is taken apart, so that one dim met again and again does not make
  // the expression grow.
  std::vector<Expr> dims = broadcast_parts(graph_.guards, a);
  const size_t of_first = dims.size();
  for (const Expr& dim : broadcast_parts(graph_.guards, b)) {
    if (std::ranges::find(dims, dim) != dims.end()) continue;
    for (size_t i = 0; i < of_first; ++i)
      if (!is_guarded(graph_.guards, dims[i], dim))
        graph_.guards.push_back(
            {Guard::Kind::equal, broadcast_rule(dims[i], dim), 0, fmt::format("{}: {}", node_.describe(), what)});
    dims.push_back(dim);
  }
  return broadcast_extent(dims);
}

Shape InferContext::broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) result[offset + i] = broadcast(longer[offset + i], shorter[i]);
  return result;
}

bool may_be_negative(const Expr& size) {
  const std::set<Symbol> symbols = size.symbols();
  return std::ranges::any_of(symbols, [](const Symbol& symbol) { return symbol.info().bounds.minimum < 0; });
}

}  // namespace onnxc
