// An error text of bounded size, built in place: writing it needs no memory.
#pragma once

#include "onnxc.h"

namespace onnxc::runtime {

class ErrorText {
 public:
  void clear();
  // Appends as printf does; what does not fit is cut at a whole UTF-8 character.
  void append(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // Appends text of the model: control bytes become '?', and long texts are cut. A name is in quotes.
  void append_model_text(const char* text);
  void append_name(const char* name);
  // "1x3x224x224", or "scalar" for rank 0.
  void append_dims(const int64_t* dims, int32_t rank);
  const char* text() const { return text_; }
  // Copies the text, cut to `size` bytes with its terminating zero.
  void copy_to(char* buffer, size_t size) const;

 private:
  char text_[ONNXC_ERROR_SIZE] = "";
  size_t length_ = 0;
};

}  // namespace onnxc::runtime
