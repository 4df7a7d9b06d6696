#include "ops/context.h"

#include <algorithm>
#include <set>

#include "support/checked.h"
#include "support/text.h"

namespace onnxc {

// -------------------------------------------------------------------------------------------------- InferContext

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

namespace {

// Symbols for the elements of a value, bound where it is computed.
std::vector<Expr> symbols_for_elements(Graph& graph, Value& value, int64_t count, Bounds bounds) {
  std::vector<Expr> symbols;
  for (int64_t element = 0; element < count; ++element)
    symbols.emplace_back(
        graph.add_run_time_symbol(value.shape->empty() ? value.name : fmt::format("{}_{}", value.name, element), bounds,
                                  fmt::format("element {} of '{}'", element, value.name)));
  value.elements = symbols;
  value.elements_at_run_time = true;
  return symbols;
}

}  // namespace

void InferContext::check_condition(const Value& value) {
  user_check(value.dtype == DType::boolean, "the condition {} must be of type bool, found {}", quote(value.name),
             info(value.dtype).name);
  user_check(value.shape && proven_equal(product(*value.shape), 1),
             "the condition {} must have one element, found shape {}", quote(value.name),
             value.shape ? to_string(*value.shape) : "?");
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
        value.name, role, to_string(shape(i)));
  const int64_t count = checked_product(*dims);
  check(count <= Value::maximum_elements, "input {} ('{}', {}) has {} values that depend on the data; at most {} can",
        i, value.name, role, count, Value::maximum_elements);
  return symbols_for_elements(graph_, value, count, Bounds{});
}

Expr InferContext::same(const Expr& a, const Expr& b, std::string_view what) {
  if (proven_equal(a, b)) return a.symbols().size() <= b.symbols().size() ? a : b;
  check(!proven_different(a, b), "{}: {} and {} differ", what, a.to_string(), b.to_string());
  graph_.guards.push_back({Guard::Kind::equal, a, b, fmt::format("{}: {}", node_.describe(), what)});
  // The one that says more: a constant, else the one over fewer symbols.
  if (b.constant() || (!a.constant() && b.symbols().size() < a.symbols().size())) return b;
  return a;
}

void InferContext::at_least(const Expr& a, const Expr& b, std::string_view what) {
  if (proven_at_least(a, b)) return;
  check(!proven_less(a, b), "{}: {} is less than {}", what, a.to_string(), b.to_string());
  graph_.guards.push_back({Guard::Kind::at_least, a, b, fmt::format("{}: {}", node_.describe(), what)});
}

Expr broadcast_extent(const std::vector<Expr>& dims) {
  Expr least = 1, largest = dims.front();
  for (const Expr& dim : dims) {
    least = min(least, dim);
    largest = max(largest, dim);
  }
  return least == min(largest, 1) ? largest : least * largest;
}

namespace {

// 0 where two dims may be broadcast: one is 1, or they are equal.
Expr broadcast_rule(const Expr& a, const Expr& b) { return (a - 1) * (b - 1) * (a - b); }

bool is_guarded(const std::vector<Guard>& guards, const Expr& a, const Expr& b) {
  const Expr rule = broadcast_rule(a, b), opposite = -rule;
  return std::ranges::any_of(guards, [&](const Guard& guard) {
    return guard.kind == Guard::Kind::equal && guard.condition.is_constant(1) && guard.right.is_constant(0) &&
           (guard.left == rule || guard.left == opposite);
  });
}

// The dims of which this one is the result of broadcasting, as the guards say; else itself.
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
        to_string(shape(i)));
  same(product(shape(i)), 1, fmt::format("one number is expected as {} (input {})", role, i));
}

void InferContext::not_empty(const Expr& extent, const Expr& reads, std::string_view what) {
  if (proven_at_least(extent, 1) || proven_equal(reads, 0)) return;
  at_least(extent, proven_at_least(reads, 1) ? Expr(1) : min(reads, 1), what);
}

Expr InferContext::broadcast(const Expr& a, const Expr& b) {
  if (a.is_constant(1) || proven_equal(a, b)) return b;
  if (b.is_constant(1)) return a;
  const std::string what = "dims that are broadcast must be equal or 1";
  // A dim known to be more than 1 (or 0) is the result; the other must then be equal or 1.
  auto is_one_or = [&](const Expr& dim, const Expr& result) {
    if (proven_different(dim, Expr(1))) {
      same(dim, result, what);
    } else {
      // (dim - 1) * (dim - result) == 0
      graph_.guards.push_back(
          {Guard::Kind::equal, (dim - 1) * (dim - result), 0, fmt::format("{}: {}", node_.describe(), what)});
    }
  };
  if (proven_different(a, Expr(1))) {
    is_one_or(b, a);
    return a;
  }
  if (proven_different(b, Expr(1))) {
    is_one_or(a, b);
    return b;
  }
  // Both may be 1. What is such a result itself is taken apart, so that one dim met again and again does not make the
  // expression grow.
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

// ------------------------------------------------------------------------------------------------------- Operand

Scalar Operand::operator()(std::vector<Expr> indices) const {
  internal_check(indices.size() == shape.size(), "as many indices as the tensor has axes");
  return scalar::load(dtype, buffer, std::move(indices));
}

Scalar Operand::compute(std::vector<Expr> indices) const {
  return scalar::cast(info(dtype).compute, (*this)(std::move(indices)));
}

std::vector<Expr> Operand::broadcast_indices(const std::vector<Expr>& indices) const {
  internal_check(indices.size() >= shape.size(), "broadcasting to a tensor of at least this rank");
  std::vector<Expr> result;
  size_t offset = indices.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    const Expr& index = indices[offset + i];
    std::optional<Symbol> axis = index.as_symbol();
    if (shape[i].is_constant(1)) {
      // Kept where it is 0 anyway: an operand of the result's own shape is then loaded at the indices of the result.
      const bool is_zero = axis && axis->info().extent && axis->info().extent->is_constant(1);
      result.push_back(is_zero ? index : Expr(0));
      continue;
    }
    bool full = proven_different(shape[i], Expr(1)) ||
                (axis && axis->info().extent && proven_equal(*axis->info().extent, shape[i]));
    // A dim that may be 1 at run time: min(i, dim - 1) is 0 then, and i otherwise.
    result.push_back(full ? index : min(index, shape[i] - 1));
  }
  return result;
}

// --------------------------------------------------------------------------------------------------- NestBuilder

Expr NestBuilder::add_axis(const Expr& extent, AxisKind kind) {
  Symbol symbol = Symbol::axis(fmt::format("i{}", nest_.axes.size()), extent);
  nest_.axes.push_back({symbol, extent, kind});
  return symbol;
}

Expr NestBuilder::parallel(const Expr& extent) { return add_axis(extent, AxisKind::parallel); }
Expr NestBuilder::ordered(const Expr& extent) { return add_axis(extent, AxisKind::ordered); }
Expr NestBuilder::reduce(const Expr& extent) { return add_axis(extent, AxisKind::reduce); }

std::vector<Expr> NestBuilder::parallel(const Shape& shape) {
  std::vector<Expr> axes;
  for (const Expr& extent : shape) axes.push_back(parallel(extent));
  return axes;
}

std::vector<Expr> NestBuilder::reduce(const Shape& shape) {
  std::vector<Expr> axes;
  for (const Expr& extent : shape) axes.push_back(reduce(extent));
  return axes;
}

Expr NestBuilder::let(const Scalar& value) {
  Symbol symbol = Symbol::index(fmt::format("j{}", nest_.lets.size()));
  nest_.lets.push_back({symbol, scalar::cast(DType::int64, value)});
  return symbol;
}

Scalar NestBuilder::accumulate(ReduceKind kind, const Scalar& element, const Expr& position) {
  Accumulator accumulator{kind, element.dtype(), element, position};
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::product:
      accumulator.dtype = info(element.dtype()).compute;
      accumulator.element = scalar::cast(accumulator.dtype, element);
      break;
    case ReduceKind::argument_minimum:
    case ReduceKind::argument_maximum:
    case ReduceKind::last_argument_minimum:
    case ReduceKind::last_argument_maximum:
      accumulator.dtype = DType::int64;
      break;
    default:
      break;
  }
  nest_.accumulators.push_back(accumulator);
  return scalar::accumulator(accumulator.dtype, static_cast<int>(nest_.accumulators.size()) - 1);
}

void NestBuilder::store(const Operand& output, std::vector<Expr> indices, const Scalar& value, StoreKind kind,
                        const Scalar& condition) {
  internal_check(indices.size() == output.rank(), "as many indices as the tensor has axes");
  internal_check(value.dtype() == output.dtype || (is_floating(value.dtype()) && is_floating(output.dtype)),
                 "conversions other than between floating types are written as casts");
  nest_.stores.push_back({output.buffer, std::move(indices), scalar::cast(output.dtype, value), kind, condition});
}

// ------------------------------------------------------------------------------------------------- DefineContext

Operand DefineContext::operand(BufferId id) const {
  const Buffer& buffer = program_.buffer(id);
  return {id, buffer.dtype, buffer.shape};
}

Operand DefineContext::in(size_t i) const { return operand(buffer_of_(input(i))); }

Operand DefineContext::out(size_t i) const {
  internal_check(has_output(i), "an output that somebody wants");
  return operand(buffer_of_(*node_.outputs[i]));
}

Operand DefineContext::temporary(std::string_view role, DType dtype, Shape shape) {
  static_cast<void>(product(shape) * element_size(dtype));  // an error where it does not fit in 64 bits
  Buffer buffer;
  buffer.name = fmt::format("{}/{}", node_.origin.name, role);
  buffer.dtype = dtype;
  buffer.layout = Layout::row_major(shape.size());
  buffer.shape = std::move(shape);
  return operand(program_.add(std::move(buffer)));
}

Operand DefineContext::constant_operand(std::string_view role, Tensor tensor) {
  Buffer buffer;
  buffer.name = fmt::format("{}/{}", node_.origin.name, role);
  buffer.dtype = tensor.dtype();
  buffer.shape = Shape(tensor.dims().begin(), tensor.dims().end());
  buffer.layout = Layout::row_major(tensor.dims().size());
  buffer.kind = BufferKind::constant;
  buffer.constant = std::move(tensor);
  return operand(program_.add(std::move(buffer)));
}

Operand DefineContext::reshaped(const Operand& source, Shape shape) {
  Operand contiguous = source;
  if (!program_.buffer(source.buffer).layout.is_row_major()) {
    contiguous = temporary("row_major", source.dtype, source.shape);
    NestBuilder nest("copy");
    std::vector<Expr> indices = nest.parallel(source.shape);
    nest.store(contiguous, indices, source(indices));
    emit(std::move(nest));
  }
  Operand result = temporary("reshaped", source.dtype, std::move(shape));
  program_.buffer(result.buffer).alias = Buffer::Alias{contiguous.buffer};
  return result;
}

void DefineContext::emit(NestBuilder nest) { program_.steps.push_back({nest.take(), {node_.origin}}); }
void DefineContext::emit(LoopBegin loop) { program_.steps.push_back({std::move(loop), {node_.origin}}); }
void DefineContext::emit(LoopEnd loop) { program_.steps.push_back({loop, {node_.origin}}); }

void DefineContext::bind(const std::vector<Expr>& dims, const std::vector<Scalar>& values) {
  SymbolBinding binding;
  std::vector<Scalar> bound;
  for (size_t i = 0; i < dims.size(); ++i) {
    std::optional<Symbol> symbol = dims[i].as_symbol();
    if (!symbol || !node_.bound_symbols.contains(*symbol)) continue;
    binding.symbols.push_back(*symbol);
    bound.push_back(values.at(i));
  }
  if (bound.empty()) return;
  Operand sizes = temporary("sizes", DType::int64, {Expr(std::ssize(bound))});
  NestBuilder nest("sizes");
  for (size_t i = 0; i < bound.size(); ++i) nest.store(sizes, {Expr(static_cast<int64_t>(i))}, bound[i]);
  emit(std::move(nest));
  binding.buffer = sizes.buffer;
  program_.steps.push_back({std::move(binding), {node_.origin}});
}

void DefineContext::elementwise(const std::function<Scalar(const std::vector<Expr>&)>& value, size_t output_index) {
  Operand output = out(output_index);
  NestBuilder nest(node_.origin.type);
  std::vector<Expr> indices = nest.parallel(output.shape);
  nest.store(output, indices, value(indices));
  emit(std::move(nest));
}

void DefineContext::copy(const std::function<std::vector<Expr>(const std::vector<Expr>&)>& source) {
  const Operand x = in(0);
  elementwise([&](const std::vector<Expr>& i) { return x(source(i)); });
}

bool may_be_negative(const Expr& size) {
  const std::set<Symbol> symbols = size.symbols();
  return std::ranges::any_of(symbols, [](const Symbol& symbol) { return symbol.info().bounds.minimum < 0; });
}

// ------------------------------------------------------------------------------------------------ tests on indices

Scalar less(const Expr& a, const Expr& b) { return scalar::binary(ScalarOp::less, scalar::index(a), scalar::index(b)); }

Scalar within(const Expr& index, const Expr& extent) {
  return both(scalar::binary(ScalarOp::less_or_equal, scalar::index(0), scalar::index(index)), less(index, extent));
}

Scalar both(const Scalar& a, const Scalar& b) {
  if (!a) return b;
  if (!b) return a;
  return scalar::binary(ScalarOp::logical_and, a, b);
}

}  // namespace onnxc
