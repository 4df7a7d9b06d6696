// Kernels bound by memory: pools, moments of channels, copies between layouts and between places, transposition.
#include "kernels/cpu/memory_bound/channel_moments.h"
#include "kernels/cpu/memory_bound/channel_shift.h"
#include "kernels/cpu/memory_bound/layout_copy.h"
#include "kernels/cpu/memory_bound/planar_pool.h"
#include "kernels/cpu/memory_bound/separable_pool.h"
#include "kernels/cpu/vector/transpose.h"
#include "measurement.h"

namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA {
namespace {

using namespace kernels;

struct Map {
  int64_t channels;
  Axes size;

  int64_t blocked_size() const { return dense_view(channels, size, lanes).batch_stride; }
  BlockedView view() const { return dense_view(channels, size, lanes); }
};

double bytes_of(int64_t floats) { return 4.0 * static_cast<double>(floats); }

// Without pads; the output is as many windows as fit.
template <class Kernel, PoolShape shape, Map map, int block_lanes = lanes>
void pool_by(benchmark::State& state) {
  const auto extent = [](int64_t in, int64_t kernel, int64_t stride) { return (in - kernel) / stride + 1; };
  const Map pooled{
      map.channels,
      {extent(map.size.d, shape.kernel.d, shape.stride.d), extent(map.size.h, shape.kernel.h, shape.stride.h),
       extent(map.size.w, shape.kernel.w, shape.stride.w)}};
  const PoolSizes sizes{1, map.channels, map.size, pooled.size, {0, 0, 0}, {0, 0, 0}};
  const Floats input = Floats::random(map.blocked_size());
  Floats output = Floats::not_a_number(pooled.blocked_size());
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f);
  measure(state, output, {.bytes = bytes_of(input.size() + output.size())}, [&] {
    Kernel::run({input.data(), output.data(), sizes, dense_view(map.channels, map.size, block_lanes),
                 dense_view(map.channels, pooled.size, block_lanes)},
                {}, 0, work.tasks, scratch.data());
  });
}
template <PoolShape shape, Map map>
constexpr auto pool = &pool_by<Pool<shape, float, float, NoEpilogue>, shape, map>;
template <PoolShape shape, Map map>
constexpr auto separable_pool = &pool_by<SeparablePool<shape, float, float, NoEpilogue>, shape, map>;
// On tensors in rows.
template <PoolShape shape, Map map>
constexpr auto planar_pool = &pool_by<PlanarPool<shape, float, float, NoMatrixEpilogue, 3>, shape, map, 1>;

// Moments of blocks of `block_lanes` channels.
template <class Partial, int block_lanes, Map map, int64_t groups>
void moments_by(benchmark::State& state) {
  using Whole = ChannelMoments<block_lanes>;
  const MomentsSizes sizes{1, map.channels, groups, map.size};
  const BlockedView view = dense_view(map.channels, map.size, block_lanes);
  const Floats input = Floats::random(view.batch_stride);
  Floats partial = Floats::not_a_number(partial_moments_size(sizes, true, block_lanes));
  Floats output = Floats::not_a_number(3 * groups);
  measure(state, output, {.bytes = bytes_of(input.size())}, [&] {
    Partial::run({input.data(), partial.data(), sizes, view}, 0, Partial::work(sizes).tasks, nullptr);
    Whole::run({partial.data(), output.data(), sizes}, 0, Whole::work(sizes).tasks, nullptr);
  });
}
template <Map map, int64_t groups>
constexpr auto moments = &moments_by<PartialMoments<float, true>, lanes, map, groups>;
template <Map map>
constexpr auto moments_of_rows = &moments_by<PartialMomentsOfRows<float>, 1, map, map.channels>;

template <Map map>
void global_average(benchmark::State& state) {
  using Partial = PartialMoments<float, false>;
  using Mean = MeanOfChannels<float, NoEpilogue>;
  const MomentsSizes sizes{1, map.channels, map.channels, map.size};
  const Map voxel{map.channels, {1, 1, 1}};
  const Floats input = Floats::random(map.blocked_size());
  Floats partial = Floats::not_a_number(partial_moments_size(sizes, false, lanes));
  Floats output = Floats::not_a_number(voxel.blocked_size());
  measure(state, output, {.bytes = bytes_of(input.size())}, [&] {
    Partial::run({input.data(), partial.data(), sizes, map.view()}, 0, Partial::work(sizes).tasks, nullptr);
    Mean::run({partial.data(), output.data(), sizes, voxel.view()}, {}, 0, Mean::work(sizes).tasks, nullptr);
  });
}

template <Map map, bool to_rows>
void layout_copy(benchmark::State& state) {
  using Kernel = LayoutCopy<float, float, to_rows>;
  const LayoutCopySizes sizes{1, map.channels, map.size};
  const BlockedView rows = dense_view(map.channels, map.size, 1);
  const Floats input = Floats::random(to_rows ? map.blocked_size() : rows.batch_stride);
  Floats output = Floats::not_a_number(to_rows ? rows.batch_stride : map.blocked_size());
  const int64_t tasks = Kernel::work(sizes).tasks;
  measure(state, output, {.bytes = bytes_of(input.size() + output.size())}, [&] {
    Kernel::run({input.data(), output.data(), sizes, to_rows ? map.view() : rows, to_rows ? rows : map.view()}, 0,
                tasks, nullptr);
  });
}

// A part of a Concat from channel `first` on, whose channels end the output.
template <Map map, int64_t first>
void channel_shift(benchmark::State& state) {
  using Kernel = ChannelShift<float, float, NoEpilogue>;
  const LayoutCopySizes sizes{1, map.channels, map.size};
  const Map whole{first + map.channels, map.size};
  const Floats input = Floats::random(map.blocked_size());
  Floats output(whole.blocked_size(), 0.0f);  // the channels before the part stay as they are
  const int64_t tasks = Kernel::work(sizes).tasks;
  measure(state, output, {.bytes = 2 * bytes_of(map.channels * map.size.product())}, [&] {
    Kernel::run({input.data(), output.data(), sizes, first, whole.channels, map.view(), whole.view()}, 0, tasks,
                nullptr);
  });
}

// Squares one after another that stay in the first-level cache.
void transpose_squares(benchmark::State& state) {
  constexpr int64_t square = int64_t{lanes} * lanes, squares = 4096 / square;
  const Floats input = Floats::random(squares * square);
  Floats output = Floats::not_a_number(squares * square);
  measure(state, output, {.bytes = 2 * bytes_of(input.size())}, [&] {
    for (int64_t at = 0; at < squares * square; at += square) {
      vec rows[lanes];
      for (int i = 0; i < lanes; ++i) rows[i] = load(input.data() + at + i * lanes);
      transpose(rows);
      for (int i = 0; i < lanes; ++i) store(output.data() + at + i * lanes, rows[i]);
    }
  });
}

void add_pools() {
  using enum PoolKind;
  add("pooling/C3D maximum 1x2x2 64@16x112x112", pool<{maximum, {1, 2, 2}, {1, 2, 2}}, {64, {16, 112, 112}}>);
  add("pooling/C3D maximum 2x2x2 128@16x56x56", pool<{maximum, {2, 2, 2}, {2, 2, 2}}, {128, {16, 56, 56}}>);
  add("pooling/DenseNet121 maximum 3x3x3 64@32x32x32", pool<{maximum, {3, 3, 3}, {2, 2, 2}}, {64, {32, 32, 32}}>);
  add("pooling/DenseNet121 average 2x2x2 128@16x16x16", pool<{average, {2, 2, 2}, {2, 2, 2}}, {128, {16, 16, 16}}>);
  add("pooling/rows maximum 3x3x3 64@32x32x32", planar_pool<{maximum, {3, 3, 3}, {2, 2, 2}}, {64, {32, 32, 32}}>);
  add("pooling/every tap maximum 9x9x9 16@48x48x48", pool<{maximum, {9, 9, 9}}, {16, {48, 48, 48}}>);
  add("pooling/axis by axis maximum 9x9x9 16@48x48x48", separable_pool<{maximum, {9, 9, 9}}, {16, {48, 48, 48}}>);
  add("pooling/every tap maximum 5x5 256@1x20x20", pool<{maximum, {1, 5, 5}}, {256, {1, 20, 20}}>);
  add("pooling/axis by axis maximum 5x5 256@1x20x20", separable_pool<{maximum, {1, 5, 5}}, {256, {1, 20, 20}}>);
}

void add_moments() {
  add("channel moments/U-Net InstanceNorm 32@64x64x64", moments<{32, {64, 64, 64}}, 32>);
  add("channel moments/U-Net InstanceNorm 256@8x8x8", moments<{256, {8, 8, 8}}, 256>);
  add("channel moments/SegResNet GroupNorm 8 of 16@64x64x64", moments<{16, {64, 64, 64}}, 8>);
  add("channel moments/MONAI UNet InstanceNorm in rows 3@32x40x48", moments_of_rows<{3, {32, 40, 48}}>);
  add("channel moments/R3D-18 average 512@2x7x7", global_average<{512, {2, 7, 7}}>);
}

void add_copies() {
  add("layout copy/to rows 32@64x64x64", layout_copy<{32, {64, 64, 64}}, true>);
  add("layout copy/to blocks 32@64x64x64", layout_copy<{32, {64, 64, 64}}, false>);
  add("layout copy/seed to rows 16@32x32x32", layout_copy<{16, {32, 32, 32}}, true>);
  add("channel shift/SwinUNETR 12 from 12 on @32x32x32", channel_shift<{12, {32, 32, 32}}, 12>);
  add("transpose/squares in the first-level cache", transpose_squares);
}

[[maybe_unused]] const bool rows_added = (add_pools(), add_moments(), add_copies(), true);

}  // namespace
}  // namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA
