// What the tests of convolutions of bytes share: tensors of bytes in blocks of channels, and sums as floats.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels {

// Bytes in blocks of channels, as a part of a larger tensor whose other bytes would spoil each sum.
template <class T>
struct ByteTensor {
  BlockedTensor<float> form;  // its view
  std::vector<T> storage;

  ByteTensor(const PlainTensor& plain) : form(plain.batch, plain.channels, plain.size) {
    storage.assign(form.storage.size(), T(77));
    for (int64_t n = 0; n < plain.batch; ++n)
      for (int64_t c = 0; c < round_up(plain.channels, lanes); ++c)
        for_each_voxel(plain.size, [&](int64_t d, int64_t h, int64_t w) {
          data()[form.offset(n, c, d, h, w)] = T(c < plain.channels ? plain.at(n, c, d, h, w) : 0.0f);
        });
  }
  T* data() { return storage.empty() ? nullptr : storage.data() + form.view.channel_block_stride; }
};

// Sums below 2^24, so that floats hold them.
template <class Epilogue>
struct OfFloats {
  Epilogue epilogue;
  vec operator()(vec_int32 sum, const Position& p) const { return epilogue(to_float(sum), p); }
};

template <class T>
void fill_with_bytes(std::vector<float>& values, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> pick(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  for (float& value : values) value = static_cast<float>(pick(generator));
}

}  // namespace onnxc::kernels
