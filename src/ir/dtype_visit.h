// From a dtype to the C++ type that holds an element of it.
#pragma once

#include <Eigen/Core>

#include "ir/dtype.h"
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
    default:
      internal_error("a dtype that has numbers");
  }
}

}  // namespace onnxc
