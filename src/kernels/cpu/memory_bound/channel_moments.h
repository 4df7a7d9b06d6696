// Means and variances of channels over space, on NCHWc or on NCHW with few channels: for InstanceNormalization,
// GroupNormalization and GlobalAveragePool.
//
// Problem: a sum over a volume must use all threads, give the same bits on any number of them, and lose no digits even
// if the mean is large against the deviation. Method: two kernels in sequence. PartialMoments cuts each channel block
// into chunks of fixed size; for each it computes the mean and then, rereading the chunk from cache, the sums of the
// differences from the mean and of their squares. PartialMomentsOfRows does the same for NCHW, with neighbouring voxels
// in the lanes. ChannelMoments combines the chunks of a group of channels in order, in double; MeanOfChannels does so
// for only the mean and applies an epilogue. Bound by: reading the input once from memory.
#pragma once

#include "kernels/cpu/memory_bound/channel_moments_geometry.h"
#include "kernels/cpu/memory_bound/layout_copy_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Input>
struct PartialMomentsArguments {
  const Input* input;
  float* partial;  // partial_moments_size floats
  MomentsSizes sizes;
  BlockedView view;
};

// Calls visit(plane, first, voxels, partial) for each task: `plane` is the start of a channel block, or of an NCHW
// channel; the chunk is `voxels` voxels from `first` on; `partial` is where its `values` partial results go.
template <int block_lanes, int values, class Input, class Visitor>
[[gnu::always_inline]] inline void for_each_chunk_of_tasks(const PartialMomentsArguments<Input>& arguments,
                                                           int64_t task_begin, int64_t task_end, const Visitor& visit) {
  const ChunkGeometry geometry(arguments.sizes, block_lanes);
  const BlockedView& view = arguments.view;
  for (int64_t task = task_begin; task < task_end; ++task) {
    const int64_t plane = task / geometry.chunks, chunk = task % geometry.chunks;
    visit(arguments.input + plane / geometry.blocks * view.batch_stride +
              plane % geometry.blocks * view.channel_block_stride,
          chunk * geometry.chunk_voxels, geometry.voxels_of(chunk), arguments.partial + task * values * block_lanes);
  }
}

template <class Input, bool with_squares>
class PartialMoments {
 public:
  using Arguments = PartialMomentsArguments<Input>;

  static KernelWork work(const MomentsSizes& sizes) { return {ChunkGeometry(sizes, lanes).tasks(sizes), 0}; }

  // Runs tasks [task_begin, task_end) of work().tasks; a task is a chunk.
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* /*scratch*/) {
    for_each_chunk_of_tasks<lanes, chunk_values(with_squares)>(
        arguments, task_begin, task_end, [&](const Input* block, int64_t first, int64_t voxels, float* partial) {
          run_chunk(arguments, block, first, voxels, partial);
        });
  }

 private:
  static void run_chunk(const Arguments& arguments, const Input* block, int64_t first, int64_t voxels, float* partial) {
    vec sum[1];
    sum_over(arguments, block, first, voxels, [](vec x, vec(&terms)[1]) { terms[0] += x; }, sum);
    if constexpr (!with_squares) {
      store(partial, sum[0]);
    } else {
      const vec mean = sum[0] / static_cast<float>(voxels);
      const auto add_difference = [=](vec x, vec(&terms)[2]) {
        const vec difference = x - mean;
        terms[0] += difference;
        terms[1] += difference * difference;
      };
      vec of_differences[2];
      sum_over(arguments, block, first, voxels, add_difference, of_differences);
      store(partial, mean);
      store(partial + lanes, of_differences[0]);
      store(partial + 2 * lanes, of_differences[1]);
    }
  }

  // The sums of what add(x, sums) adds, over a range of voxels in row-major order.
  template <int count, class Add>
  [[gnu::always_inline]] static void sum_over(const Arguments& arguments, const Input* block, int64_t first,
                                              int64_t voxels, const Add& add, vec (&result)[count]) {
    constexpr int chains = 4;
    vec sums[chains][count] = {};
    for_each_row(arguments.sizes.size, first, voxels, [&](const Axes& at, int64_t in_row) {
      const Input* const row = block + at.d * arguments.view.d_stride + at.h * arguments.view.h_stride + at.w * lanes;
      int64_t i = 0;
      for (; i + chains <= in_row; i += chains)
        for (int j = 0; j < chains; ++j) add(load(row + (i + j) * lanes), sums[j]);
      for (; i < in_row; ++i) add(load(row + i * lanes), sums[0]);
    });
    for (int i = 0; i < count; ++i) result[i] = (sums[0][i] + sums[1][i]) + (sums[2][i] + sums[3][i]);
  }
};

// The same for NCHW, as blocks of one channel, with the squares.
template <class Input>
class PartialMomentsOfRows {
 public:
  using Arguments = PartialMomentsArguments<Input>;

  static KernelWork work(const MomentsSizes& sizes) { return {ChunkGeometry(sizes, 1).tasks(sizes), 0}; }

  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* /*scratch*/) {
    const BlockedView& view = arguments.view;
    const Axes size = joined_rows(arguments.sizes.size, view, 1, view, 1);
    for_each_chunk_of_tasks<1, chunk_values(true)>(
        arguments, task_begin, task_end, [&](const Input* channel, int64_t first, int64_t voxels, float* partial) {
          const Sums plain = sum_over(channel, view, size, first, voxels, 0.0f);
          const auto mean = static_cast<float>(plain.values / static_cast<double>(voxels));
          const Sums of_differences = sum_over(channel, view, size, first, voxels, mean);
          partial[0] = mean;
          partial[1] = static_cast<float>(of_differences.values);
          partial[2] = static_cast<float>(of_differences.squares);
        });
  }

 private:
  struct Sums {
    double values, squares;
  };

  // Sums of the differences from `shift`.
  static Sums sum_over(const Input* channel, const BlockedView& view, const Axes& size, int64_t first, int64_t voxels,
                       float shift) {
    constexpr int chains = 4;
    vec values[chains] = {}, squares[chains] = {};
    const auto add = [&](int chain, vec difference) {
      values[chain] += difference;
      squares[chain] += difference * difference;
    };
    for_each_row(size, first, voxels, [&](const Axes& at, int64_t in_row) {
      const Input* const row = channel + at.d * view.d_stride + at.h * view.h_stride + at.w;
      int64_t i = 0;
      for (; i + chains * lanes <= in_row; i += chains * lanes)
        for (int j = 0; j < chains; ++j) add(j, load(row + i + j * lanes) - splat(shift));
      for (; i < in_row; i += lanes) {
        const int64_t count = smaller(lanes, in_row - i);
        add(0, keep_lanes(first_lanes(count), load_partial(row + i, count) - splat(shift)));
      }
    });
    Sums sums{0.0, 0.0};
    for (int j = 0; j < chains; ++j)
      for (int lane = 0; lane < lanes; ++lane) {
        sums.values += static_cast<double>(values[j][lane]);
        sums.squares += static_cast<double>(squares[j][lane]);
      }
    return sums;
  }
};

struct ChannelMomentsArguments {
  const float* partial;  // of PartialMoments<..., true> or PartialMomentsOfRows
  // [3][batch][group]: the mean rounded, what the rounding lost, and the population variance.
  float* moments;
  MomentsSizes sizes;
};

// A task is a group of an image. `block_lanes`: channels side by side in the partial moments.
template <int block_lanes>
class ChannelMoments {
 public:
  using Arguments = ChannelMomentsArguments;

  static KernelWork work(const MomentsSizes& sizes) { return {sizes.batch * sizes.groups, 0}; }

  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* /*scratch*/) {
    const MomentsSizes& sizes = arguments.sizes;
    const int64_t groups = sizes.batch * sizes.groups;
    const double count = static_cast<double>(sizes.group_channels() * sizes.size.product());
    for (int64_t task = task_begin; task < task_end; ++task) {
      double sum = 0.0;
      for_each_chunk_of_group(arguments, task, [&](double voxels, double mean, double differences, double) {
        sum += voxels * mean + differences;
      });
      const double whole_mean = sum / count;
      double squares = 0.0;
      for_each_chunk_of_group(arguments, task,
                              [&](double voxels, double mean, double differences, double chunk_squares) {
                                const double shift = mean - whole_mean;
                                squares += chunk_squares + shift * (2.0 * differences + voxels * shift);
                              });
      const auto rounded = static_cast<float>(whole_mean);
      arguments.moments[task] = rounded;
      arguments.moments[groups + task] = static_cast<float>(whole_mean - static_cast<double>(rounded));
      arguments.moments[2 * groups + task] = static_cast<float>(squares / count);
    }
  }

 private:
  template <class Visitor>
  static void for_each_chunk_of_group(const Arguments& arguments, int64_t task, const Visitor& visit) {
    const MomentsSizes& sizes = arguments.sizes;
    const ChunkGeometry geometry(sizes, block_lanes);
    const int64_t channels = sizes.group_channels();
    const int64_t batch = task / sizes.groups, first = task % sizes.groups * channels;
    for (int64_t channel = first; channel < first + channels; ++channel) {
      const int64_t plane = batch * geometry.blocks + channel / block_lanes;
      const float* partial = arguments.partial + plane * geometry.chunks * 3 * block_lanes + channel % block_lanes;
      for (int64_t chunk = 0; chunk < geometry.chunks; ++chunk, partial += 3 * block_lanes)
        visit(static_cast<double>(geometry.voxels_of(chunk)), static_cast<double>(partial[0]),
              static_cast<double>(partial[block_lanes]), static_cast<double>(partial[2 * block_lanes]));
    }
  }
};

template <class Output>
struct MeanOfChannelsArguments {
  const float* partial;  // of PartialMoments<..., false>
  Output* output;        // blocked, with a single voxel
  MomentsSizes sizes;
  BlockedView output_view;
};

// GlobalAveragePool. A task is a channel block of an image.
template <class Output, class Epilogue>
class MeanOfChannels {
 public:
  using Arguments = MeanOfChannelsArguments<Output>;

  static KernelWork work(const MomentsSizes& sizes) { return {sizes.batch * divide_up(sizes.channels, lanes), 0}; }

  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    const ChunkGeometry geometry(arguments.sizes, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      double sums[lanes] = {};
      const float* partial = arguments.partial + task * geometry.chunks * lanes;
      for (int64_t chunk = 0; chunk < geometry.chunks; ++chunk, partial += lanes)
        for (int i = 0; i < lanes; ++i) sums[i] += static_cast<double>(partial[i]);
      vec mean;
      for (int i = 0; i < lanes; ++i) mean[i] = static_cast<float>(sums[i] / static_cast<double>(geometry.voxels));
      const int64_t batch = task / geometry.blocks, block = task % geometry.blocks;
      const BlockedView& view = arguments.output_view;
      const Position position{batch, block, 0, 0, 0, batch * view.batch_stride + block * view.channel_block_stride};
      const int64_t channels = arguments.sizes.channels - block * lanes;
      store(arguments.output + position.offset, keep_lanes(first_lanes(channels), epilogue(mean, position)));
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
