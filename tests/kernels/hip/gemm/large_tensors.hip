// Single blocks of matrix products over tensors of more than 2^31 elements and 4 GiB, against a plain loop.
#include <iterator>

#include "kernels/hip/gemm/implicit_gemm.h"
#include "kernels/hip/gemm/voxel_places.h"
#include "large_memory.h"

namespace onnxc::kernels {

using host_blocks::LargeReport, host_blocks::RepeatedTensor, host_blocks::UntouchedTensor;

// Small integers: all sums are exact in float16. A half more is never zero.
constexpr float value_at(int64_t i, int count) {
  return static_cast<float>(static_cast<int>(static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u >> 40) % count - count / 2);
}
struct Placed {
  float operator()(float sum, int64_t, int64_t, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return sum + 0.5f + static_cast<float>(c % 3 + d % 5 + h % 7 + w % 11);
  }
};

// The place of an element: in blocks of channels, one channel after the other, or in the rows of a matrix.
struct Memory {
  Axes extents;
  int64_t channels, lanes;
  bool is_matrix = false;

  constexpr int64_t count() const { return round_up(channels, lanes) * extents.product(); }
  constexpr GemmView view() const {
    if (is_matrix) return {count(), 0, block_channels, 0, 0, channels};
    const int64_t w = lanes, h = w * extents.w, d = h * extents.h, block = d * extents.d;
    return {count(), 0, block, d, h, w};
  }
  constexpr int64_t offset(int64_t c, int64_t d, int64_t h, int64_t w) const {
    const int64_t voxel = (d * extents.h + h) * extents.w + w;
    if (is_matrix) return voxel * channels + c;
    return (c / lanes * extents.product() + voxel) * lanes + c % lanes;
  }
  struct Place {
    int64_t c, d, h, w;
  };
  constexpr Place place(int64_t offset) const {
    if (is_matrix) return {offset % channels, 0, 0, offset / channels};
    const int64_t voxel = offset / lanes % extents.product();
    return {offset / lanes / extents.product() * lanes + offset % lanes, voxel / extents.w / extents.h,
            voxel / extents.w % extents.h, voxel % extents.w};
  }
};

template <GemmPlan plan, class T>
struct Large {
  static constexpr const ConvShape& shape = plan.shape;
  ConvSizes sizes;
  Memory in = {sizes.input, shape.input_channels, plan.input_lanes, plan.matrix_product},
         out = {sizes.output, shape.output_channels, plan.output_lanes, plan.matrix_product};
  RepeatedTensor<T> input{in.count(), [](int64_t i) { return static_cast<T>(value_at(i, 5)); }};
  UntouchedTensor<T> output{out.count()};
  std::vector<T> weights = packed_weights();

  static float weight(int64_t output, int64_t channel, int64_t tap) {
    return value_at((output * shape.group_input_channels() + channel) * plan.taps() + tap, 3);
  }
  static std::vector<T> packed_weights() {
    std::vector<T> packed(static_cast<size_t>(plan.packed_count()), static_cast<T>(0.0f));
    const int64_t columns = shape.group_output_channels();
    for (int64_t group = 0; group < shape.groups; ++group)
      for (int64_t step = 0; step < plan.steps(); ++step)
        for (int32_t k = 0; k < plan.depth(); ++k) {
          const GemmPlan::Place at = plan.place(static_cast<int32_t>(step), k);
          if (!plan.is_inside(at)) continue;
          for (int64_t column = 0; column < columns; ++column)
            packed[static_cast<size_t>(plan.weight_offset(group, step, column) + k)] =
                static_cast<T>(weight(group * columns + column, at.channel, at.tap));
        }
    return packed;
  }

  // The input's position at a tap, along an axis; below 0 if the tap reads none.
  static int64_t position(int64_t output, int64_t tap, int64_t stride, int64_t dilation, int64_t pad) {
    if (!plan.transposed) return output * stride + tap * dilation - pad;
    const int64_t reached = output + pad - tap * dilation;
    return reached % stride == 0 ? reached / stride : -1;
  }
  float expected(int64_t index) const {
    const auto [c, d, h, w] = out.place(index);
    const int64_t inputs = shape.group_input_channels(), first = c / shape.group_output_channels() * inputs;
    double sum = 0;
    for (int64_t tap = 0; tap < plan.taps(); ++tap) {
      const int64_t kw = tap % shape.kernel.w, kh = tap / shape.kernel.w % shape.kernel.h,
                    kd = tap / shape.kernel.w / shape.kernel.h,
                    from_d = position(d, kd, shape.stride.d, shape.dilation.d, sizes.begin_pads.d),
                    from_h = position(h, kh, shape.stride.h, shape.dilation.h, sizes.begin_pads.h),
                    from_w = position(w, kw, shape.stride.w, shape.dilation.w, sizes.begin_pads.w);
      const Axes& size = sizes.input;
      if (from_d < 0 || from_d >= size.d || from_h < 0 || from_h >= size.h || from_w < 0 || from_w >= size.w) continue;
      for (int64_t channel = 0; channel < inputs; ++channel)
        sum += static_cast<double>(input[in.offset(first + channel, from_d, from_h, from_w)]) *
               static_cast<double>(weight(c, channel, tap));
    }
    return Placed{}(static_cast<float>(sum), 0, 0, c, d, h, w);
  }

  LargeReport run() const {
    alignas(16) static constexpr char zeros[lds_row_bytes] = {};
    const GemmArguments<T, T, T> arguments = {input.data(), weights.data(), output.data(), sizes,
                                              in.view(),    out.view(),     {},            zeros,
                                              nullptr,      plan.launch(sizes, own_gpu),   0};
    const auto kernel = [&] { implicit_gemm<plan>(arguments, Placed{}); };
    host_blocks::ask_for_memory(static_cast<uint32_t>(plan.launch_lds_bytes(own_gpu)));
    host_blocks::run_parts_of(plan.blocks_of(arguments, own_gpu), nest_threads, {0, 13, 27, 32, 50, 64}, kernel);
    return output.report([&](int64_t i) { return static_cast<T>(expected(i)); });
  }
};

// 302 million voxels: two planes are 3.2e9 elements apart.
inline constexpr Axes planes{3, 8192, 12288}, halves{2, 4096, 6144}, video{50, 1000, 1000}, rows{1, 1, 70000000};
inline constexpr ConvShape across{16, 16, 1, {3, 3, 1}}, grouped{72, 72, 2, {1, 1, 3}}, of_planes{8, 16, 1, {3, 1, 3}},
    up{16, 16, 1, {2, 2, 2}, {2, 2, 2}}, square{64, 64, 1, {3, 1, 3}}, product{48, 48, 1, {1, 1, 1}};

// The second launch of a convolution in blocks of voxels; one of 1,000 is a NaN, which is summed again.
template <VoxelPlacesPlan plan>
LargeReport place_voxels(const Axes& extents) {
  using T = _Float16;
  constexpr const ConvShape& shape = plan.shape;
  constexpr const Axes& block = plan.block;
  const Memory in = {extents, shape.input_channels, block_channels},
               between = {{divide_up(extents.d, block.d), divide_up(extents.h, block.h), divide_up(extents.w, block.w)},
                          shape.output_channels * block.product(),
                          block_channels},
               out = {extents, shape.output_channels, 1};
  const RepeatedTensor<T> input(in.count(), [](int64_t i) { return static_cast<T>(value_at(i, 5)); });
  const RepeatedTensor<float> blocks(
      between.count(), [](int64_t i) { return i % 1000 == 0 ? __builtin_nanf("") : value_at(i, 5); });
  const UntouchedTensor<T> output(out.count());
  const int64_t taps = shape.kernel.product(), inputs = shape.input_channels;
  std::vector<float> weights(static_cast<size_t>(shape.output_channels * taps * inputs));
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = value_at(static_cast<int64_t>(i), 3);
  const ConvSizes sizes = {1, extents, extents, {1, 1, 1}};
  const VoxelPlacesArguments<T, T> arguments = {blocks.data(),
                                                input.data(),
                                                weights.data(),
                                                output.data(),
                                                sizes,
                                                between.view(),
                                                in.view(),
                                                out.view(),
                                                Divisor::of(plan.blocks_a_channel(sizes)),
                                                Divisor::of(extents.w),
                                                Divisor::of(extents.h)};
  host_blocks::run_parts_of(plan.blocks_of(arguments), nest_threads, {0, 13, 27, 32, 50, 64},
                            [&] { voxel_places<plan>(arguments, Placed{}); });
  return output.report([&](int64_t index) {
    const auto [c, d, h, w] = out.place(index);
    const int64_t voxel = (d % block.d * block.h + h % block.h) * block.w + w % block.w;
    float sum = blocks[between.offset(voxel * shape.output_channels + c, d / block.d, h / block.h, w / block.w)];
    if (sum != sum) {
      sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t from_d = d + tap / 9 - 1, from_h = h + tap / 3 % 3 - 1, from_w = w + tap % 3 - 1;
        if (from_d < 0 || from_d >= extents.d || from_h < 0 || from_h >= extents.h || from_w < 0 || from_w >= extents.w)
          continue;
        for (int64_t channel = 0; channel < inputs; ++channel)
          sum += static_cast<float>(input[in.offset(channel, from_d, from_h, from_w)]) *
                 weights[static_cast<size_t>((c * taps + tap) * inputs + channel)];
      }
    }
    return static_cast<T>(Placed{}(sum, 0, 0, c, d, h, w));
  });
}

template <GemmPlan plan, class T>
LargeReport run(const Axes& input, const Axes& output, const Axes& pads) {
  return Large<plan, T>{{1, input, output, pads}}.run();
}

struct Case {
  const char* name;
  LargeReport (*run)();
};
inline constexpr GemmTile narrow{128, 32}, wide{128, 64};
constexpr Case cases[] = {
    {"blocks", [] { return run<GemmPlan{.shape = square, .products = Products::float16, .tile = wide}, _Float16>(video, video, {1, 0, 1}); }},
    {"planes", [] { return run<GemmPlan{.shape = across, .products = Products::float16, .tile = narrow}, _Float16>(planes, planes, {1, 1, 0}); }},
    {"to rows", [] { return run<GemmPlan{.shape = across, .products = Products::float16, .tile = narrow, .output_lanes = 1}, _Float16>(planes, planes, {1, 1, 0}); }},
    {"from rows", [] { return run<GemmPlan{.shape = of_planes, .tile = narrow, .input_order = InputOrder::planar, .input_lanes = 1}, float>(planes, planes, {1, 0, 1}); }},
    {"transposed", [] { return run<GemmPlan{.shape = up, .transposed = true, .products = Products::float16, .tile = narrow}, _Float16>(halves, {4, 8192, 12288}, {0, 0, 0}); }},
    {"groups", [] { return run<GemmPlan{.shape = grouped, .tile = wide, .input_order = InputOrder::elements}, float>(video, video, {0, 0, 1}); }},
    {"float32", [] { return run<GemmPlan{.shape = square, .tile = wide}, float>(video, video, {1, 0, 1}); }},
    {"voxels", [] { return place_voxels<VoxelPlacesPlan{{16, 3, 1, {3, 3, 3}}, {2, 3, 3}}>({9, 8192, 11000}); }},
    {"matrix", [] { return run<GemmPlan{.shape = product, .products = Products::float16, .tile = wide, .matrix_product = true}, _Float16>(rows, rows, {0, 0, 0}); }},
};

extern "C" int large_products(const char* name, LargeReport* report) {
  for (const Case& one : cases)
    if (std::strcmp(one.name, name) == 0) {
      *report = one.run();
      return 1;
    }
  return 0;
}

}  // namespace onnxc::kernels
