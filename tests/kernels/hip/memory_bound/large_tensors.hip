// Single blocks of the kernels that memory bounds, over tensors of more than 2^31 elements and 4 GiB, against a plain
// loop.
#include "kernels/hip/memory_bound/channelwise.h"
#include "kernels/hip/memory_bound/normalized_chunks.h"
#include "large_memory.h"

namespace onnxc::kernels {

using host_blocks::LargeReport, host_blocks::RepeatedTensor, host_blocks::run_parts_of, host_blocks::UntouchedTensor;

// Small integers.
constexpr float value_at(int64_t i, int count) {
  return static_cast<float>(static_cast<int>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u >> 40) % count - count / 2);
}
template <class T>
RepeatedTensor<T> integers(int64_t count) {
  return {count, [](int64_t i) { return static_cast<T>(value_at(i, 9)); }};
}
inline const std::vector<int64_t> everywhere = {0, 13, 27, 32, 50, 64};

// ---- lines

struct Shifted {
  template <class... Place>
  float operator()(float value, Place...) const { return value + 4.0f; }
};

constexpr LineSizes sizes_of(int64_t a, int64_t b, int64_t c, int64_t d = 1) { return {{a, b, c, d, 1, 1}, b * 16}; }

// The elements of the line of one: the first, the way to the next, how many.
struct PlainLine {
  int64_t first, step, count;
};
template <LinePlan plan>
PlainLine line_of(int64_t index, const LineSizes& sizes) {
  const int64_t columns = plan.line_columns(sizes), inner = plan.inner(sizes);
  return {index / (columns * inner) * columns * inner + index % inner, inner, columns};
}

// Normalised, and four more: never zero.
template <LinePlan plan, class T>
float normalized(const RepeatedTensor<T>& input, int64_t index, const PlainLine& line) {
  double sum = 0, squares = 0, powers = 0;
  const auto value = [&](int64_t i) { return static_cast<double>(input[line.first + i * line.step]); };
  for (int64_t i = 0; i < line.count; ++i) {
    sum += value(i);
    squares += value(i) * value(i);
    powers += std::exp(value(i));
  }
  const auto own = static_cast<double>(input[index]), mean = sum / static_cast<double>(line.count),
             square = squares / static_cast<double>(line.count);
  if (plan.kind == LineKind::softmax) return static_cast<float>(std::exp(own) / powers + 4);
  if (plan.kind == LineKind::mean_square) return static_cast<float>(own / std::sqrt(square) + 4);
  return static_cast<float>((own - mean) / std::sqrt(square - mean * mean) + 4);
}

template <LinePlan plan, class T>
LargeReport lines(const LineSizes& sizes) {
  const int64_t count = LinePlan::product(sizes, 0, LineSizes::most_axes);
  const RepeatedTensor<T> input = integers<T>(count);
  const UntouchedTensor<T> output(count);
  const LineArguments<T, T> arguments = {input.data(), output.data(), 0.0f, sizes, plan.launch(sizes), {}, {}};
  run_parts_of(plan.blocks(sizes), nest_threads, everywhere, [&] { normalized_lines<plan>(arguments, Shifted{}); });
  return output.report([&](int64_t i) { return normalized<plan>(input, i, line_of<plan>(i, sizes)); }, 1e-5f);
}

// In a buffer of twice the size, whose every second line it is.
template <LinePlan plan, class T>
LargeReport cut_lines(const LineSizes& sizes) {
  const int64_t count = LinePlan::product(sizes, 0, LineSizes::most_axes), row = sizes.extents[2];
  const RepeatedTensor<T> input = integers<T>(2 * count);
  const UntouchedTensor<T> output(2 * count);
  const LineView view{{2 * row * sizes.extents[1], 2 * row, 1}};
  const LineArguments<T, T> arguments = {input.data(), output.data(), 0.0f, sizes, plan.launch(sizes), view, view};
  run_parts_of(plan.blocks(sizes), nest_threads, everywhere, [&] { normalized_lines<plan>(arguments, Shifted{}); });
  return output.report(
      [&](int64_t i) {
        const int64_t columns = sizes.extents[1], first = i / (2 * row * columns) * 2 * row * columns + i % (2 * row);
        return i % (2 * row) < row ? normalized<plan>(input, i, {first, 2 * row, columns}) : 0.0f;
      },
      1e-5f);
}

// Channels in blocks: the means of the last part, then chunks normalised by statistics that are given.
template <LinePlan plan, class T>
LargeReport chunks(const LineSizes& sizes) {
  const int64_t count = LinePlan::product(sizes, 0, LineSizes::most_axes), lanes = plan.lanes;
  const RepeatedTensor<T> input = integers<T>(count);
  const UntouchedTensor<T> output(count);
  const LineLaunch launch = plan.launch(sizes);
  const int64_t parts = launch.parts.divisor, part = launch.part_columns, columns = plan.line_columns(sizes);
  std::vector<float> partial(static_cast<size_t>(plan.outer(sizes) * (parts + folded_parts) * partial_values * lanes));
  const ChunkArguments<T, T> arguments = {{input.data(), output.data(), 0.0f, sizes, launch, {}, {}},
                                          partial.data(),
                                          plan.share(sizes, 1),
                                          {Divisor::of(1), 0}};
  run_parts_of(plan.part_blocks(sizes), nest_threads, {64}, [&] { partial_moments<plan>(arguments, Shifted{}); });
  const int64_t last = plan.outer(sizes) * parts - 1, first = (parts - 1) * part, line = count - columns * lanes;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    double sum = 0;
    for (int64_t i = first; i < columns; ++i) sum += static_cast<double>(input[line + i * lanes + lane]);
    const double mean = sum / static_cast<double>(columns - first);
    const float* const found = partial.data() + last * partial_values * lanes + lane;
    if (std::abs(static_cast<double>(found[0]) + static_cast<double>(found[lanes]) - mean) > 1e-6)
      return {1, 1, 0, 0, count};
  }
  // A mean of 1, and a variance of 4.
  for (int64_t i = 0; i <= last; ++i)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t begin = i % parts * part, elements = columns - begin < part ? columns - begin : part;
      float* const values = partial.data() + i * partial_values * lanes + lane;
      values[0] = 1.0f;
      values[lanes] = 0.0f;
      values[2 * lanes] = 4.0f * static_cast<float>(elements);
    }
  run_parts_of(plan.chunk_blocks(sizes), nest_threads, everywhere,
               [&] { normalized_chunks<plan, 1, false>(arguments, Shifted{}); });
  return output.report([&](int64_t i) { return (static_cast<float>(input[i]) - 1.0f) / 2.0f + 4.25f - 0.25f; }, 1e-5f);
}

// ---- convolutions with few channels a group

struct Half {
  template <class... Place>
  float operator()(float value, Place...) const { return value + 0.5f; }
};

ChannelwiseView view_of(const Axes& extents, int64_t channels, int64_t lanes) {
  return {channels * extents.product(), lanes * extents.product(), lanes * extents.w * extents.h, lanes * extents.w,
          lanes};
}

// The input that an output reads by a tap along an axis; nothing is -1.
int64_t place_read(const ChannelwisePlan& plan, int axis, int64_t output, int64_t tap, int64_t pad, int64_t extent) {
  const int64_t stride = along(plan.shape.stride, axis);
  const int64_t scaled = output + pad - tap, at = plan.transposed ? scaled / stride : output * stride + tap - pad;
  const bool is_read = !plan.transposed || (scaled >= 0 && scaled % stride == 0);
  return is_read && at >= 0 && at < extent ? at : -1;
}

// In blocks of channels, or of one channel after the other.
template <ChannelwisePlan plan, class T>
LargeReport convolve(const Axes& before, const Axes& extents, const Axes& pads) {
  constexpr int64_t channels = plan.shape.output_channels, lanes = plan.lanes, taps = plan.taps();
  const int64_t voxels = extents.product(), count = channels * voxels;
  const RepeatedTensor<T> input = integers<T>(channels * before.product());
  const UntouchedTensor<T> output(count);
  std::vector<float> weights(static_cast<size_t>(plan.weight_count()));
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t tap = 0; tap < taps; ++tap)
      weights[static_cast<size_t>(plan.weight_offset(channel, tap, 0))] = value_at(channel * taps + tap, 3);
  const ConvSizes sizes = {1, before, extents, pads};
  const ChannelwiseArguments<T, T> arguments = {input.data(),
                                                weights.data(),
                                                output.data(),
                                                sizes,
                                                view_of(before, channels, lanes),
                                                view_of(extents, channels, lanes),
                                                plan.launch(sizes, own_gpu)};
  run_parts_of(plan.blocks(sizes, own_gpu), nest_threads, everywhere, [&] { channelwise<plan>(arguments, Half{}); });
  return output.report([&](int64_t i) {
    const int64_t channel = i / lanes / voxels * lanes + i % lanes, voxel = i / lanes % voxels;
    const Axes& kernel = plan.shape.kernel;
    float sum = 0.5f;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t w = place_read(plan, 2, voxel % extents.w, tap % kernel.w, pads.w, before.w),
                    h = place_read(plan, 1, voxel / extents.w % extents.h, tap / kernel.w % kernel.h, pads.h, before.h),
                    d = place_read(plan, 0, voxel / extents.w / extents.h, tap / kernel.w / kernel.h, pads.d, before.d);
      if (w < 0 || h < 0 || d < 0) continue;
      const int64_t at = ((channel / lanes * before.d + d) * before.h + h) * before.w + w;
      sum += static_cast<float>(input[at * lanes + channel % lanes]) * value_at(channel * taps + tap, 3);
    }
    return static_cast<T>(sum);
  });
}

struct Case {
  const char* name;
  LargeReport (*run)();
};
inline constexpr LinePlan over_channels{.kind = LineKind::softmax, .outer_axes = 1, .line_axes = 1, .columns = 96, .lanes = 64, .threads = 4, .held = 24, .is_wide = true},
    free_channels{.kind = LineKind::mean_square, .outer_axes = 1, .line_axes = 1, .lanes = 256, .held = 16, .is_wide = true},
    of_rows{.kind = LineKind::moments, .outer_axes = 1, .line_axes = 1, .columns = 48, .threads = 16, .vector = 4},
    blocked{.kind = LineKind::moments, .outer_axes = 2, .line_axes = 1, .lanes = 16, .threads = 16, .held = 32, .is_blocked = true, .is_wide = true},
    cut{.kind = LineKind::softmax, .outer_axes = 1, .line_axes = 1, .columns = 32, .lanes = 256, .held = 32, .input = LineMemory::cut, .output = LineMemory::cut};
inline constexpr ConvShape depthwise{16, 16, 16, {3, 3, 1}}, of_planes{8, 8, 8, {3, 1, 3}},
    wavelet{16, 16, 16, {2, 2, 2}, {2, 2, 2}}, upsampling{8, 8, 8, {1, 4, 4}, {1, 2, 2}};
inline constexpr Axes planes{3, 8192, 12288}, halves{2, 4096, 6144};
constexpr Case cases[] = {
    {"over channels", [] { return lines<over_channels, float>(sizes_of(1, 96, 41 * 480 * 832)); }},
    {"over free channels", [] { return lines<free_channels, float>(sizes_of(2, 70, 20000000)); }},
    {"of rows", [] { return lines<of_rows, float>(sizes_of(70000000, 48, 1)); }},
    {"cut", [] { return cut_lines<cut, float>(sizes_of(2, 32, 20000000)); }},
    {"chunks", [] { return chunks<blocked, float>(sizes_of(2, 1, 75000000, 16)); }},
    {"depthwise", [] { return convolve<ChannelwisePlan{depthwise}, _Float16>(planes, planes, {1, 1, 0}); }},
    {"depthwise rows", [] { return convolve<ChannelwisePlan{of_planes, 1, 1}, _Float16>(planes, planes, {1, 0, 1}); }},
    {"transposed", [] { return convolve<ChannelwisePlan{wavelet, 16, 16, true}, _Float16>(halves, planes, {0, 0, 0}); }},
    {"transposed rows", [] { return convolve<ChannelwisePlan{upsampling, 1, 1, true}, _Float16>({3, 4096, 6144}, planes, {0, 0, 1}); }},
};

extern "C" int large_tensors(const char* name, LargeReport* report) {
  for (const Case& one : cases)
    if (std::strcmp(one.name, name) == 0) {
      *report = one.run();
      return 1;
    }
  return 0;
}

}  // namespace onnxc::kernels
