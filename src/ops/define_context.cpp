#include "ops/define_context.h"

#include <algorithm>

#include "support/diagnostics.h"

namespace onnxc {

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
  static_cast<void>(product(shape) * element_size(dtype));  // an error if it does not fit in 64 bits
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
    emit(copy_nest("copy", contiguous, source));
  }
  Operand result = temporary("reshaped", source.dtype, std::move(shape));
  program_.buffer(result.buffer).alias = Buffer::Alias{contiguous.buffer};
  return result;
}

void DefineContext::emit(NestBuilder nest) { program_.steps.push_back({nest.take(), {node_.origin}}); }
void DefineContext::emit(LoopBegin loop) { program_.steps.push_back({std::move(loop), {node_.origin}}); }
void DefineContext::emit(LoopEnd loop) { program_.steps.push_back({loop, {node_.origin}}); }

Shape DefineContext::run_time_dims() const {
  std::vector<Symbol> symbols(node_.bound_symbols.begin(), node_.bound_symbols.end());
  std::ranges::sort(symbols, {}, [](const Symbol& symbol) { return symbol.info().serial; });
  return {symbols.begin(), symbols.end()};
}

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

}  // namespace onnxc
