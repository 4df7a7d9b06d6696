// From a dtype to the C++ type that holds an element of it.
#pragma once

#include <Eigen/Core>

#include "ir/dtype.h"
#include "kernels/shared/small_types.h"
#include "support/diagnostics.h"

namespace onnxc {

// Calls `visitor` with the C++ type of a dtype as its template argument.
template <class Visitor>
auto with_type(DType dtype, Visitor visitor) {
  switch (dtype) {
    case DType::float32:
      return visitor.template operator()<float>();
    case DType::float64:
      return visitor.template operator()<double>();
    case DType::float16:
      return visitor.template operator()<Eigen::half>();
    case DType::bfloat16:
      return visitor.template operator()<Eigen::bfloat16>();
    case DType::int8:
      return visitor.template operator()<int8_t>();
    case DType::int16:
      return visitor.template operator()<int16_t>();
    case DType::int32:
      return visitor.template operator()<int32_t>();
    case DType::int64:
      return visitor.template operator()<int64_t>();
    case DType::uint8:
      return visitor.template operator()<uint8_t>();
    case DType::uint16:
      return visitor.template operator()<uint16_t>();
    case DType::uint32:
      return visitor.template operator()<uint32_t>();
    case DType::uint64:
      return visitor.template operator()<uint64_t>();
    case DType::boolean:
      return visitor.template operator()<bool>();
    case DType::string:
      return visitor.template operator()<int64_t>();  // the handle
    case DType::float8e4m3fn:
      return visitor.template operator()<kernels::float8e4m3fn_t>();
    case DType::float8e4m3fnuz:
      return visitor.template operator()<kernels::float8e4m3fnuz_t>();
    case DType::float8e5m2:
      return visitor.template operator()<kernels::float8e5m2_t>();
    case DType::float8e5m2fnuz:
      return visitor.template operator()<kernels::float8e5m2fnuz_t>();
    case DType::float8e8m0:
      return visitor.template operator()<kernels::float8e8m0_t>();
    case DType::float4e2m1:
      return visitor.template operator()<kernels::float4e2m1_t>();
    case DType::int4:
      return visitor.template operator()<kernels::int4_t>();
    case DType::uint4:
      return visitor.template operator()<kernels::uint4_t>();
    case DType::int2:
      return visitor.template operator()<kernels::int2_t>();
    case DType::uint2:
      return visitor.template operator()<kernels::uint2_t>();
    default:
      internal_error("a dtype that has numbers");
  }
}

}  // namespace onnxc
