#include "ops/tensor/running_count.h"

namespace onnxc {

Operand running_count(DefineContext& c, const Expr& extent, const std::function<Scalar(const Expr& i)>& chosen) {
  Operand counts = c.temporary("counts", DType::int64, {extent});
  NestBuilder nest("running_count");
  Expr i = nest.ordered(extent);
  Scalar is_first = scalar::binary(ScalarOp::equal, scalar::index(i), scalar::index(0));
  Scalar before = scalar::select(is_first, scalar::index(0), counts({i - 1}));
  nest.store(counts, {i}, before + scalar::cast(DType::int64, chosen(i)));
  c.emit(std::move(nest));
  return counts;
}

Scalar total(const Operand& counts) {
  const Expr& extent = counts.shape[0];
  return scalar::select(less(0, extent), counts({max(extent - 1, 0)}), scalar::index(0));
}

Expr place_of(NestBuilder& nest, const Operand& counts, const Expr& i) {
  return nest.let(counts({i}) - scalar::index(1));
}

}  // namespace onnxc
