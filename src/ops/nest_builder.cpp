#include "ops/nest_builder.h"

#include "support/diagnostics.h"

namespace onnxc {

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
      // Kept even if it is 0 anyway: an operand of the result's own shape is then loaded at the indices of the result.
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

NestBuilder copy_nest(std::string name, const Operand& to, const Operand& from) {
  NestBuilder nest(std::move(name));
  std::vector<Expr> indices = nest.parallel(to.shape);
  nest.store(to, indices, from(indices));
  return nest;
}

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
