// A fixed number of objects that are built in place and destroyed, while Array holds plain data.
#pragma once

#include <stdlib.h>

#include <new>

namespace onnxc::runtime {

template <class T>
class Objects {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() {
    for (int64_t i = 0; i < size_; ++i) data_[i].~T();
    free(data_);
  }

  // Once. False when memory is short.
  [[nodiscard]] bool make(int64_t size) {
    data_ = static_cast<T*>(malloc(sizeof(T) * static_cast<size_t>(size > 0 ? size : 1)));
    if (data_ == nullptr) return false;
    for (; size_ < size; ++size_) new (&data_[size_]) T;
    return true;
  }

  int64_t size() const { return size_; }
  T& operator[](int64_t index) { return data_[index]; }
  const T& operator[](int64_t index) const { return data_[index]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

 private:
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace onnxc::runtime
