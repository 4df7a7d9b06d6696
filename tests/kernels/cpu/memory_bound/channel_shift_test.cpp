#include "kernels/cpu/memory_bound/channel_shift.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Adds what only the right position gives.
float place_of(int64_t n, int64_t block, int64_t d, int64_t h, int64_t w) {
  return static_cast<float>(n * 7 + block * 11 + d * 5 + h * 3 + w);
}
struct AddPlace {
  vec operator()(vec x, const Position& p) const { return x + splat(place_of(p.n, p.channel_block, p.d, p.h, p.w)); }
};

struct Part {
  int64_t shift, channels, output_channels;
};

// The input's padding is NaN, as an epilogue may leave it. Only the part may be written in the output, and the padding
// if the part ends the channels: all else stays NaN.
template <class T>
void check(const Part& part, int64_t batch, const Axes& size) {
  PlainTensor plain(batch, part.channels, size);
  fill_with_integers(plain.values, 1);
  BlockedTensor<T> input(batch, part.channels, size), output(batch, part.output_channels, size);
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < part.channels; ++c)
      for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
        input.data()[input.offset(n, c, d, h, w)] = T(plain.at(n, c, d, h, w));
      });
  using Kernel = ChannelShift<T, T, AddPlace>;
  const typename Kernel::Arguments arguments{input.data(), output.data(),        {batch, part.channels, size},
                                             part.shift,   part.output_channels, input.view,
                                             output.view};
  run_tasks_backwards<Kernel>(arguments, AddPlace());

  std::vector<float> expected(output.storage.size(), BlockedTensor<T>::gap_value);
  const auto expect_at = [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) -> float& {
    return expected[static_cast<size_t>(output.view.channel_block_stride + output.offset(n, c, d, h, w))];
  };
  const bool ends = part.shift + part.channels == part.output_channels;
  for (int64_t n = 0; n < batch; ++n)
    for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
      for (int64_t c = 0; c < part.channels; ++c)
        expect_at(n, part.shift + c, d, h, w) = plain.at(n, c, d, h, w) + place_of(n, c / lanes, d, h, w);
      for (int64_t c = part.output_channels; ends && c < round_up(part.output_channels, lanes); ++c)
        expect_at(n, c, d, h, w) = 0.0f;
    });
  for (size_t i = 0; i < expected.size(); ++i) {
    const float found = static_cast<float>(output.storage[i]);
    ASSERT_TRUE(found == expected[i] || (std::isnan(found) && std::isnan(expected[i])))
        << "element " << i << " is " << found << ", not " << expected[i] << "; shift " << part.shift << ", channels "
        << part.channels << " of " << part.output_channels;
  }
}

TEST(ISA_SUITE(ChannelShift), EveryShiftAndNumberOfChannelsAroundTheBlock) {
  for (int64_t shift = 0; shift <= lanes + 1; ++shift)
    for (int64_t channels = 1; channels <= 2 * lanes + 1; ++channels)
      for (int64_t behind : {0, 3, lanes}) check<float>({shift, channels, shift + channels + behind}, 1, {1, 2, 3});
}

TEST(ISA_SUITE(ChannelShift), ImagesAndManyTasks) {
  const LayoutCopySizes sizes{2, lanes + 3, {7, 31, 37}};
  ASSERT_GT(layout_copy_geometry(sizes, lanes).pieces, 1);
  check<float>({5, sizes.channels, sizes.channels + 5}, sizes.batch, sizes.size);
}

TEST(ISA_SUITE(ChannelShift), HalfTypes) {
  check<float16_t>({lanes - 3, lanes + 1, 3 * lanes}, 1, {2, 2, 5});
  check<bfloat16_t>({lanes - 3, lanes + 1, 2 * lanes - 2}, 1, {2, 2, 5});
}

TEST(ISA_SUITE(ChannelShift), NothingToDo) { check<float>({3, 5, 9}, 1, {0, 2, 5}); }

}  // namespace
}  // namespace onnxc::kernels
