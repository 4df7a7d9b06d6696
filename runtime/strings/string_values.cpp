#include "strings/string_values.h"

#include <string.h>

namespace onnxc::runtime {
namespace {

void append_place(ErrorText& error, const ValuePlace& place) {
  error.append("%s %d ", place.role, place.index);
  error.append_name(place.info.name);
  error.append(": ");
}

}  // namespace

onnxc_status take_strings(const ValuePlace& place, const onnxc_string* texts, int64_t count, InternedStrings& strings,
                          int64_t* handles, ErrorText& error) {
  for (int64_t i = 0; i < count; ++i) {
    const onnxc_string& given = texts[i];
    if (given.size < 0 || (given.text == nullptr && given.size > 0)) {
      append_place(error, place);
      error.append("the string at %lld has %lld bytes%s", static_cast<long long>(i), static_cast<long long>(given.size),
                   given.text == nullptr ? ", and its text is null" : "");
      return ONNXC_INVALID_DATA;
    }
    handles[i] = strings.intern({given.text, given.size});
    if (handles[i] >= 0) continue;
    append_place(error, place);
    error.append("no memory for its %lld strings", static_cast<long long>(count));
    return ONNXC_OUT_OF_MEMORY;
  }
  return ONNXC_OK;
}

// A text takes the place of two handles: from the last on, none is overwritten before it is read.
onnxc_status give_strings(const ValuePlace& place, void* memory, int64_t count, const InternedStrings& strings,
                          ErrorText& error) {
  static_assert(sizeof(onnxc_string) == 2 * sizeof(int64_t));
  char* const bytes = static_cast<char*>(memory);
  onnxc_status status = ONNXC_OK;
  for (int64_t i = count; i-- > 0;) {
    int64_t handle;
    memcpy(&handle, bytes + i * static_cast<int64_t>(sizeof handle), sizeof handle);
    const Text text = strings.text(handle);
    if (text.size < 0 && status == ONNXC_OK) {
      append_place(error, place);
      error.append("no step has written the string at %lld", static_cast<long long>(i));
      status = ONNXC_INTERNAL_ERROR;
    }
    const onnxc_string given = {text.size > 0 ? text.data : "", text.size > 0 ? text.size : 0};
    memcpy(bytes + i * static_cast<int64_t>(sizeof given), &given, sizeof given);
  }
  return status;
}

}  // namespace onnxc::runtime
