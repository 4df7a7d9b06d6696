#include "base/value_check.h"

#include <algorithm>

namespace onnxc::runtime {
namespace {

struct DType {
  const char* name;
  int bits;  // 0: no fixed size
};

// Indexed by ONNX's number (TensorProto.DataType).
constexpr DType dtypes[] = {
    {"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 128},       {"bool", 8},
    {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},
};
constexpr int32_t dtype_count = sizeof dtypes / sizeof dtypes[0];

// More elements than an address space has bytes: refused even if another dim is 0, so that sums and small multiples of
// dims cannot overflow.
constexpr int64_t largest_dim = int64_t{1} << 47;

bool known(onnxc_dtype dtype) { return dtype >= 0 && dtype < dtype_count; }

void append_dtype(ErrorText& error, onnxc_dtype dtype) {
  if (known(dtype)) {
    error.append("%s", dtypes[dtype].name);
  } else {
    error.append("the unknown dtype %d", dtype);
  }
}

void append_place(ErrorText& error, const ValuePlace& place) {
  error.append("%s %d ", place.role, place.index);
  error.append_name(place.info.name);
  error.append(": ");
}

}  // namespace

int64_t tensor_bytes(onnxc_dtype dtype, int32_t rank, const int64_t* dims) {
  if (!known(dtype) || dtypes[dtype].bits == 0) return -1;
  for (int32_t axis = 0; axis < rank; ++axis)
    if (dims[axis] == 0) return 0;
  int64_t bits = dtypes[dtype].bits;
  int64_t elements = 1;
  for (int32_t axis = 0; axis < rank; ++axis)
    if (dims[axis] < 0 || __builtin_mul_overflow(elements, dims[axis], &elements)) return -1;
  if (bits < 8) return elements / (8 / bits) + (elements % (8 / bits) != 0 ? 1 : 0);
  int64_t bytes;
  return __builtin_mul_overflow(elements, bits / 8, &bytes) ? -1 : bytes;
}

onnxc_status check_count(const char* role, const onnxc_value* values, int32_t count, int32_t expected,
                         ErrorText& error) {
  if (count != expected) {
    error.append("the model has %d %s, and %d were given", expected, role, count);
    return ONNXC_WRONG_COUNT;
  }
  if (values == nullptr && expected > 0) {
    error.append("%s is null", role);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status check_type(const ValuePlace& place, const onnxc_value& value, bool on_gpu, ErrorText& error) {
  if (value.kind != place.info.kind) {
    append_place(error, place);
    error.append("expected a tensor (kind %d), found kind %d", place.info.kind, value.kind);
    return ONNXC_WRONG_KIND;
  }
  if (value.dtype != place.info.dtype) {
    append_place(error, place);
    error.append("expected the dtype ");
    append_dtype(error, place.info.dtype);
    error.append(", found ");
    append_dtype(error, value.dtype);
    return ONNXC_WRONG_DTYPE;
  }
  if (value.device != ONNXC_CPU && !(on_gpu && value.device == ONNXC_HIP)) {
    append_place(error, place);
    error.append("its data is on %s, and the model is to run on %s",
                 value.device == ONNXC_HIP ? "a GPU" : "a device that is not known", on_gpu ? "a GPU" : "the CPU");
    return ONNXC_UNSUPPORTED_DEVICE;
  }
  if (value.extension != nullptr) {
    append_place(error, place);
    error.append("extension is not null: zero the onnxc_value before setting its fields");
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status check_dims(const ValuePlace& place, int32_t rank, const int64_t* dims, ErrorText& error) {
  if (rank != place.info.rank) {
    append_place(error, place);
    error.append("expected rank %d (", place.info.rank);
    for (int32_t axis = 0; axis < place.info.rank; ++axis) {
      if (axis > 0) error.append(", ");
      error.append_model_text(place.info.dims[axis]);
    }
    error.append("), found rank %d", rank);
    return ONNXC_WRONG_RANK;
  }
  if (rank > 0 && dims == nullptr) {
    append_place(error, place);
    error.append("dims is null");
    return ONNXC_INVALID_ARGUMENT;
  }
  for (int32_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] >= 0 && dims[axis] <= largest_dim) continue;
    append_place(error, place);
    error.append("dim %d is %lld; dims range from 0 to 2^47", axis, static_cast<long long>(dims[axis]));
    return ONNXC_WRONG_DIMS;
  }
  return ONNXC_OK;
}

onnxc_status check_equal_dims(const ValuePlace& place, const int64_t* stated, const int64_t* dims, ErrorText& error) {
  if (std::equal(stated, stated + place.info.rank, dims)) return ONNXC_OK;
  append_place(error, place);
  error.append("dims is ");
  error.append_dims(stated, place.info.rank);
  error.append(", and with these inputs the model gives ");
  error.append_dims(dims, place.info.rank);
  return ONNXC_WRONG_DIMS;
}

onnxc_status check_memory(const ValuePlace& place, const onnxc_value& value, const int64_t* dims, ErrorText& error) {
  int64_t needed = tensor_bytes(place.info.dtype, place.info.rank, dims);
  if (needed < 0) {
    append_place(error, place);
    error.append("the size of dims ");
    error.append_dims(dims, place.info.rank);
    error.append(" does not fit in 63 bits");
    return ONNXC_WRONG_DIMS;
  }
  if (needed == 0) return ONNXC_OK;
  if (value.data == nullptr) {
    append_place(error, place);
    error.append("data is null");
    return ONNXC_INVALID_ARGUMENT;
  }
  if (value.bytes < needed) {
    append_place(error, place);
    error.append("dims ");
    error.append_dims(dims, place.info.rank);
    error.append(" need %lld bytes, and data has %lld", static_cast<long long>(needed),
                 static_cast<long long>(value.bytes));
    return ONNXC_SHORT_BUFFER;
  }
  const auto alignment = static_cast<uintptr_t>(std::clamp(dtypes[place.info.dtype].bits / 8, 1, 8));
  if (const uintptr_t past = reinterpret_cast<uintptr_t>(value.data) % alignment; past != 0) {
    append_place(error, place);
    error.append("data lies %d byte%s past a multiple of %d, and a %s needs one: copy the tensor to aligned memory",
                 static_cast<int>(past), past == 1 ? "" : "s", static_cast<int>(alignment),
                 dtypes[place.info.dtype].name);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

}  // namespace onnxc::runtime
