// PTX as several modules, which a driver can compile beside each other.
//
//   .version 7.1 ...           .version 7.1 ...      .version 7.1 ...
//   .visible .entry nest0      .visible .entry nest0
//   .visible .entry kernel1                          .visible .entry kernel1
//
// Each part holds the text between kernels and some of these whole, in their order. Kernels are known as clang writes
// them: a line that begins with ".visible .entry" begins one, and a line that begins with "}" ends it. Text without
// such lines is one part. A kernel calls no function and writes no variable of its module, so that copies do.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

namespace onnxc::runtime {

class PtxParts {
 public:
  PtxParts() = default;
  PtxParts(const PtxParts&) = delete;
  PtxParts& operator=(const PtxParts&) = delete;

  // A part ends with the kernel that gives it `part_bytes` of kernels. False if memory is short.
  [[nodiscard]] bool cut(const char* text, size_t part_bytes);

  int32_t count() const { return static_cast<int32_t>(begins_.size()); }
  // With a zero at its end.
  const char* text(int32_t part) const { return texts_.data() + begins_[part]; }
  // The part that holds a kernel; 0 if none does.
  int32_t part_of(const char* kernel) const;

 private:
  Array<char> texts_;      // of all parts
  Array<int64_t> begins_;  // in texts_
};

}  // namespace onnxc::runtime
