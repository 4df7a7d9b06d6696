// The shared parts of the tests of convolutions of bytes: tensors of bytes in blocks of channels, sums as floats, and
// the comparison with the definition.
#pragma once

#include <algorithm>
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

// A convolution of bytes: exactly the definition's sums. `Kernel` stores floats through OfBytes; `pack` gives its
// weights from int8 in ONNX's order [output channels, input channels, kd, kh, kw].
using OfBytes = OfFloats<PositionEpilogue<float>>;

template <class Kernel, ConvShape shape, class Input, class Pack>
void check_byte_convolution(const ConvSizes& sizes, Input zero_point, const PlainTensor& input,
                            const std::vector<float>& weights, const Pack& pack) {
  PlainTensor residual(sizes.batch, shape.output_channels, sizes.output);
  const std::vector<float> no_bias(static_cast<size_t>(round_up(shape.output_channels, lanes)), 0.0f);
  fill_with_integers(residual.values, 4);
  ByteTensor<Input> bytes(input);
  PlainTensor centred = input;
  for (float& value : centred.values) value -= static_cast<float>(zero_point);
  PlainTensor expected = reference_convolution(shape, sizes, centred, weights);
  apply_position_epilogue(expected, no_bias, residual);

  const auto packed = pack(std::vector<int8_t>(weights.begin(), weights.end()));
  const size_t packed_bytes = packed.size() * sizeof(packed[0]);
  const std::unique_ptr<void, AlignedFree> aligned = nan_scratch(static_cast<int64_t>(packed_bytes));
  std::memcpy(aligned.get(), packed.data(), packed_bytes);

  BlockedTensor<float> blocked_residual(sizes.batch, shape.output_channels, sizes.output);
  BlockedTensor<float> output(sizes.batch, shape.output_channels, sizes.output);
  blocked_residual.fill_from(residual);
  run_tasks_backwards<Kernel>({{bytes.data(), static_cast<decltype(Kernel::Arguments::weights)>(aligned.get()),
                                output.data(), sizes, bytes.form.view, output.view},
                               zero_point},
                              OfBytes{{no_bias.data(), blocked_residual.data()}});
  output.expect_equal(expected, 0.0);
}

// With all bytes.
template <class Kernel, ConvShape shape, class Input, class Pack>
void check_random_bytes(const ConvSizes& sizes, Input zero_point, const Pack& pack) {
  PlainTensor input(sizes.batch, shape.input_channels, sizes.input);
  std::vector<float> weights(
      static_cast<size_t>(shape.output_channels * shape.group_input_channels() * shape.kernel.product()));
  fill_with_bytes<Input>(input.values, 1);
  fill_with_bytes<int8_t>(weights, 2);
  check_byte_convolution<Kernel, shape>(sizes, zero_point, input, weights, pack);
}

template <class Input>
constexpr uint8_t as_unsigned_zero(Input zero_point) {
  return static_cast<uint8_t>(static_cast<int>(zero_point) + (std::is_signed_v<Input> ? 128 : 0));
}

}  // namespace onnxc::kernels
