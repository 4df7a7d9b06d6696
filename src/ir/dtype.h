// Element types. One row for each type; all code that depends on a type reads its row.
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
};

enum class DTypeKind : uint8_t { none, floating, signed_integer, unsigned_integer, boolean, string };

struct DTypeInfo {
  DType dtype;
  DTypeKind kind;
  int64_t size;             // bytes an element
  std::string_view name;    // as numpy and our IR spell it: "float32"
  std::string_view c_type;  // in generated code, as stored
  DType compute;            // the type that arithmetic on it is done in: float32 for the half types, else itself
};

// Undefined for types that onnxc does not compile (their row is nullptr).
const DTypeInfo* find_dtype(int onnx_code);
const DTypeInfo& info(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

inline bool is_floating(DType dtype) { return info(dtype).kind == DTypeKind::floating; }
inline bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeKind::signed_integer || info(dtype).kind == DTypeKind::unsigned_integer;
}

}  // namespace onnxc
