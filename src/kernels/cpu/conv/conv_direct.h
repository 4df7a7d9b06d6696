// Direct convolution on NCHWc: any kernel, stride, dilation, begin pads and groups, ranks 1 to 3.
//
// Problem: y[n, o, z] = epilogue(sum over i, k of x[n, i, z * stride - pad + k * dilation] * w[o, i, k]), x zero
// outside its bounds. Method: a register tile is `tile_voxels` output voxels by one to three blocks of output channels.
// For each input channel the kernel loads the tile's weights and broadcasts one input element of each voxel, so each
// loaded element serves as many FMAs as the tile is wide. The voxels of a tile are any neighbours in row-major order: a
// row need not divide by the tile, and small maps (7x7, 4x4x4) lose nothing. Each voxel has its own input pointer per
// tap; if the tap is padding the pointer is to zeros, and a tap that is padding for the whole tile is skipped. The
// input is not padded and not copied, except a 1x1x1 kernel's tile whose voxels are not contiguous. Two kinds of kernel
// have a second loop, for the tiles of a row that are inside it with all taps, so that one pointer serves all voxels.
// These are kernels of one tap, and kernels whose extents are run-time values (the parts of a transposed convolution).
// Cache: a task sweeps a range of voxels; the weights of as many input blocks as fit half the second-level cache stay
// there for one sweep (a "pass"), and partial sums wait in scratch between passes. During a pass each tile prefetches a
// part of the next pass's weights, or after a chunk's last pass of the next chunk's: 7x7 maps of 512 channels run twice
// as fast. Only the shape fixes the order of each sum. Groups may begin and end inside of a block. A tile broadcasts
// only the channels of its own group, so that no infinity or NaN of another reaches it. Its vectors begin with the
// group's first output wherever that lies. In a block that groups share only the lanes of its own group are stored.
//
// Limits: weights are constant and float; pairs need groups of whole blocks; groups of few outputs leave lanes empty.
// Bound by: FMA throughput with two or three blocks (the tile by itself reaches 99% of peak for both instruction sets);
// by loads with a single output block (78%).
#pragma once

#include "kernels/cpu/conv/conv_direct_geometry.h"
#include "kernels/cpu/conv/window.h"
#include "kernels/cpu/vector/bfloat16_pairs.h"
#include "kernels/cpu/vector/light_epilogue.h"
#include "kernels/cpu/vector/store_between.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime (conv_direct_instances.cpp).
DirectGeometry direct_geometry_at_run_time(const DirectPacking& packing, const ConvSizes& sizes);

// With `takes_kernel` the kernel's extents are run-time values and the shape holds their maxima, so that one instance
// serves several kernels. With `multiplies_pairs` the products are bfloat16's (bfloat16_pairs.h), the input is bfloat16
// and the weights are pairs (pack_direct_pairs).
template <ConvShape shape, class Input, class Output, class Epilogue, bool takes_kernel = false,
          bool multiplies_pairs = false>
class DirectConvolution {
 public:
  using Arguments = ConvArguments<Input, Output, typename PackedWeight<multiplies_pairs>::Type>;
  static_assert(!multiplies_pairs || (is_bfloat16<Input> && has_whole_blocks(shape, lanes, lanes)),
                "pairs of bfloat16, in groups of whole blocks");

  static KernelWork work(const ConvSizes& sizes) { return direct_geometry_at_run_time(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    run(arguments, epilogue, shape.kernel, direct_geometry_at_run_time(packing, arguments.sizes), task_begin, task_end,
        scratch);
  }

  // The same with the geometry of a kernel.
  static void run(const Arguments& arguments, const Epilogue& epilogue, const Axes& kernel,
                  const DirectGeometry& geometry, int64_t task_begin, int64_t task_end, void* scratch) {
    for (int64_t task = task_begin; task < task_end; ++task) {
      // Chunks run fastest: they share the input of their range.
      const int64_t chunk = task % geometry.chunks;
      const int64_t range = task / geometry.chunks % geometry.ranges;
      Task work{.batch = task / geometry.chunks / geometry.ranges,
                .group = chunk / packing.chunks(),
                .chunk = chunk % packing.chunks(),
                .begin = range * geometry.range_voxels,
                .end = smaller((range + 1) * geometry.range_voxels, arguments.sizes.output.product()),
                .kernel = kernel};
      constexpr int64_t last = packing.chunks() - 1;
      const int64_t blocks_per_pass = geometry.input_blocks_per_pass;
      if constexpr (last > 0)
        if (work.chunk < last) {
          run_task<2>(arguments, epilogue, work, blocks_per_pass, static_cast<float*>(scratch));
          continue;
        }
      run_task<packing.chunk_blocks(last)>(arguments, epilogue, work, blocks_per_pass, static_cast<float*>(scratch));
    }
  }

 private:
  // The packing of the largest kernel. packing_of gives what depends on a kernel's extents.
  static constexpr DirectPacking packing{shape, lanes, lanes, multiplies_pairs ? 2 : 1};

  typedef int64_t vec_int64 __attribute__((ext_vector_type(lanes)));
  typedef uint64_t vec_uint64 __attribute__((ext_vector_type(lanes)));
  typedef bool vec_bool __attribute__((ext_vector_type(lanes)));
  typedef unsigned _BitInt(lanes) lane_bits;

  struct Task {
    int64_t batch, group, chunk;
    int64_t begin, end;  // voxels
    Axes kernel;
  };

  [[gnu::always_inline]] static Axes kernel_of(const Task& task) { return takes_kernel ? task.kernel : shape.kernel; }
  [[gnu::always_inline]] static DirectPacking packing_of(const Task& task) {
    DirectPacking result = packing;
    result.shape.kernel = kernel_of(task);
    return result;
  }

  // Register tiles that leave a register for the broadcast and one for each weight vector: more voxels spill.
  template <int blocks>
  static constexpr int tile_voxels = target_unit.has_many_registers() ? (blocks == 1   ? 9
                                                                         : blocks == 2 ? 12
                                                                                       : 8)
                                                                      : (blocks == 1   ? 8
                                                                         : blocks == 2 ? 6
                                                                                       : 4);

  // The inputs that the taps of a tile's voxels read.
  struct Tile {
    vec_int64 input_offset;  // of each voxel's first tap, in elements from the start of a channel block; may lie in the
                             // padding
    // Bit i of inside_w[kw] tells that tap kw of voxel i is inside the input along w.
    uint32_t inside_d[shape.kernel.d], inside_h[shape.kernel.h], inside_w[shape.kernel.w];
  };

  // Voxels past the end of the image are harmless: their taps are inside the input or found to be outside like any
  // other's.
  template <int voxels>
  [[gnu::always_inline]] static Tile locate(const Arguments& arguments, const Axes& first) {
    const Axes& size = arguments.sizes.output;
    const Axes& pads = arguments.sizes.begin_pads;
    vec_int64 d = first.d, h = first.h, w = first.w + __builtin_convertvector(lane_indices(), vec_int64);
    if (first.w + voxels > size.w) {
      Axes at = first;
      for (int i = 0; i < voxels; ++i, advance(size, at)) {
        d[i] = at.d;
        h[i] = at.h;
        w[i] = at.w;
      }
    }
    d = d * shape.stride.d - pads.d;
    h = h * shape.stride.h - pads.h;
    w = w * shape.stride.w - pads.w;
    Tile tile;
    tile.input_offset = d * arguments.input_view.d_stride + h * arguments.input_view.h_stride + w * lanes;
    find_inside<voxels>(d, arguments.sizes.input.d, shape.dilation.d, tile.inside_d);
    find_inside<voxels>(h, arguments.sizes.input.h, shape.dilation.h, tile.inside_h);
    find_inside<voxels>(w, arguments.sizes.input.w, shape.dilation.w, tile.inside_w);
    return tile;
  }

  template <int voxels, size_t taps>
  [[gnu::always_inline]] static void find_inside(const vec_int64& coordinates, int64_t size, int64_t dilation,
                                                 uint32_t (&inside)[taps]) {
    for (size_t tap = 0; tap < taps; ++tap) {
      // As unsigned numbers, so that one comparison also rejects what is below zero.
      const vec_uint64 coordinate =
          __builtin_convertvector(coordinates + static_cast<int64_t>(tap) * dilation, vec_uint64);
      const auto below_size = __builtin_convertvector(coordinate < static_cast<uint64_t>(size), vec_bool);
      inside[tap] = __builtin_bit_cast(lane_bits, below_size) & ((1u << voxels) - 1u);
    }
  }

  // Input blocks [begin, end) of a task, swept over its voxels.
  struct Pass {
    int64_t begin, end;

    bool is_last() const { return end == packing.input_blocks(); }
  };

  template <int blocks>
  static void run_task(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                       int64_t input_blocks_per_pass, float* partial_sums) {
    constexpr int voxels = tile_voxels<blocks>;
    const Axes& size = arguments.sizes.output;
    for (int64_t begin = 0; begin < packing.input_blocks(); begin += input_blocks_per_pass) {
      const Pass pass{begin, smaller(begin + input_blocks_per_pass, packing.input_blocks())};
      Axes at{task.begin / size.w / size.h, task.begin / size.w % size.h, task.begin % size.w};
      float* sums = partial_sums;
      for (int64_t first = task.begin; first < task.end;) {
        if constexpr (walks_rows) {
          const int64_t tiles = tiles_in_row<voxels>(arguments, task, at, task.end - first);
          if (tiles > 0) {
            run_row<blocks>(arguments, epilogue, task, pass, first, at, tiles, sums);
            first += tiles * voxels;
            sums += tiles * voxels * blocks * lanes;
            at.w += tiles * voxels - 1;
            advance(size, at);
            continue;
          }
        }
        const Prefetch prefetch = prefetch_of_tile<blocks>(task, pass, first);
        const int64_t count = smaller(voxels, task.end - first);
        vec accumulators[voxels][blocks];
        clear<blocks>(accumulators);
        if constexpr (is_pointwise)
          accumulate_copies<blocks>(arguments, task, at, pass, prefetch, accumulators);
        else
          accumulate<blocks>(arguments, task, locate<voxels>(arguments, at), pass, prefetch, accumulators);
        if (add_to_sums<blocks>(pass, sums, accumulators))
          finish<blocks>(arguments, epilogue, task, count, accumulators, at);
        else
          for (int i = 0; i < voxels; ++i) advance(size, at);
        first += voxels;
        sums += voxels * blocks * lanes;
      }
    }
  }

  template <int blocks>
  [[gnu::always_inline]] static void clear(vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    for (int i = 0; i < tile_voxels<blocks>; ++i)
      for (int b = 0; b < blocks; ++b) accumulators[i][b] = splat(0.0f);
  }

  // Adds what the passes before left in scratch, and leaves the sum there unless the pass is the last: then true. A
  // pass sums up from zero: a long chain of additions loses digits.
  template <int blocks>
  [[gnu::always_inline]] static bool add_to_sums(const Pass& pass, float* sums,
                                                 vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    constexpr int voxels = tile_voxels<blocks>;
    if (pass.begin > 0)
      for (int i = 0; i < voxels; ++i)
        for (int b = 0; b < blocks; ++b) accumulators[i][b] += load(sums + (i * blocks + b) * lanes);
    if (pass.is_last()) return true;
    for (int i = 0; i < voxels; ++i)
      for (int b = 0; b < blocks; ++b) store(sums + (i * blocks + b) * lanes, accumulators[i][b]);
    return false;
  }

  // The part of the next pass's weights that a tile fetches with each tap, so that the first tile of that pass need not
  // wait for every line of them: so many vectors, so many elements after the tap's own.
  struct Prefetch {
    int64_t distance, vectors;
  };

  // The share of the tile from voxel `first` on of all tiles of a pass.
  template <int blocks>
  [[gnu::always_inline]] static Prefetch prefetch_of_tile(const Task& task, const Pass& pass, int64_t first) {
    if constexpr (!fetches_weights) return {};
    constexpr int64_t tap_vectors = packing.depth(0) * blocks, voxels = tile_voxels<blocks>;
    const DirectPacking packed = packing_of(task);
    const int64_t tile = (first - task.begin) / voxels, tiles = divide_up(task.end - task.begin, voxels);
    const int64_t begin = tap_vectors * tile / tiles;
    return {packed.input_block_offset(blocks, task.group, pass.end) -
                packed.input_block_offset(blocks, task.group, pass.begin) + begin * lanes,
            tap_vectors * (tile + 1) / tiles - begin};
  }

  // Weights that the first-level cache cannot hold: of a network's they are nowhere near when their layer begins, and a
  // first tile that asked for them would wait for each line.
  static constexpr bool fetches_weights = packing.size() * static_cast<int64_t>(sizeof(float)) > 64 * 1024;

  [[gnu::always_inline]] static void prefetch_tap(const float* weights, const Prefetch& prefetch) {
    if constexpr (fetches_weights) {
      const float* const ahead = weights + prefetch.distance;
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < prefetch.vectors; ++i) __builtin_prefetch(ahead + i * lanes, 0, 2);
    }
  }

  static constexpr bool is_pointwise = !takes_kernel && shape.kernel == Axes{1, 1, 1};
  // Whether the tiles of a row have a loop of their own.
  static constexpr bool walks_rows = (is_pointwise || takes_kernel) && shape.stride.w == 1;

  // A pair is read as the 32 bits of a float.
  static const float* weights_of(const Arguments& arguments) {
    return reinterpret_cast<const float*>(arguments.weights);
  }

  // The first tap of the voxel at `at`, for a kernel of one tap.
  static Axes origin_of(const Arguments& arguments, const Axes& at) {
    const Axes& pads = arguments.sizes.begin_pads;
    return {at.d * shape.stride.d - pads.d, at.h * shape.stride.h - pads.h, at.w * shape.stride.w - pads.w};
  }

  // How many of the tiles from `at` on lie in its row, inside the input with all taps along w; a kernel of one tap also
  // along the other axes.
  template <int voxels>
  static int64_t tiles_in_row(const Arguments& arguments, const Task& task, const Axes& at, int64_t voxels_left) {
    const Axes& size = arguments.sizes.input;
    const Axes origin = origin_of(arguments, at);
    if (origin.w < 0) return 0;
    if (is_pointwise && (origin.d < 0 || origin.d >= size.d || origin.h < 0 || origin.h >= size.h)) return 0;
    const int64_t reach = (kernel_of(task).w - 1) * shape.dilation.w;
    return smaller(smaller(voxels_left, arguments.sizes.output.w - at.w), size.w - origin.w - reach) / voxels;
  }

  // Those that are inside the input.
  struct RowTaps {
    TapRange d, h;
  };

  // A number that is known when the kernel is compiled.
  template <int64_t value>
  struct Known {
    constexpr operator int64_t() const { return value; }  // NOLINT
  };

  // Input channels that one iteration multiplies of a block with so many: all if that pays.
  template <class Depth>
  static constexpr int64_t step_of = packing.reduction_step();
  template <int64_t depth>
  static constexpr int64_t step_of<Known<depth>> = target_unit.unrolls_blocks ? depth : packing.reduction_step();

  // Adds the products of one input block with the taps of a row to a tile of it that is inside along w with all of
  // them.
  template <int blocks, class Depth>
  [[gnu::always_inline]] static void multiply_taps_of_row(const Arguments& arguments, const Task& task,
                                                          const RowTaps& taps, const Input* input, int64_t first_lane,
                                                          const float* weights, Depth depth, const Prefetch& prefetch,
                                                          vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    const int64_t tap_stride = depth * blocks * lanes;
    const Axes kernel = kernel_of(task);
    for (int64_t kd = taps.d.begin; kd < taps.d.end; ++kd) {
      for (int64_t kh = taps.h.begin; kh < taps.h.end; ++kh) {
        const Input* tap = input + kd * shape.dilation.d * arguments.input_view.d_stride +
                           kh * shape.dilation.h * arguments.input_view.h_stride;
        const float* tap_weights = weights + (kd * kernel.h + kh) * kernel.w * tap_stride;
#pragma clang loop unroll(disable)
        for (int64_t kw = 0; kw < kernel.w; ++kw) {
          prefetch_tap(tap_weights, prefetch);
          hide_origin(tap, tap_weights);
          multiply_tap<blocks, step_of<Depth>>(RowVoxels<Input>{tap}, 0, first_lane, tap_weights, depth, accumulators);
          tap += shape.dilation.w * lanes;
          tap_weights += tap_stride;
        }
      }
    }
  }

  // Computes the tiles of a row from `first` on, whose position is `at`: one pointer serves all voxels of a tile, and a
  // tile takes little more than its products.
  template <int blocks>
  [[gnu::always_inline]] static void run_row(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                             const Pass& pass, int64_t first, Axes at, int64_t tiles, float* sums) {
    constexpr int voxels = tile_voxels<blocks>;
    const BlockedView& view = arguments.input_view;
    const Axes origin = origin_of(arguments, at);
    const Input* row = first_channel(arguments, task) + origin.d * view.d_stride + origin.h * view.h_stride +
                       origin.w * lanes + pass.begin * view.channel_block_stride;
    const DirectPacking packed = packing_of(task);
    const float* const weights = weights_of(arguments) + packed.chunk_offset(task.group, task.chunk) +
                                 packed.input_block_offset(blocks, task.group, pass.begin);
    const Axes kernel = kernel_of(task);
    const Axes& input_size = arguments.sizes.input;
    const RowTaps taps{taps_between(origin.d, kernel.d, shape.dilation.d, 0, input_size.d),
                       taps_between(origin.h, kernel.h, shape.dilation.h, 0, input_size.h)};
    // The other chunks of a range find its voxels in a cache.
    const bool fetches_ahead =
        is_pointwise && task.chunk == 0 && arguments.sizes.input.product() * shape.input_channels > second_level_floats;
    Position position = position_of<blocks>(arguments, task, at);
#pragma clang loop unroll(disable)
    for (; tiles > 0; --tiles, first += voxels, row += voxels * lanes, sums += voxels * blocks * lanes) {
      const Prefetch prefetch = prefetch_of_tile<blocks>(task, pass, first);
      vec accumulators[voxels][blocks];
      clear<blocks>(accumulators);
      const Input* input = row;
      const float* block_weights = weights;
      for_each_block(task.group, pass,
                     [&]<class Depth>(Depth depth, int64_t first_lane) __attribute__((always_inline)) {
                       if constexpr (is_pointwise) {
                         prefetch_tap(block_weights, prefetch);
                         if (fetches_ahead) fetch_tile<voxels, Access::read>(input, 4);
                         hide_origin(input, block_weights);
                         multiply_tap<blocks, step_of<Depth>>(RowVoxels<Input>{input}, 0, first_lane, block_weights,
                                                              depth, accumulators);
                       } else {
                         multiply_taps_of_row<blocks>(arguments, task, taps, input, first_lane, block_weights, depth,
                                                      prefetch, accumulators);
                       }
                       input += view.channel_block_stride;
                       block_weights += kernel.product() * depth * blocks * lanes;
                     });
      if (!add_to_sums<blocks>(pass, sums, accumulators)) continue;
      if constexpr (is_light_epilogue<Epilogue> && !packing.shares_output_blocks()) {
        finish_row<blocks>(arguments, epilogue, position, accumulators);
        position.w += voxels;
        position.offset += voxels * arguments.output_view.w_step * lanes;
      } else {
        finish<blocks>(arguments, epilogue, task, voxels, accumulators, at);
      }
    }
  }

  // The same for a tile whose voxels are not contiguous: they are copied, a block at a time, so that they are.
  template <int blocks>
  [[gnu::always_inline]] static void accumulate_copies(const Arguments& arguments, const Task& task, const Axes& first,
                                                       const Pass& pass, const Prefetch& prefetch,
                                                       vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    constexpr int voxels = tile_voxels<blocks>;
    const Input* image = first_channel(arguments, task) + pass.begin * arguments.input_view.channel_block_stride;
    const float* weights = weights_of(arguments) + packing.chunk_offset(task.group, task.chunk) +
                           packing.input_block_offset(blocks, task.group, pass.begin);
    const Tile tile = locate<voxels>(arguments, first);
    alignas(64) Input copied[voxels * lanes];
    const Input* row = copied;
    asm("" : "+r"(row));  // in a register, as for the tiles of a row
    for_each_block(task.group, pass, [&](auto depth, int64_t first_lane) __attribute__((always_inline)) {
      copy_voxels<voxels>(image, tile, copied);
      prefetch_tap(weights, prefetch);
      multiply_tap<blocks, packing.reduction_step()>(RowVoxels<Input>{row}, 0, first_lane, weights, depth,
                                                     accumulators);
      image += arguments.input_view.channel_block_stride;
      weights += depth * blocks * lanes;
    });
  }

  // Calls add_block(depth, first lane) for each input block of a pass. Blocks that no groups share have a loop with a
  // known depth, and another for the last, which may hold fewer: asking each block how many it has takes as long as
  // some of its products.
  template <class AddBlock>
  [[gnu::always_inline]] static void for_each_block(int64_t group, const Pass& pass, const AddBlock& add_block) {
    if constexpr (packing.shares_input_blocks()) {
#pragma clang loop unroll(disable)
      for (int64_t block = pass.begin; block < pass.end; ++block)
        if (const int64_t depth = packing.depth(group, block); depth > 0)
          add_block(depth, packing.first_lane(group, block));
      return;
    }
    constexpr int64_t last = packing.input_blocks() - 1;
    constexpr bool is_last_partial = packing.depth(last) < packing.depth(0);
    const int64_t full_end = is_last_partial ? smaller(pass.end, last) : pass.end;
#pragma clang loop unroll(disable)
    for (int64_t block = pass.begin; block < full_end; ++block) add_block(Known<packing.depth(0)>(), 0);
    if constexpr (is_last_partial)
      if (pass.end > last) add_block(Known<packing.depth(last)>(), 0);
  }

  // The block with the first input channel of the task's image and group.
  static const Input* first_channel(const Arguments& arguments, const Task& task) {
    const BlockedView& view = arguments.input_view;
    const int64_t block = task.group * shape.group_input_channels() / lanes;
    return arguments.input + task.batch * view.batch_stride + block * view.channel_block_stride;
  }

  // Tensors that the second-level cache does not hold are fetched ahead by kernels of one tap, which with few channels
  // have little else to do: the processor's own prefetching ends with each page and each tile of a block.
  static constexpr int64_t second_level_floats = second_level_cache / static_cast<int64_t>(sizeof(float));
  enum class Access { read, write };

  // The voxels of the tile that is `tiles` after that at `first`, maybe past the end of the tensor.
  template <int voxels, Access access, class T>
  [[gnu::always_inline]] static void fetch_tile(const T* first, int64_t tiles) {
    constexpr int64_t line = 64, bytes = voxels * lanes * static_cast<int64_t>(sizeof(T));
    const uintptr_t begin = reinterpret_cast<uintptr_t>(first) + static_cast<uintptr_t>(tiles * bytes);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < bytes; i += line)
      __builtin_prefetch(reinterpret_cast<const void*>(begin + static_cast<uintptr_t>(i)),
                         access == Access::write ? 1 : 0, 3);
  }

  // The contiguous voxels of a tile, as multiply_tap reads them.
  template <class T>
  struct RowVoxels {
    const T* first;
    [[gnu::always_inline]] const T* operator[](int i) const { return first + i * lanes; }
  };

  // Copies a tile's voxels for a kernel of one tap; a voxel outside the input becomes zeros.
  template <int voxels>
  [[gnu::always_inline]] static void copy_voxels(const Input* block, const Tile& tile, Input* copied) {
    alignas(64) static constexpr Input zeros[lanes] = {};
    const uint32_t inside = tile.inside_d[0] & tile.inside_h[0] & tile.inside_w[0];
    for (int i = 0; i < voxels; ++i)
      __builtin_memcpy(copied + i * lanes, (inside >> i & 1u) ? block + tile.input_offset[i] : zeros,
                       lanes * sizeof(Input));
  }

  // Adds the products of a pass's input blocks with all taps to the tile's accumulators.
  template <int blocks>
  [[gnu::always_inline]] static void accumulate(const Arguments& arguments, const Task& task, const Tile& tile,
                                                const Pass& pass, const Prefetch& prefetch,
                                                vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    constexpr int voxels = tile_voxels<blocks>;
    constexpr uint32_t all_inside = (1u << voxels) - 1u;
    constexpr bool are_full = shape.group_input_channels() % lanes == 0;
    constexpr int64_t step = target_unit.unrolls_blocks && are_full ? packing.block_depth() : packing.reduction_step();
    alignas(64) static constexpr Input zeros[lanes] = {};
    const BlockedView& view = arguments.input_view;
    const Input* image = first_channel(arguments, task);
    const Axes kernel = kernel_of(task);
    const float* chunk_weights = weights_of(arguments) + packing_of(task).chunk_offset(task.group, task.chunk);
    alignas(64) const Input* origins[voxels];  // the first tap of each voxel in the first channel block
    for (int i = 0; i < voxels; ++i) origins[i] = image + tile.input_offset[i];

    for (int64_t block = pass.begin; block < pass.end; ++block) {
      const float* weights = chunk_weights + packing_of(task).input_block_offset(blocks, task.group, block);
      const int64_t depth = are_full ? packing.depth(0) : packing.depth(task.group, block);
      const int64_t first_lane = packing.first_lane(task.group, block);
      if (depth == 0) break;
      for (int64_t kd = 0; kd < kernel.d; ++kd) {
        for (int64_t kh = 0; kh < kernel.h; ++kh) {
          const uint32_t inside_dh = tile.inside_d[kd] & tile.inside_h[kh];
          const int64_t row_offset = block * view.channel_block_stride + kd * shape.dilation.d * view.d_stride +
                                     kh * shape.dilation.h * view.h_stride;
          // The kw and channel loops stay rolled: unrolled, clang shares broadcasts between taps, keeps them live and
          // spills the tile.
#pragma clang loop unroll(disable)
          for (int64_t kw = 0; kw < kernel.w; ++kw, weights += packing.tap_stride(blocks, task.group, block)) {
            const uint32_t inside = inside_dh & tile.inside_w[kw];
            int64_t tap_offset = row_offset + kw * shape.dilation.w * lanes;
            // As hide_origin: with extents that are not known clang would step a pointer of each voxel, on the stack.
            if constexpr (takes_kernel) asm("" : "+r"(tap_offset), "+r"(weights));
            if (inside != 0) prefetch_tap(weights, prefetch);
            if (inside == all_inside) {
              multiply_tap<blocks, step>(origins, tap_offset, first_lane, weights, depth, accumulators);
            } else if (inside != 0) {
              alignas(64) const Input* taps[voxels];
              for (int i = 0; i < voxels; ++i) taps[i] = (inside >> i & 1u) ? origins[i] + tap_offset : zeros;
              multiply_tap<blocks, step>(taps, 0, first_lane, weights, depth, accumulators);
            }
          }
        }
      }
    }
  }

  // accumulators += one input element of each voxel times one row of weights, for `depth` input channels (or pairs of
  // them) of a block, from `first_lane` on. `voxels[i] + offset` is where voxel i reads the block. Elements of 16 bits
  // become floats a vector at a time first, unless they are multiplied as pairs: a broadcast would convert each by
  // itself.
  template <int blocks, int64_t step, class Voxels>
  [[gnu::always_inline]] static void multiply_tap(const Voxels& voxels, int64_t offset, int64_t first_lane,
                                                  const float* weights, int64_t depth,
                                                  vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    if constexpr (sizeof(Input) == sizeof(float) || multiplies_pairs) {
      multiply_elements<blocks, step>(voxels, offset + first_lane, weights, depth, accumulators);
    } else {
      alignas(64) float widened[tile_voxels<blocks> * lanes];
      const float* row = widened;
      asm("" : "+r"(row));  // in a register, as for the tiles of a row
#pragma clang loop unroll(full)
      for (int i = 0; i < tile_voxels<blocks>; ++i) store(widened + i * lanes, load(voxels[i] + offset));
      multiply_elements<blocks, step>(RowVoxels<float>{row}, first_lane, weights, depth, accumulators);
    }
  }

  template <int blocks, int64_t step, class Voxels>
  [[gnu::always_inline]] static void multiply_elements(const Voxels& voxels, int64_t offset, const float* weights,
                                                       int64_t depth,
                                                       vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    constexpr int channels = packing.element_channels;
#pragma clang loop unroll(disable)
    for (int64_t channel = offset; channel < offset + depth * channels; channel += step * channels) {
#pragma clang loop unroll(full)
      for (int64_t c = 0; c < step; ++c) {
        vec row[blocks];
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) row[b] = load(weights + (c * blocks + b) * lanes);
#pragma clang loop unroll(full)
        for (int i = 0; i < tile_voxels<blocks>; ++i) {
          const vec element = load_element(voxels[i] + channel + c * channels);
#pragma clang loop unroll(full)
          for (int b = 0; b < blocks; ++b)
            if constexpr (multiplies_pairs)
              accumulators[i][b] = add_products(accumulators[i][b], element, row[b]);
            else
              accumulators[i][b] = fma(element, row[b], accumulators[i][b]);
        }
      }
      weights += step * blocks * lanes;
    }
  }

  template <class T>
  [[gnu::always_inline]] static vec load_element(const T* source) {
    if constexpr (multiplies_pairs)
      return load_splat_pair(source);
    else
      return load_splat(source);
  }

  // Stores the tile's first `count` voxels, and moves `at` past them.
  template <int blocks>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                            int64_t count, const vec (&accumulators)[tile_voxels<blocks>][blocks],
                                            Axes& at) {
    constexpr int voxels = tile_voxels<blocks>;
    const Axes& size = arguments.sizes.output;
    if constexpr (packing.shares_output_blocks()) {
      finish_own_lanes<blocks>(arguments, epilogue, task, count, accumulators, at);
      return;
    }
    if constexpr (is_light_epilogue<Epilogue>) {
      if (count == voxels && at.w + voxels <= size.w) {
        finish_row<blocks>(arguments, epilogue, position_of<blocks>(arguments, task, at), accumulators);
        at.w += voxels - 1;
        advance(size, at);
        return;
      }
    }
    vec stored[voxels][blocks];
    for (int i = 0; i < voxels; ++i)
      for (int b = 0; b < blocks; ++b) stored[i][b] = accumulators[i][b];
    asm("" : "+m"(stored));  // the accumulators leave their registers here, so that the epilogue has them all
    for (int64_t i = 0; i < count;) {
      const Position first = position_of<blocks>(arguments, task, at);
      const int64_t in_row = smaller(count - i, size.w - at.w);
#pragma clang loop unroll(disable)
      for (int64_t j = 0; j < in_row; ++j, ++i) store_voxel<blocks>(arguments, epilogue, first, j, stored[i]);
      at.w += in_row - 1;
      advance(size, at);
    }
  }

  // The same of groups that share output blocks. In memory the channels of a voxel lie one after the other, so that a
  // block of the tensor, which begins some lanes before or after one of the tile, is loaded from there.
  template <int blocks>
  [[gnu::always_inline]] static void finish_own_lanes(const Arguments& arguments, const Epilogue& epilogue,
                                                      const Task& task, int64_t count,
                                                      const vec (&accumulators)[tile_voxels<blocks>][blocks],
                                                      Axes& at) {
    constexpr int64_t voxels = tile_voxels<blocks>, channels = blocks * lanes;
    alignas(64) float stored[lanes + voxels * channels + lanes];
    store(stored, splat(0.0f));
    store(stored + lanes + voxels * channels, splat(0.0f));
    for (int i = 0; i < voxels; ++i)
      for (int b = 0; b < blocks; ++b) store(stored + lanes + i * channels + b * lanes, accumulators[i][b]);
    const Axes& size = arguments.sizes.output;
    for (int64_t i = 0; i < count;) {
      const int64_t in_row = smaller(count - i, size.w - at.w);
      store_own_lanes<blocks>(arguments, epilogue, task, at, in_row, stored + lanes + i * channels);
      i += in_row;
      at.w += in_row - 1;
      advance(size, at);
    }
  }

  // Stores `count` voxels of a row, each `blocks` vectors.
  template <int blocks>
  [[gnu::noinline]] static void store_own_lanes(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                                const Axes& at, int64_t count, const float* voxels) {
    const BlockedView& view = arguments.output_view;
    const int64_t first_of_group = packing.first_block(task.chunk) * lanes;
    const int64_t first = task.group * shape.group_output_channels() + first_of_group;
    const int64_t own_end = first + smaller(blocks * lanes, shape.group_output_channels() - first_of_group);
    // The channels that pad the last block are zero; who has the last channel stores them.
    const int64_t end = own_end == shape.output_channels ? round_up(own_end, lanes) : own_end;
    for (int64_t block = first / lanes; block * lanes < end; ++block) {
      const int64_t begin_lane = larger(0, first - block * lanes), end_lane = smaller(lanes, end - block * lanes);
      const float* source = voxels + block * lanes - first;
      Position position{task.batch,
                        block,
                        at.d,
                        at.h,
                        at.w,
                        task.batch * view.batch_stride + block * view.channel_block_stride + at.d * view.d_stride +
                            at.h * view.h_stride + at.w * view.w_step * lanes};
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < count; ++i, source += blocks * lanes) {
        store_between(arguments.output + position.offset, finished(epilogue, load(source), position), begin_lane,
                      end_lane);
        ++position.w;
        position.offset += view.w_step * lanes;
      }
    }
  }

  // Stores a whole tile that lies in one row from its registers.
  template <int blocks>
  [[gnu::always_inline]] static void finish_row(const Arguments& arguments, const Epilogue& epilogue,
                                                const Position& first,
                                                const vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    constexpr bool stores = !requires { Epilogue::stores_itself; };
    if (stores && is_pointwise && arguments.sizes.output.product() * shape.output_channels > second_level_floats)
      for (int b = 0; b < blocks; ++b)
        fetch_tile<tile_voxels<blocks>, Access::write>(
            arguments.output + first.offset + b * arguments.output_view.channel_block_stride, 2);
    store_tile<blocks>(arguments, epilogue, first, accumulators);
  }

  // The output position of a voxel in the first block of the chunk.
  template <int blocks>
  [[gnu::always_inline]] static Position position_of(const Arguments& arguments, const Task& task, const Axes& at) {
    const BlockedView& view = arguments.output_view;
    const int64_t block = task.group * packing.output_blocks() + packing.first_block(task.chunk);
    return {task.batch,
            block,
            at.d,
            at.h,
            at.w,
            task.batch * view.batch_stride + block * view.channel_block_stride + at.d * view.d_stride +
                at.h * view.h_stride + at.w * view.w_step * lanes};
  }

  // Stores a whole tile that lies in one row. The epilogue gets all voxels of a block before the first is stored: after
  // a store clang would reload its operands, such as a bias, which the store might have changed.
  template <int blocks>
  [[gnu::always_inline]] static void store_tile(const Arguments& arguments, const Epilogue& epilogue,
                                                const Position& first,
                                                const vec (&accumulators)[tile_voxels<blocks>][blocks]) {
    constexpr int voxels = tile_voxels<blocks>;
    const int64_t step = arguments.output_view.w_step * lanes;
    const int64_t block_stride = arguments.output_view.channel_block_stride;
    Output* const output = arguments.output;
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; ++b) {
      vec values[voxels];
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i)
        values[i] = finished(epilogue, accumulators[i][b], position_after(first, i, i * step, b, block_stride));
      if constexpr (requires { Epilogue::stores_itself; }) continue;
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i) store(output + first.offset + i * step + b * block_stride, values[i]);
    }
  }

  // Stores the voxel `distance` after `first` in its row.
  template <int blocks>
  [[gnu::always_inline]] static void store_voxel(const Arguments& arguments, const Epilogue& epilogue,
                                                 const Position& first, int64_t distance,
                                                 const vec (&accumulators)[blocks]) {
    const BlockedView& view = arguments.output_view;
#pragma clang loop unroll(full)
    for (int b = 0; b < blocks; ++b) {
      const Position position =
          position_after(first, distance, distance * view.w_step * lanes, b, view.channel_block_stride);
      const vec value = finished(epilogue, accumulators[b], position);
      if constexpr (requires { Epilogue::stores_itself; }) continue;
      store(arguments.output + position.offset, value);
    }
  }

  // The position of a voxel of the same row, `blocks` blocks further.
  [[gnu::always_inline]] static Position position_after(Position position, int64_t voxels, int64_t offset,
                                                        int64_t blocks, int64_t block_stride) {
    position.channel_block += blocks;
    position.w += voxels;
    position.offset += offset + blocks * block_stride;
    return position;
  }

  // The stored value of an accumulator: the channels that pad the last block are zero.
  [[gnu::always_inline]] static vec finished(const Epilogue& epilogue, vec accumulator, const Position& position) {
    const vec value = epilogue(accumulator, position);
    if constexpr (shape.output_channels % lanes != 0 && !requires { Epilogue::stores_itself; })
      return keep_lanes(first_lanes(shape.output_channels - position.channel_block * lanes), value);
    return value;
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
