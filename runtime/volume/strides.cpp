#include "volume/strides.h"

namespace onnxc::runtime {

onnxc_status check_strided_memory(int64_t channels, int32_t rank, const int64_t* dims, const int64_t* strides,
                                  int64_t element_bytes, int64_t bytes, ErrorText& error) {
  int64_t extents[volume_axes + 1];
  const int32_t count = channels > 0 ? rank + 1 : rank;
  for (int32_t i = 0; i < rank; ++i) extents[count - rank + i] = dims[i];
  if (channels > 0) extents[0] = channels;

  bool is_representable = true;
  int64_t last = 0, dense = 1;  // the offset of the last element; the stride of a row-major axis
  for (int32_t i = count; i-- > 0;) {
    const int64_t stride = strides != nullptr ? strides[i] : dense;
    if (stride < 0) {
      error.append("stride %d is %lld, and strides are not negative", i, static_cast<long long>(stride));
      return ONNXC_INVALID_ARGUMENT;
    }
    int64_t step = 0;
    is_representable &= !__builtin_mul_overflow(stride, extents[i] - 1, &step) &&
                        !__builtin_add_overflow(last, step, &last) &&
                        !__builtin_mul_overflow(dense, extents[i], &dense);
  }
  int64_t needed = 0;
  is_representable &= !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, element_bytes, &needed);
  if (is_representable && needed <= bytes) return ONNXC_OK;
  error.append("a buffer of %lld bytes, and the elements of ", static_cast<long long>(bytes));
  error.append_dims(extents, count);
  error.append(" need %lld", static_cast<long long>(is_representable ? needed : INT64_MAX));
  return ONNXC_SHORT_BUFFER;
}

}  // namespace onnxc::runtime
