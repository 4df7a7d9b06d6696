// Convolutions, transposed convolutions and matrix products as one implicit matrix product on MFMA: sums in float32,
// activations stored as float, float16 or bfloat16.
//
// Problem: output[n, o, voxel] = sum over taps and input channels of input[n, c, voxel * stride + tap * dilation - pad]
// * weight[o, c, tap], for rank 1 to 3 (missing axes have extent 1), any stride, dilation, pads (also negative) and
// groups; sizes are run-time values. A transposed convolution is, for each residue of the output position modulo the
// stride, a convolution of stride 1 with the taps that reach an input element. A matrix product is a convolution of one
// tap whose voxels are the rows.
//
// Method: a block of 256 threads has a tile of rows (voxels) x columns (output channels), see gemm_tile.h. Threads load
// a step of the reduction into registers, 16 bytes of a row a load, while the previous step's product runs out of LDS.
// What lies outside the input is read from a row of zeros instead: padding is index arithmetic, needs no branch and
// sets no limit to sizes (a buffer descriptor's range would: 2 GiB).
//
// Limits: the input orders `elements` and `planar` (NCHW) take one load an element. A group of few output channels
// leaves columns of its tile unused.
#pragma once

#include "kernels/hip/gemm/gemm_block.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The taps along one axis that a block visits: for i of 0 .. count - 1, tap `first + i * step` reads `offset + i *
// delta` further than the row's own position.
struct AxisTaps {
  int32_t first, step, count, offset, delta;
};

__device__ inline AxisTaps every_tap(int64_t kernel, int64_t dilation) {
  return {0, 1, static_cast<int32_t>(kernel), 0, static_cast<int32_t>(dilation)};
}

// The taps of a transposed convolution for outputs q * stride + residue: they read input q + (residue + pad - tap *
// dilation) / stride, for the taps that leave no remainder.
__device__ inline AxisTaps transposed_taps(int32_t kernel, int32_t stride, int32_t dilation, int32_t position) {
  // Taps recur with the smallest step whose way is a multiple of the stride.
  int32_t step = 1;
  while (step * dilation % stride != 0) ++step;
  // The first of them: the last that is tried is none.
  int32_t first = 0;
  while (first < step && (position - first * dilation) % stride != 0) ++first;
  const bool has_taps = first < step && first < kernel;
  return {first, step, has_taps ? (kernel - 1 - first) / step + 1 : 0, (position - first * dilation) / stride,
          -(step * dilation / stride)};
}

template <GemmPlan plan, class Input, class Weight, class Output>
struct ImplicitGemm : GemmBlock<plan, Input, Weight, Output> {
  using Block = GemmBlock<plan, Input, Weight, Output>;
  using typename Block::Product, Block::arguments, Block::first_column, Block::group, Block::image, Block::place_of,
      Block::shape, Block::tile, Block::residue, Block::part;
  static constexpr int rows_a_load = nest_threads / 4;  // a thread loads one of the four chunks of a row
  static constexpr int row_loads = tile.rows / rows_a_load, column_loads = lds_columns(tile) / rows_a_load;
  static constexpr bool is_planar = plan.input_order == InputOrder::planar;
  static constexpr int own_rows = is_planar ? 1 : row_loads;
  static constexpr int column_chunks = tile.columns * 4;
  static constexpr bool has_cursor = plan.input_order == InputOrder::blocks && plan.pairs_blocks();
  static constexpr int chunk_elements = static_cast<int>(plan.depth()) / 4;

  using Shared = typename Product::Shared;

  Shared& shared;
  Product product;
  AxisTaps taps_d, taps_h, taps_w;

  // The rows that this thread loads: the input position of tap 0, its offset, and along each axis the taps at which the
  // row reads an element of the input, one a bit where these fit.
  static constexpr int64_t mask_bits = shape.kernel.d + shape.kernel.h + shape.kernel.w;
  static constexpr bool has_masks = mask_bits <= 32;
  int32_t row_d[own_rows], row_h[own_rows], row_w[own_rows];
  uint32_t row_mask[own_rows];
  const Input* row[own_rows];
  Chunk fetched_rows[row_loads], fetched_columns[column_loads];

  __device__ ImplicitGemm(const GemmArguments<Input, Weight, Output>& arguments_, int64_t which, Shared& shared_)
      : Block(arguments_, which), shared(shared_), product(shared_) {
    if constexpr (plan.transposed) {
      const Axes& pads = arguments.sizes.begin_pads;
      taps_d =
          transposed_taps(shape.kernel.d, shape.stride.d, shape.dilation.d, static_cast<int32_t>(residue.d + pads.d));
      taps_h =
          transposed_taps(shape.kernel.h, shape.stride.h, shape.dilation.h, static_cast<int32_t>(residue.h + pads.h));
      taps_w =
          transposed_taps(shape.kernel.w, shape.stride.w, shape.dilation.w, static_cast<int32_t>(residue.w + pads.w));
    } else {
      taps_d = every_tap(shape.kernel.d, shape.dilation.d);
      taps_h = every_tap(shape.kernel.h, shape.dilation.h);
      taps_w = every_tap(shape.kernel.w, shape.dilation.w);
    }
    locate_rows();
  }

  // The rows and chunks of a step that a thread loads. Four threads have the chunks of some rows; in NCHW a wavefront
  // has 64 rows, and a thread some chunks of one row.
  static constexpr int row_of_load(int i) { return is_planar ? 0 : i; }
  __device__ static int first_row_of_loads() {
    return is_planar ? wave_index() % row_loads * 64 + thread_index() % 64 : thread_index() / 4;
  }
  static constexpr int chunk_step = is_planar ? 4 / row_loads : 0;
  __device__ static int first_chunk() { return is_planar ? wave_index() / row_loads : thread_index() % 4; }

  __device__ void locate_rows() {
    const GemmView& view = arguments.input_view;
    const Axes& pads = arguments.sizes.begin_pads;
    const Input* const input = arguments.input + image * view.batch + group * view.group;
#pragma clang loop unroll(full)
    for (int i = 0; i < own_rows; ++i) {
      const RowPlace place = place_of(first_row_of_loads() + i * rows_a_load);
      if constexpr (plan.transposed) {
        row_d[i] = place.d;
        row_h[i] = place.h;
        row_w[i] = place.w;
      } else {
        row_d[i] = static_cast<int32_t>(place.d * shape.stride.d - pads.d);
        row_h[i] = static_cast<int32_t>(place.h * shape.stride.h - pads.h);
        row_w[i] = static_cast<int32_t>(place.w * shape.stride.w - pads.w);
      }
      row[i] = input + Block::offset_of(row_d[i], row_h[i], row_w[i], view);
      // A row outside of the output reads outside of the input at every tap.
      if (!place.is_inside) row_d[i] = INT32_MIN / 2;
      if constexpr (has_masks) {
        const Axes& size = arguments.sizes.input;
        const Axes &kernel = shape.kernel, &dilation = shape.dilation;
        row_mask[i] = taps_inside(taps_d, kernel.d, dilation.d, row_d[i], size.d) |
                      taps_inside(taps_h, kernel.h, dilation.h, row_h[i], size.h) << kernel.d |
                      taps_inside(taps_w, kernel.w, dilation.w, row_w[i], size.w) << (kernel.d + kernel.h);
      }
    }
  }
  // A bit for each tap of an axis.
  __device__ static uint32_t taps_inside(const AxisTaps& taps, int32_t kernel, int64_t dilation, int32_t position,
                                         int64_t size) {
    if (!plan.transposed && dilation == 1 && kernel > 1) {
      // The taps from the first inside to the one where the input ends.
      const auto within = [&](int32_t tap) { return tap < 0 ? 0 : tap < kernel ? tap : kernel; };
      return (1u << within(static_cast<int32_t>(size) - position)) - (1u << within(-position));
    }
    uint32_t mask = 0;
    position += taps.offset;
    for (int32_t i = 0; i < kernel; ++i) {
      mask |= static_cast<uint32_t>(static_cast<uint32_t>(position) < static_cast<uint32_t>(size)) << i;
      position += taps.delta;
    }
    return mask;
  }

  // ---- fetching

  // A tap: its offset from a row's own position, its number, and its bits in `row_mask`.
  struct Tap {
    int32_t d, h, w, index;
    uint32_t mask;
  };
  __device__ static uint32_t mask_of(int32_t d, int32_t h, int32_t w) {
    return has_masks ? 1u << d | 1u << (shape.kernel.d + h) | 1u << (shape.kernel.d + shape.kernel.h + w) : 0u;
  }
  __device__ static Tap tap_of(int32_t index) {
    constexpr auto width = static_cast<uint32_t>(shape.kernel.w), height = static_cast<uint32_t>(shape.kernel.h);
    const auto tap = static_cast<uint32_t>(index);
    const auto d = static_cast<int32_t>(tap / (width * height)), h = static_cast<int32_t>(tap / width % height),
               w = static_cast<int32_t>(tap % width);
    return {d * static_cast<int32_t>(shape.dilation.d), h * static_cast<int32_t>(shape.dilation.h),
            w * static_cast<int32_t>(shape.dilation.w), index, mask_of(d, h, w)};
  }

  __device__ bool is_inside(int i, const Tap& tap) const {
    if constexpr (has_masks) return (row_mask[i] & tap.mask) == tap.mask;
    const Axes& size = arguments.sizes.input;
    return (static_cast<uint32_t>(row_d[i] + tap.d) < static_cast<uint32_t>(size.d)) &
           (static_cast<uint32_t>(row_h[i] + tap.h) < static_cast<uint32_t>(size.h)) &
           (static_cast<uint32_t>(row_w[i] + tap.w) < static_cast<uint32_t>(size.w));
  }
  __device__ int64_t offset_of(const Tap& tap) const {
    return Block::offset_of(tap.d, tap.h, tap.w, arguments.input_view);
  }

  // The elements of the reduction at one tap.
  __device__ int32_t depth() const {
    return plan.has_run_time_depth ? arguments.depth : static_cast<int32_t>(shape.group_input_channels());
  }

  // Makes the compiler compute a number here, where it would otherwise branch around that.
  __device__ static int64_t computed(int64_t offset) {
    __asm__("" : "+v"(offset));
    return offset;
  }

  // 16 bytes of 16 channels that lie next to each other.
  __device__ void fetch_blocks(const Tap& tap, int32_t channel) {
    const bool is_real = (channel < static_cast<int32_t>(shape.group_input_channels())) &
                         (tap.index < static_cast<int32_t>(plan.taps()));
    const int64_t offset = offset_of(tap) + channel / static_cast<int32_t>(block_channels) * arguments.input_view.block;
    const int lane = thread_index() % 4 * chunk_elements % static_cast<int>(block_channels);
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i) {
      const Input* const inside = row[i] + offset + lane;
      const auto* const outside = static_cast<const Input*>(arguments.zeros);
      fetched_rows[i] = *reinterpret_cast<const Chunk*>(is_inside(i, tap) & is_real ? inside : outside);
    }
  }

  // Element `k` of a step: its offset from a row's own position. Where all lanes have the same one, the compiler
  // computes with scalars.
  struct Element {
    Tap tap;
    int64_t offset;
    bool is_real;
  };
  __device__ Element element_at(int32_t step, int k) const {
    constexpr auto lanes = static_cast<uint32_t>(plan.input_lanes);
    const GemmPlan::Place at = plan.place(step, k);
    const auto channel = static_cast<uint32_t>(at.channel) + (plan.matrix_product ? 0u : static_cast<uint32_t>(group)) *
                                                                 static_cast<uint32_t>(shape.group_input_channels());
    const Tap tap = tap_of(at.tap);
    const int64_t offset = offset_of(tap) + (channel / lanes * arguments.input_view.block + channel % lanes);
    const bool is_real = plan.has_run_time_depth ? at.channel < depth() : plan.is_inside(at);
    return {tap, is_planar ? offset : computed(offset), is_real};
  }
  __device__ void fetch_elements(int32_t step) {
    if constexpr (is_planar && has_few_steps) {
      // Behind a branch on the chunk its taps are constants.
#pragma clang loop unroll(full)
      for (int chunk = 0; chunk < chunk_step; ++chunk)
        if (first_chunk() == chunk) fetch_chunks(step, chunk);
    } else {
      fetch_chunks(step, first_chunk());
    }
  }
  __device__ void fetch_chunks(int32_t step, int first) {
    ChunkOf<Input> chunks[row_loads];
#pragma clang loop unroll(full)
    for (int e = 0; e < chunk_elements; ++e) {
      Element element;
#pragma clang loop unroll(full)
      for (int i = 0; i < row_loads; ++i) {
        if (is_planar || i == 0) element = element_at(step, (first + i * chunk_step) * chunk_elements + e);
        const int own = row_of_load(i);
        const Input* const inside = row[own] + element.offset;
        const auto* const outside = static_cast<const Input*>(arguments.zeros);
        chunks[i].elements[e] = *(is_inside(own, element.tap) & element.is_real ? inside : outside);
      }
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i) fetched_rows[i] = __builtin_bit_cast(Chunk, chunks[i]);
  }

  __device__ void fetch_packed(int32_t step) {
    const Weight* const weights = arguments.weights + plan.weight_offset(group, step, first_column);
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i)
      fetched_columns[i] = reinterpret_cast<const Chunk*>(weights)[(thread_index() + i * nest_threads) % column_chunks];
  }

  // A matrix that was made at run time: element [k, column] of the group's.
  __device__ void fetch_strided(int32_t step) {
    const WeightView& view = arguments.weight_view;
    const Weight* const matrix = arguments.weights + image * view.batch + group * view.group;
    ChunkOf<Weight> chunks[column_loads];
#pragma clang loop unroll(full)
    for (int e = 0; e < chunk_elements; ++e) {
      const int32_t k = plan.place(step, thread_index() % 4 * chunk_elements + e).channel;
      const int64_t row_offset = computed(k * view.k);
#pragma clang loop unroll(full)
      for (int i = 0; i < column_loads; ++i) {
        const int32_t column =
            first_column + (thread_index() / 4 + i * rows_a_load) % static_cast<int32_t>(tile.columns);
        const bool is_inside = (k < depth()) & (column < static_cast<int32_t>(shape.group_output_channels()));
        const Weight* const inside = matrix + computed(column * view.column) + row_offset;
        chunks[i].elements[e] = *(is_inside ? inside : static_cast<const Weight*>(arguments.zeros));
      }
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i) fetched_columns[i] = __builtin_bit_cast(Chunk, chunks[i]);
  }

  __device__ void fetch_weights(int32_t step) {
    if constexpr (plan.weight_order == WeightOrder::packed)
      fetch_packed(step);
    else
      fetch_strided(step);
  }

  __device__ void store_to_lds() {
    const int first = thread_index() / 4, chunk = thread_index() % 4;
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i)
      Product::store_chunk(shared.rows, first_row_of_loads() + row_of_load(i) * rows_a_load,
                           first_chunk() + i * chunk_step, fetched_rows[i]);
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i) {
      if constexpr (plan.weight_order == WeightOrder::packed)
        Product::store_packed(shared.columns, first + i * rows_a_load, chunk, fetched_columns[i]);
      else
        Product::store_chunk(shared.columns, first + i * rows_a_load, chunk, fetched_columns[i]);
    }
  }

  // ---- the reduction

  // The steps where all threads are at one tap: for each pair of blocks of channels the taps.
  struct TapCursor {
    int32_t d = 0, h = 0, w = 0, pair = 0;
  };
  static constexpr auto pairs = static_cast<int32_t>(divide_up(plan.input_blocks(), plan.segments()));
  __device__ int32_t cursor_steps() const { return taps_d.count * taps_h.count * taps_w.count * pairs; }
  __device__ TapCursor cursor_at(int32_t step) const {
    TapCursor at;
    at.w = step % taps_w.count;
    at.h = step / taps_w.count % taps_h.count;
    at.d = step / taps_w.count / taps_h.count % taps_d.count;
    at.pair = step / taps_w.count / taps_h.count / taps_d.count;
    return at;
  }
  // Stays within the last pair behind the last step, where what is fetched is not used any more.
  __device__ void advance(TapCursor& at) const {
    const bool ends_w = ++at.w == taps_w.count;
    at.w = ends_w ? 0 : at.w;
    at.h += ends_w;
    const bool ends_h = at.h == taps_h.count;
    at.h = ends_h ? 0 : at.h;
    at.d += ends_h;
    const bool ends_d = at.d == taps_d.count;
    at.d = ends_d ? 0 : at.d;
    at.pair = at.pair + ends_d < pairs ? at.pair + ends_d : pairs - 1;
  }
  __device__ void fetch(const TapCursor& at) {
    const int32_t index = ((taps_d.first + at.d * taps_d.step) * static_cast<int32_t>(shape.kernel.h) + taps_h.first +
                           at.h * taps_h.step) *
                              static_cast<int32_t>(shape.kernel.w) +
                          taps_w.first + at.w * taps_w.step;
    const Tap tap = {taps_d.offset + at.d * taps_d.delta, taps_h.offset + at.h * taps_h.delta,
                     taps_w.offset + at.w * taps_w.delta, index, mask_of(at.d, at.h, at.w)};
    const int32_t part = thread_index() % 4 * chunk_elements / 16;
    fetch_blocks(tap, (at.pair * static_cast<int32_t>(plan.segments()) + part) * 16);
    fetch_weights(at.pair * static_cast<int32_t>(plan.taps()) + index);
  }

  // The steps where each thread finds its own tap.
  __device__ void fetch(int32_t step) {
    if constexpr (plan.input_order != InputOrder::blocks) {
      fetch_elements(step);
    } else {
      const GemmPlan::Place at = plan.place(step, thread_index() % 4 * chunk_elements / 16 * 16);
      fetch_blocks(tap_of(at.tap), at.channel);
    }
    fetch_weights(step);
  }

  // The first step is fetched; `next` fetches the following one.
  template <class Next>
  __device__ void reduce_steps(int32_t count, Next next) {
    // One copy of it, also where the steps are few: what is gained on them would be lost in the instruction cache.
#pragma clang loop unroll(disable)
    for (int32_t step = 0; step < count; ++step) {
      barrier();  // the product of the step before is done with LDS
      store_to_lds();
      barrier();
      // Also behind the last step: with a condition here the compiler would move the loads behind the product, and the
      // sums from registers to others.
      next();
      __builtin_amdgcn_sched_barrier(0);
      product.multiply();
    }
  }

  // A reduction of few steps without a loop: nothing is fetched behind the last.
  static constexpr bool has_few_steps = !has_cursor && !plan.is_split && !plan.has_run_time_depth && plan.steps() <= 3;
  __device__ void reduce_few_steps() {
    fetch(0);
#pragma clang loop unroll(full)
    for (int32_t step = 0; step < plan.steps(); ++step) {
      if (step > 0) barrier();
      store_to_lds();
      barrier();
      if (step + 1 < plan.steps()) fetch(step + 1);
      __builtin_amdgcn_sched_barrier(0);
      product.multiply(plan.rest(step));
    }
  }

  // The steps of this block, of so many.
  struct Steps {
    int32_t first, count;
  };
  __device__ Steps steps_of_part(int32_t count) const {
    if constexpr (!plan.is_split) return {0, count};
    const auto parts = static_cast<int32_t>(arguments.launch.parts);
    const int32_t share = count / parts, more = count % parts;
    return {part * share + (part < more ? part : more), share + (part < more)};
  }

  __device__ void reduce() {
    product.clear();
    if constexpr (has_few_steps) {
      reduce_few_steps();
    } else if constexpr (has_cursor) {
      const Steps steps = steps_of_part(cursor_steps());
      if (steps.count == 0) return;
      TapCursor at = cursor_at(steps.first);
      fetch(at);
      reduce_steps(steps.count, [&] {
        advance(at);
        fetch(at);
      });
    } else {
      const Steps steps = steps_of_part(plan.has_run_time_depth ? static_cast<int32_t>(divide_up(depth(), plan.depth()))
                                                                : static_cast<int32_t>(plan.steps()));
      int32_t step = steps.first;
      const int32_t last = step + steps.count - 1;
      fetch(step);
      reduce_steps(steps.count, [&] {
        step = step < last ? step + 1 : step;
        fetch(step);
      });
    }
  }

  // ---- the result

  // Calls f(which of a thread's fours it is, sums).
  template <class F>
  __device__ void for_each_four(int row_tile, F f) const {
#pragma clang loop unroll(full)
    for (int j = 0; j < Product::column_tiles; ++j)
#pragma clang loop unroll(full)
      for (int four = 0; four < 4; ++four) {
        const Float16 sums = product.sums[row_tile][j];
        f((row_tile * Product::column_tiles + j) * 4 + four,
          Float4{sums[four * 4], sums[four * 4 + 1], sums[four * 4 + 2], sums[four * 4 + 3]});
      }
  }

  template <class Epilogue>
  __device__ void store(const Epilogue& epilogue) const {
#pragma clang loop unroll(full)
    for (int i = 0; i < Product::row_tiles; ++i) {
      const RowPlace place = place_of(Product::first_row() + i * 32);
      if (!place.is_inside) continue;
      const auto voxel = this->voxel_of(place);
      for_each_four(i,
                    [&](int four, Float4 sums) { this->store_four(epilogue, voxel, this->wave_column(four), sums); });
    }
  }

  __device__ void store_part(int64_t block) const {
#pragma clang loop unroll(full)
    for (int i = 0; i < Product::row_tiles; ++i)
      for_each_four(i, [&](int four, Float4 sums) { this->partial(block, four) = sums; });
  }
};

template <GemmPlan plan, class Input, class Weight, class Output, class Epilogue>
__device__ inline void implicit_gemm(const GemmArguments<Input, Weight, Output>& arguments, const Epilogue& epilogue) {
  using Gemm = ImplicitGemm<plan, Input, Weight, Output>;
  __shared__ typename Gemm::Shared shared;
  static_assert(sizeof shared == gemm_lds_bytes(plan.tile));
  const GemmLaunch& launch = arguments.launch;
  const uint32_t block = block_of_xcd(static_cast<uint32_t>(block_index()), launch.tiles * launch.parts);
  Gemm gemm(arguments, block, shared);
  gemm.reduce();
  if (plan.is_split && launch.parts > 1)
    gemm.store_part(block);
  else
    gemm.store(epilogue);
}

// The second launch of a reduction in parts.
template <GemmPlan plan, class Input, class Weight, class Output, class Epilogue>
__device__ inline void combine_parts(const GemmArguments<Input, Weight, Output>& arguments, const Epilogue& epilogue) {
  using Block = GemmBlock<plan, Input, Weight, Output>;
  const auto which = static_cast<uint32_t>(block_index());
  constexpr auto fours = static_cast<uint32_t>(plan.fours_a_thread());
  const uint32_t tile = which / fours;
  const auto four = static_cast<int>(which % fours);
  const Block block(arguments, tile);
  const RowPlace place = block.place_of(Block::Product::first_row() + four / (4 * Block::Product::column_tiles) * 32);
  if (!place.is_inside) return;
  const int64_t tiles = arguments.launch.tiles, parts = arguments.launch.parts;
  Float4 sums = block.partial(tile, four);
  int64_t part = 1;
  // Several loads at a time, added in their order.
  constexpr int at_once = 8;
  for (; part + at_once <= parts; part += at_once) {
    Float4 loaded[at_once];
#pragma clang loop unroll(full)
    for (int i = 0; i < at_once; ++i) loaded[i] = block.partial((part + i) * tiles + tile, four);
#pragma clang loop unroll(full)
    for (int i = 0; i < at_once; ++i) sums += loaded[i];
  }
  for (; part < parts; ++part) sums += block.partial(part * tiles + tile, four);
  block.store_four(epilogue, block.voxel_of(place), block.wave_column(four), sums);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
