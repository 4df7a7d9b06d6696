// A fixed-size array on the heap. The runtime links against no C++ library, and a failed allocation is a status, so
// std::vector is out of reach.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <type_traits>
#include <utility>

namespace onnxc::runtime {

template <class T>
class Array {
  static_assert(std::is_trivially_destructible_v<T>, "elements are made of zero bytes and never destroyed");

 public:
  constexpr Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { release(); }

  // Replaces the elements by `size` zeroed ones; false when memory is short, and then the array is empty.
  [[nodiscard]] bool allocate(int64_t size) {
    release();
    if (size == 0) return true;
    size_t bytes;
    if (__builtin_mul_overflow(static_cast<size_t>(size), sizeof(T), &bytes)) return false;
    data_ = static_cast<T*>(aligned_alloc(alignof(T), bytes));
    if (data_ == nullptr) return false;
    __builtin_memset(static_cast<void*>(data_), 0, bytes);
    size_ = size;
    return true;
  }

  void swap(Array& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  void release() {
    free(data_);
    data_ = nullptr;
    size_ = 0;
  }

  int64_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t index) { return data_[index]; }
  const T& operator[](int64_t index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace onnxc::runtime
