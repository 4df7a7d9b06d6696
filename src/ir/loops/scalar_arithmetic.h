// The loop IR's scalar operations on concrete numbers, to the bit as loops.h defines them. Constant folding and the
// interpreter share them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/dtype.h"
#include "ir/loops/loops.h"

namespace onnxc {

// One value of any dtype. `number` is for the floating dtypes (a float32 is held as the double that equals it; a half
// type as the float32 its arithmetic is done in). `integer` is for the others (sign or zero extended; the bit pattern
// of a uint64; 0 or 1 for a boolean).
union ScalarValue {
  double number;
  int64_t integer;
};

using UnaryFunction = ScalarValue (*)(ScalarValue);
using BinaryFunction = ScalarValue (*)(ScalarValue, ScalarValue);
using LoadFunction = ScalarValue (*)(const std::byte*);
using StoreFunction = void (*)(std::byte*, ScalarValue);

// The function that computes a unary or binary operation on operands of this dtype; InternalError if the operation has
// no meaning on it.
UnaryFunction unary_function(ScalarOp op, DType operand);
BinaryFunction binary_function(ScalarOp op, DType operand);
UnaryFunction cast_function(DType to, DType from);
// The types have elements of one size.
UnaryFunction reinterpret_function(DType to, DType from);

// An element in memory, in the form that Tensor has it. Storing rounds to the dtype.
LoadFunction load_function(DType dtype);
StoreFunction store_function(DType dtype);

}  // namespace onnxc
