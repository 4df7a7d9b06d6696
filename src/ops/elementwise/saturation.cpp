#include "ops/elementwise/saturation.h"

#include <cmath>

#include "ops/elementwise/elementwise.h"

namespace onnxc {

std::optional<double> greatest_finite(DType dtype) {
  switch (dtype) {
    case DType::float8e4m3fn:
      return 448;
    case DType::float8e4m3fnuz:
      return 240;
    case DType::float8e5m2:
    case DType::float8e5m2fnuz:
      return 57344;
    case DType::float4e2m1:
      return 6;
    default:
      return std::nullopt;
  }
}

Scalar saturated(const Scalar& x, double most) {
  const Scalar wide = scalar::cast(is_floating(x.dtype()) ? info(x.dtype()).compute : DType::float32, x);
  return minimum(maximum(wide, number(wide, -most)), number(wide, most));
}

Scalar saturated_integer(const Scalar& whole, DType to) {
  // The loop IR's cast saturates from floating types to integers of a byte or more, and keeps the low bits below.
  if (!is_sub_byte(to)) return scalar::cast(to, whole);
  const bool is_signed = info(to).kind == DTypeKind::signed_integer;
  const double values = std::exp2(info(to).bits);
  const double least = is_signed ? -values / 2 : 0;
  return scalar::cast(to, minimum(maximum(whole, number(whole, least)), number(whole, least + values - 1)));
}

}  // namespace onnxc
