// Tensors of strings at the interface: the texts that a caller has, and the handles that steps work on.
#pragma once

#include "base/error_text.h"
#include "base/value_check.h"
#include "strings/interned_strings.h"

namespace onnxc::runtime {

// The handles of a caller's strings. ONNXC_INVALID_DATA, naming the element, for one of negative size or of null text.
onnxc_status take_strings(const ValuePlace& place, const onnxc_string* texts, int64_t count, InternedStrings& strings,
                          int64_t* handles, ErrorText& error);

// The memory of an output has room for `count` texts, and begins with as many handles: puts the texts in their place.
// ONNXC_INTERNAL_ERROR if one is not a handle.
onnxc_status give_strings(const ValuePlace& place, void* memory, int64_t count, const InternedStrings& strings,
                          ErrorText& error);

}  // namespace onnxc::runtime
