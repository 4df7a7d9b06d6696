// Element types. One row for each type; all code that depends on a type reads its row.
//
// An element of a tensor of strings is the handle of its string: equal strings have equal handles, so that copies and
// comparisons are those of integers. In a model the handles are those of its StringTable (ir/string_table.h), in a run
// of the runtime's (strings/interned_strings.h), which begins with the same. A caller has texts instead.
//
// A type has two sizes. In a buffer every element has bytes of its own (`element_size`). In a file, and in the memory
// of a caller, elements of less than a byte are packed (`packed_size`). Arithmetic is done in a third type, `compute`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace onnxc {

// The values are ONNX's own (TensorProto.DataType), so that no table translates them.
enum class DType : uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

enum class DTypeKind : uint8_t { none, floating, signed_integer, unsigned_integer, boolean, string };

struct DTypeInfo {
  DType dtype;
  DTypeKind kind;
  int bits;                 // of an element; 0 if it has no fixed size
  std::string_view name;    // in our IR and in errors: "float32"
  std::string_view c_type;  // of an element in memory, in generated code
  DType compute;            // the type that arithmetic on it is done in: itself if it has at least 32 bits
};

// Undefined for types that onnxc does not compile (their row is nullptr).
const DTypeInfo* find_dtype(int onnx_code);
const DTypeInfo& info(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

// Bytes of an element in a buffer.
inline int64_t element_size(DType dtype) { return (info(dtype).bits + 7) / 8; }
// Bytes of so many elements in a file or in a caller's memory.
int64_t packed_size(DType dtype, int64_t elements);
// Whether a file and a caller pack several elements into a byte, the first into its lowest bits.
inline bool is_sub_byte(DType dtype) { return info(dtype).bits > 0 && info(dtype).bits < 8; }

inline bool is_floating(DType dtype) { return info(dtype).kind == DTypeKind::floating; }
inline bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeKind::signed_integer || info(dtype).kind == DTypeKind::unsigned_integer;
}
// float16 and bfloat16. Operators that take float32 take them, and each operator rounds its result but for scores
// (widen_scores.h).
inline bool is_half(DType dtype) { return is_floating(dtype) && info(dtype).bits == 16; }
// Whether the values of an expression have another type than elements in memory: float for the half types and the
// smaller ones, int8 or uint8 for int4.
inline bool is_computed_wider(DType dtype) { return info(dtype).compute != dtype; }

}  // namespace onnxc
