// The working memory of an instance: pages from the system, on huge pages when it is large.
#pragma once

#include <stdint.h>

namespace onnxc::runtime {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(); }

  // Makes room for `bytes` bytes, aligned to 64. Growing loses the contents; the arena never shrinks. False when the
  // system has no memory: the arena is then empty.
  [[nodiscard]] bool reserve(int64_t bytes);

  char* data() const { return data_; }
  int64_t capacity() const { return capacity_; }

 private:
  void release();

  void* mapping_ = nullptr;
  int64_t mapping_bytes_ = 0;
  char* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace onnxc::runtime
