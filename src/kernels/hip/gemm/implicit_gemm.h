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
// a step of the reduction into registers, 16 bytes of a row a load, while the products of the two steps before it run
// out of LDS. The ways from tap to tap are a table in the lanes of a wavefront.
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
  // Steps whose loads are under way at once. An element a load takes the registers that a second would need, and with
  // the sums of a larger tile they would cost a wavefront.
  static constexpr int ahead = plan.input_order == InputOrder::blocks && tile.rows * tile.columns <= 64 * 64 ? 2 : 1;

  using Shared = typename Product::Shared;

  Shared& shared;
  Product product;
  AxisTaps taps_d, taps_h, taps_w;

  // The rows that this thread loads: the input position of tap 0, its offset, and along each axis the taps at which the
  // row reads an element of the input, one a bit where these fit.
  static constexpr int64_t mask_bits = shape.kernel.d + shape.kernel.h + shape.kernel.w;
  static constexpr bool has_masks = mask_bits < 32;
  int32_t row_d[own_rows], row_h[own_rows], row_w[own_rows];
  uint32_t row_mask[own_rows];
  const Input* row[own_rows];
  Chunk fetched_rows[ahead][row_loads], fetched_columns[ahead][column_loads];

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

  // 16 bytes of 16 channels that lie next to each other, `offset` further than a row's own position.
  __device__ void fetch_blocks(int set, const Tap& tap, int64_t offset, bool is_real) {
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i) {
      const Input* const inside = row[i] + offset;
      const auto* const outside = static_cast<const Input*>(arguments.zeros);
      fetched_rows[set][i] = *reinterpret_cast<const Chunk*>(is_inside(i, tap) & is_real ? inside : outside);
    }
  }
  // Where a thread's chunk begins in the channels of a step, and in their block.
  __device__ static int32_t first_element() { return thread_index() % 4 * chunk_elements; }
  __device__ static int32_t first_lane() { return first_element() % static_cast<int32_t>(block_channels); }
  __device__ static int32_t segment() { return first_element() / static_cast<int32_t>(block_channels); }

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
  __device__ void fetch_elements(int set, int32_t step) {
    if constexpr (is_planar && has_few_steps) {
      // Behind a branch on the chunk its taps are constants.
#pragma clang loop unroll(full)
      for (int chunk = 0; chunk < chunk_step; ++chunk)
        if (first_chunk() == chunk) fetch_chunks(set, step, chunk);
    } else {
      fetch_chunks(set, step, first_chunk());
    }
  }
  __device__ void fetch_chunks(int set, int32_t step, int first) {
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
    for (int i = 0; i < row_loads; ++i) fetched_rows[set][i] = __builtin_bit_cast(Chunk, chunks[i]);
  }

  __device__ void fetch_packed(int set, const Weight* weights) {
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i)
      fetched_columns[set][i] =
          reinterpret_cast<const Chunk*>(weights)[(thread_index() + i * nest_threads) % column_chunks];
  }

  // A matrix that was made at run time: element [k, column] of the group's.
  __device__ void fetch_strided(int set, int32_t step) {
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
    for (int i = 0; i < column_loads; ++i) fetched_columns[set][i] = __builtin_bit_cast(Chunk, chunks[i]);
  }

  __device__ void fetch_weights(int set, int32_t step) {
    if constexpr (plan.weight_order == WeightOrder::packed)
      fetch_packed(set, arguments.weights + plan.weight_offset(group, step, first_column));
    else
      fetch_strided(set, step);
  }

  __device__ void store_to_lds(int set) {
    const int first = thread_index() / 4, chunk = thread_index() % 4;
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i)
      Product::store_chunk(shared.rows, first_row_of_loads() + row_of_load(i) * rows_a_load,
                           first_chunk() + i * chunk_step, fetched_rows[set][i]);
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i) {
      if constexpr (plan.weight_order == WeightOrder::packed)
        Product::store_packed(shared.columns, first + i * rows_a_load, chunk, fetched_columns[set][i]);
      else
        Product::store_chunk(shared.columns, first + i * rows_a_load, chunk, fetched_columns[set][i]);
    }
  }

  // ---- the reduction

  // The steps where all threads are at one tap: for each pair of blocks of channels the taps that this block visits.
  static constexpr auto pairs = static_cast<int32_t>(divide_up(plan.input_blocks(), plan.segments()));
  __device__ int32_t visited_taps() const { return taps_d.count * taps_h.count * taps_w.count; }
  // Which of them along each axis.
  struct TapNumbers {
    int32_t d, h, w;
  };
  __device__ TapNumbers numbers_of(int32_t number) const {
    return {number / taps_w.count / taps_h.count, number / taps_w.count % taps_h.count, number % taps_w.count};
  }
  __device__ Tap visited_tap(const TapNumbers& at) const {
    const int32_t index = ((taps_d.first + at.d * taps_d.step) * static_cast<int32_t>(shape.kernel.h) + taps_h.first +
                           at.h * taps_h.step) *
                              static_cast<int32_t>(shape.kernel.w) +
                          taps_w.first + at.w * taps_w.step;
    return {taps_d.offset + at.d * taps_d.delta, taps_h.offset + at.h * taps_h.delta,
            taps_w.offset + at.w * taps_w.delta, index, mask_of(at.d, at.h, at.w)};
  }
  // The way to a tap from the one before, to the first from the last of the pair before, given the ways along each axis
  // and from pair to pair.
  __device__ int64_t way_to(const TapNumbers& at, int64_t along_d, int64_t along_h, int64_t along_w,
                            int64_t along_pairs) const {
    const int64_t line = along_h - (taps_w.count - 1) * along_w, plane = along_d - taps_h.count * along_h + line,
                  pair = along_pairs - taps_d.count * along_d + plane;
    return at.w > 0 ? along_w : at.h > 0 ? line : at.d > 0 ? plane : pair;
  }

  // A table of the taps in the registers of a wavefront, a tap a lane: to work the next one out would take some fifty
  // scalar instructions a step. The last lane stands for the end: nothing of the input is read there, and the last
  // weights again.
  struct TapLanes {
    Tap tap;
    // To here from the step before: of rows in bytes, of weights in steps.
    int64_t way;
    int32_t weight_way;
  };
  static constexpr int32_t end_lane = 63;
  static constexpr bool fits_table = plan.taps() <= end_lane;
  // The lanes of the taps from number `first` on.
  __device__ TapLanes tap_lanes(int32_t first) const {
    const int32_t lane = thread_index() % 64;
    if (lane == end_lane) return {{0, 0, 0, 0, ~0u}, 0, 0};
    const TapNumbers at = numbers_of(first + lane);
    const GemmView& view = arguments.input_view;
    constexpr auto bytes = static_cast<int64_t>(sizeof(Input));
    constexpr auto width = static_cast<int32_t>(shape.kernel.w), height = static_cast<int32_t>(shape.kernel.h);
    return {visited_tap(at),
            way_to(at, taps_d.delta * view.d * bytes, taps_h.delta * view.h * bytes, taps_w.delta * view.w * bytes,
                   plan.segments() * view.block * bytes),
            static_cast<int32_t>(way_to(at, taps_d.step * height * width, taps_h.step * width, taps_w.step,
                                        static_cast<int32_t>(plan.taps())))};
  }
  __device__ void move_rows(int64_t bytes) {
#pragma clang loop unroll(full)
    for (int i = 0; i < own_rows; ++i)
      row[i] = reinterpret_cast<const Input*>(reinterpret_cast<const char*>(row[i]) + bytes);
  }
  __device__ static int32_t of_lane(int32_t value, int32_t lane) { return __builtin_amdgcn_readlane(value, lane); }
  __device__ static int64_t of_lane(int64_t value, int32_t lane) {
    const int32_t low = of_lane(static_cast<int32_t>(value), lane),
                  high = of_lane(static_cast<int32_t>(value >> 32), lane);
    return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
  }
  // Where all taps are visited weights lie in their order: 1, but 0 at the end. As a comparison it would be a vector
  // instruction.
  __device__ static int32_t weight_way(const TapLanes& lanes, int32_t lane) {
    return plan.transposed ? of_lane(lanes.weight_way, lane) : static_cast<int32_t>(smaller(end_lane - lane, 1));
  }

  // The step that is fetched next; `row` and `weights` are at the one before.
  struct TapCursor {
    TapLanes lanes;
    int32_t first, lane, left;  // the number of the first lane's tap; the lane of the step; steps that are left
    int32_t pair, step;         // of the weights
    const Weight* weights;
  };
  static constexpr int64_t weight_step = plan.weight_offset(0, 1, 0);
  __device__ TapCursor cursor_at(int32_t step, int32_t count) {
    const int32_t number = step % visited_taps(), pair = step / visited_taps();
    const int32_t first = fits_table ? 0 : number / end_lane * end_lane, lane = number - first;
    const TapLanes lanes = tap_lanes(first);
    const Tap tap = visited_tap(numbers_of(number));
    const int64_t offset = offset_of(tap) + first_lane() +
                           (pair * static_cast<int32_t>(plan.segments()) + segment()) * arguments.input_view.block;
    move_rows(offset * static_cast<int64_t>(sizeof(Input)) - of_lane(lanes.way, lane));
    const int32_t at = pair * static_cast<int32_t>(plan.taps()) + tap.index;
    return {lanes,
            first,
            lane,
            count,
            pair,
            at,
            arguments.weights + plan.weight_offset(group, at - weight_way(lanes, lane), first_column)};
  }
  __device__ void fetch_next(int set, TapCursor& at) {
    move_rows(of_lane(at.lanes.way, at.lane));
    at.weights += weight_way(at.lanes, at.lane) * weight_step;
    Tap tap = {};
    if constexpr (has_masks) {
      tap.mask = static_cast<uint32_t>(of_lane(static_cast<int32_t>(at.lanes.tap.mask), at.lane));
    } else {
      tap.d = of_lane(at.lanes.tap.d, at.lane);
      tap.h = of_lane(at.lanes.tap.h, at.lane);
      tap.w = of_lane(at.lanes.tap.w, at.lane);
    }
    // A last pair may be of one block.
    constexpr bool has_half_pair = plan.input_blocks() % plan.segments() != 0;
    const bool is_real = (has_masks | (at.left > 0)) & (!has_half_pair | segment() == 0 | at.pair + 1 < pairs);
    fetch_blocks(set, tap, 0, is_real);
    if constexpr (plan.weight_order == WeightOrder::packed)
      fetch_packed(set, at.weights);
    else
      fetch_strided(set, at.step);
    advance(at);
  }
  __device__ void advance(TapCursor& at) const {
    ++at.step;
    ++at.lane;
    const bool ends_pair = at.first + at.lane == visited_taps();
    at.pair += ends_pair;
    at.lane = ends_pair ? 0 : at.lane;
    if constexpr (!fits_table) {
      at.lane = at.lane == end_lane ? 0 : at.lane;
      if (at.lane == 0) {
        at.first = ends_pair ? 0 : at.first + end_lane;
        at.lanes = tap_lanes(at.first);
      }
    }
    --at.left;
    at.lane = at.left <= 0 ? end_lane : at.lane;
  }

  // The steps where each thread finds its own tap.
  __device__ void fetch(int set, int32_t step) {
    if constexpr (plan.input_order != InputOrder::blocks) {
      fetch_elements(set, step);
    } else {
      const GemmPlan::Place at = plan.place(step, segment() * static_cast<int32_t>(block_channels));
      const Tap tap = tap_of(at.tap);
      const int64_t block = at.channel / static_cast<int32_t>(block_channels) * arguments.input_view.block;
      fetch_blocks(set, tap, offset_of(tap) + block + first_lane(), plan.is_inside(at));
    }
    fetch_weights(set, step);
  }

  // `next(set)` fetches the next step into a set of registers.
  template <class Next>
  __device__ void reduce_step(int set, Next next) {
    barrier();  // the product of the step before is done with LDS
    store_to_lds(set);
    barrier();
    // Also behind the last step: with a condition here the compiler would move the loads behind the product, and the
    // sums from registers to others.
    next(set);
    __builtin_amdgcn_sched_barrier(0);
    product.multiply();
  }
  template <class Next>
  __device__ void reduce_steps(int32_t count, Next next) {
#pragma clang loop unroll(full)
    for (int set = 0; set < ahead; ++set) next(set);
    // One copy of it, also where the steps are few: what is gained on them would be lost in the instruction cache.
#pragma clang loop unroll(disable)
    for (int32_t step = ahead - 1; step < count; step += ahead)
#pragma clang loop unroll(full)
      for (int set = 0; set < ahead; ++set) reduce_step(set, next);
    if (ahead == 2 && count % 2 == 1) reduce_step(0, next);
  }

  // A reduction of few steps without a loop: nothing is fetched behind the last.
  static constexpr bool has_few_steps = !has_cursor && !plan.is_split && !plan.has_run_time_depth && plan.steps() <= 3;
  __device__ void reduce_few_steps() {
    fetch(0, 0);
#pragma clang loop unroll(full)
    for (int32_t step = 0; step < plan.steps(); ++step) {
      if (step > 0) barrier();
      store_to_lds(0);
      barrier();
      if (step + 1 < plan.steps()) fetch(0, step + 1);
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
      const Steps steps = steps_of_part(visited_taps() * pairs);
      if (steps.count == 0) return;
      TapCursor at = cursor_at(steps.first, steps.count);
      reduce_steps(steps.count, [&](int set) { fetch_next(set, at); });
    } else {
      const Steps steps = steps_of_part(plan.has_run_time_depth ? static_cast<int32_t>(divide_up(depth(), plan.depth()))
                                                                : static_cast<int32_t>(plan.steps()));
      int32_t step = steps.first;
      const int32_t last = step + steps.count - 1;
      reduce_steps(steps.count, [&](int set) {
        fetch(set, step);
        step = step < last ? step + 1 : step;
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
