#include "base/error_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace onnxc::runtime {
namespace {

// The longest part of `text`, at most `limit` bytes, that does not end inside a UTF-8 character.
size_t whole_characters(const char* text, size_t limit) {
  size_t length = 0;
  while (length <= limit && text[length] != 0) ++length;
  if (length <= limit) return length;
  length = limit;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  return length;
}

}  // namespace

void ErrorText::clear() {
  text_[0] = 0;
  length_ = 0;
}

void ErrorText::append(const char* format, ...) {
  char piece[sizeof text_ + 4];
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  if (written < 0) return;
  size_t length = whole_characters(piece, sizeof text_ - 1 - length_);
  memcpy(text_ + length_, piece, length);
  length_ += length;
  text_[length_] = 0;
}

void ErrorText::append_model_text(const char* text) {
  constexpr size_t longest = 120;
  char shown[longest + 1];
  size_t length = whole_characters(text, longest);
  for (size_t i = 0; i < length; ++i) {
    unsigned char byte = static_cast<unsigned char>(text[i]);
    shown[i] = byte < 0x20 || byte == 0x7f ? '?' : text[i];
  }
  shown[length] = 0;
  append("%s%s", shown, text[length] != 0 ? "..." : "");
}

void ErrorText::append_name(const char* name) {
  append("'");
  append_model_text(name);
  append("'");
}

void ErrorText::append_dims(const int64_t* dims, int32_t rank) {
  if (rank == 0) append("scalar");
  for (int32_t axis = 0; axis < rank; ++axis) append("%s%lld", axis > 0 ? "x" : "", static_cast<long long>(dims[axis]));
}

void ErrorText::copy_to(char* buffer, size_t size) const {
  if (buffer == nullptr || size == 0) return;
  size_t length = whole_characters(text_, size - 1);
  memcpy(buffer, text_, length);
  buffer[length] = 0;
}

}  // namespace onnxc::runtime
