// Checks a caller's values before any of their memory is read or written. Each check returns a status and, when it
// refuses, appends the reason: the name of the input or output, what was expected and what was found.
#pragma once

#include "base/error_text.h"
#include "onnxc.h"

namespace onnxc::runtime {

// Bytes of a dense tensor; -1 when they do not fit in 63 bits or the dtype has no fixed size.
int64_t tensor_bytes(onnxc_dtype dtype, int32_t rank, const int64_t* dims);

// The value's name in texts: "input 0 'x'".
struct ValuePlace {
  const char* role;  // "input" or "output"
  int32_t index;
  const onnxc_value_info& info;
};

// Checks that there are as many values as the model has.
onnxc_status check_count(const char* role, const onnxc_value* values, int32_t count, int32_t expected,
                         ErrorText& error);
// Kind, dtype and device: host memory always, and device memory too if the instance runs on a GPU.
onnxc_status check_type(const ValuePlace& place, const onnxc_value& value, bool on_gpu, ErrorText& error);
// Rank, null dims, negative or absurd dims.
onnxc_status check_dims(const ValuePlace& place, int32_t rank, const int64_t* dims, ErrorText& error);
// Dims that a caller states for an output, against those it has.
onnxc_status check_equal_dims(const ValuePlace& place, const int64_t* stated, const int64_t* dims, ErrorText& error);
// Null data, too few bytes, misaligned data; `dims` are those the tensor has.
onnxc_status check_memory(const ValuePlace& place, const onnxc_value& value, const int64_t* dims, ErrorText& error);

}  // namespace onnxc::runtime
