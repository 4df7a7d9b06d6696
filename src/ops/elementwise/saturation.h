// Conversions to a type of few values: numbers beyond its greatest number become that number.
#pragma once

#include <optional>

#include "ops/nest_builder.h"

namespace onnxc {

// The greatest finite number of a float8 or float4; nothing for other types and for float8e8m0.
std::optional<double> greatest_finite(DType dtype);
// x within [-most, most], infinities too; NaN stays. In the type that arithmetic on x is done in.
Scalar saturated(const Scalar& x, double most);
// A whole number of floating type as an integer of at most 16 bits, as its least or greatest if it is beyond.
Scalar saturated_integer(const Scalar& whole, DType to);

}  // namespace onnxc
