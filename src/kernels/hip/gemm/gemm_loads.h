// The loads of the threads of a block for an implicit matrix product, into registers and from there into LDS: rows of
// the input at the taps of a convolution, and columns of weights.
//
// Elements outside the input are read from a row of zeros instead: padding is index arithmetic, needs no branch and
// sets no limit to sizes (a buffer descriptor's range would: 2 GiB).
//
// Limits: the input orders `elements` and `planar` (NCHW) take one load an element.
#pragma once

#include "kernels/hip/gemm/gemm_block.h"
#include "kernels/hip/wave/wave.h"

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
  // Finds the first tap that hits; `first == step` means none does.
  int32_t first = 0;
  while (first < step && (position - first * dilation) % stride != 0) ++first;
  const bool has_taps = first < step && first < kernel;
  return {first, step, has_taps ? (kernel - 1 - first) / step + 1 : 0, (position - first * dilation) / stride,
          -(step * dilation / stride)};
}

// The LDS that a kernel declares: nothing if its launch asks for all of it.
template <class Shared, bool is_declared>
struct DeclaredLds {
  using Type = Shared;
};
template <class Shared>
struct DeclaredLds<Shared, false> {
  struct Type {};
};

template <GemmPlan plan, class Input, class Weight, class Output>
struct GemmLoads : GemmBlock<plan, Input, Weight, Output> {
  using Block = GemmBlock<plan, Input, Weight, Output>;
  using typename Block::Product, Block::arguments, Block::first_column, Block::group, Block::image, Block::place_of,
      Block::shape, Block::tile, Block::residue, Block::part;
  static constexpr int rows_a_load = nest_threads / 4;  // a thread loads one of the four chunks of a row
  static constexpr int row_loads = tile.rows / rows_a_load, column_loads = lds_columns(tile) / rows_a_load;
  static constexpr bool is_planar = plan.input_order == InputOrder::planar;
  static constexpr int own_rows = is_planar ? 1 : row_loads;
  static constexpr int column_chunks = tile.columns * 4;
  static constexpr bool has_cursor = plan.has_cursor(), has_few_steps = plan.has_few_steps();
  static constexpr bool copies = plan.copies(own_gpu);
  static constexpr int stage_count = plan.stages(own_gpu);
  static constexpr int chunk_elements = static_cast<int>(plan.depth()) / 4;
  // Steps whose loads are under way at once. An element a load takes the registers that a second would need, and with
  // the sums of a larger tile they would cost a wavefront.
  static constexpr int ahead = plan.input_order == InputOrder::blocks && tile.rows * tile.columns <= 64 * 64 ? 2 : 1;

  // The operands of some steps.
  struct Shared {
    typename Product::Shared stages[stage_count];
  };
  static_assert(sizeof(Shared) == plan.lds_bytes(own_gpu));
  // A kernel declares this; its operands are there, or in the memory that the launch asked for.
  using DeclaredShared = DeclaredLds<Shared, plan.launch_lds_bytes(own_gpu) == 0>::Type;
  __device__ static Shared& shared_in(DeclaredShared& declared) {
    if constexpr (plan.launch_lds_bytes(own_gpu) == 0)
      return declared;
    else
      return *reinterpret_cast<Shared*>(Product::launch_lds());
  }

  Shared& shared;
  Product product;
  AxisTaps taps_d, taps_h, taps_w;

  // The rows that this thread loads: the input position of tap 0, its offset, and along each axis the taps at which the
  // row reads an element of the input, if these fit a mask.
  static constexpr bool has_masks = plan.masks_taps();
  int32_t row_d[own_rows], row_h[own_rows], row_w[own_rows];
  uint32_t row_mask[own_rows];
  const Input* row[own_rows];
  Chunk fetched_rows[ahead][row_loads], fetched_columns[ahead][column_loads];

  __device__ GemmLoads(const GemmArguments<Input, Weight, Output>& arguments_, int64_t which, Shared& shared_)
      : Block(arguments_, which), shared(shared_), product(shared_.stages[0]) {
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

  // The rows and chunks of a step that a thread loads. Four threads have the chunks of some rows; in NCHW a quarter of
  // the block has 64 rows, and a thread some chunks of one row.
  static constexpr int row_of_load(int i) { return is_planar ? 0 : i; }
  __device__ static int first_row_of_loads() {
    return is_planar ? quarter_index() % row_loads * quarter_threads + thread_index() % quarter_threads
                     : thread_index() / 4;
  }
  static constexpr int chunk_step = is_planar ? 4 / row_loads : 0;
  __device__ static int first_chunk() { return is_planar ? quarter_index() / row_loads : thread_index() % 4; }

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
      // The taps from the first inside to the one at the input's end.
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

  // 16 bytes of 16 channels that lie next to each other, `offset` further than a row's own position.
  __device__ void fetch_blocks(int set, const Tap& tap, int64_t offset, bool is_real) {
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i) {
      const Input* const inside = row[i] + offset;
      const auto* const outside = static_cast<const Input*>(arguments.zeros);
      fetched_rows[set][i] = *reinterpret_cast<const Chunk*>(is_inside(i, tap) & is_real ? inside : outside);
    }
  }
  // The same without registers, into a stage of LDS. Bytes outside are the zero point.
  __device__ void copy_blocks(int stage, const Tap& tap, int64_t offset, bool is_real) {
    const char* const to = shared.stages[stage].rows;
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i) {
      const Input* from = row[i] + offset;
      bool is_copied = is_inside(i, tap) & is_real;
      if constexpr (is_bytes(plan.products)) {
        from = is_copied ? from : static_cast<const Input*>(arguments.zeros);
        is_copied = true;
      }
      Product::template copy_chunk<true>(to, thread_index() / 4 + i * rows_a_load, thread_index() % 4, from, is_copied);
    }
  }
  __device__ void copy_packed(int stage, const Weight* weights) {
    const char* const to = shared.stages[stage].columns;
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i)
      Product::template copy_chunk<false>(
          to, Product::lds_column(thread_index() / 4 + i * rows_a_load), thread_index() % 4,
          reinterpret_cast<const Chunk*>(weights) + (thread_index() + i * nest_threads) % column_chunks, true);
  }
  // The begin of a thread's chunk in the channels of a step, and in their block.
  __device__ static int32_t first_element() { return thread_index() % 4 * chunk_elements; }
  __device__ static int32_t first_lane() { return first_element() % static_cast<int32_t>(block_channels); }
  __device__ static int32_t segment() { return first_element() / static_cast<int32_t>(block_channels); }

  // Element `k` of a step: its offset from a row's own position. If all lanes have the same one, the compiler computes
  // with scalars.
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

  // A table of a wavefront's elements in its lanes, those of some steps at a time: with scalars each element would take
  // some fifteen instructions in each step.
  static constexpr int elements_a_step = row_loads * chunk_elements, table_steps = wave_lanes / elements_a_step;
  static constexpr bool has_element_table = is_planar && has_masks && !has_few_steps;
  struct ElementLanes {
    int64_t bytes = 0;  // from a row's own position
    uint32_t mask = 0;  // of no row if the element is not real
    int32_t first = -table_steps;
  } elements;
  __device__ void fill_elements(int32_t step) {
    static_assert(table_steps > 0);
    const int32_t lane = thread_index() % wave_lanes, at = lane % elements_a_step;
    const int k = (first_chunk() + at / chunk_elements * chunk_step) * chunk_elements + at % chunk_elements;
    const Element element = element_at(step + lane / elements_a_step, k);
    elements = {element.offset * static_cast<int64_t>(sizeof(Input)), element.is_real ? element.tap.mask : ~0u, step};
  }
  __device__ void fetch_tabled(int set, int32_t step) {
    if (step >= elements.first + table_steps) fill_elements(step);
    const int32_t lane = (step - elements.first) * elements_a_step;
    ChunkOf<Input> chunks[row_loads];
#pragma clang loop unroll(full)
    for (int i = 0; i < elements_a_step; ++i) {
      const auto mask = static_cast<uint32_t>(of_lane(static_cast<int32_t>(elements.mask), lane + i));
      const auto* const inside =
          reinterpret_cast<const Input*>(reinterpret_cast<const char*>(row[0]) + of_lane(elements.bytes, lane + i));
      const auto* const outside = static_cast<const Input*>(arguments.zeros);
      chunks[i / chunk_elements].elements[i % chunk_elements] = *((row_mask[0] & mask) == mask ? inside : outside);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i) fetched_rows[set][i] = __builtin_bit_cast(Chunk, chunks[i]);
  }

  __device__ void fetch_elements(int set, int32_t step) {
    if constexpr (has_element_table) {
      fetch_tabled(set, step);
    } else if constexpr (is_planar && has_few_steps && plan.taps() > 1) {
      // After a branch on the chunk its taps are constants.
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
    if constexpr (plan.weight_order == WeightOrder::strided)
      fetch_strided(set, step);
    else
      fetch_packed(set, arguments.weights + plan.weight_offset(group, step, first_column));
  }

  // A step whose threads each find their own tap. `set`: of registers, or a stage of LDS.
  __device__ void fetch(int set, int32_t step) {
    if constexpr (plan.input_order != InputOrder::blocks) {
      fetch_elements(set, step);
    } else {
      const GemmPlan::Place at = plan.place(step, segment() * static_cast<int32_t>(block_channels));
      const Tap tap = tap_of(at.tap);
      const int64_t block = at.channel / static_cast<int32_t>(block_channels) * arguments.input_view.block;
      const int64_t offset = offset_of(tap) + block + first_lane();
      if constexpr (copies) {
        copy_blocks(set, tap, offset, plan.is_inside(at));
        return copy_packed(set, arguments.weights + plan.weight_offset(group, step, first_column));
      }
      fetch_blocks(set, tap, offset, plan.is_inside(at));
    }
    fetch_weights(set, step);
  }

  __device__ void store_to_lds(int set) {
    typename Product::Shared& to = shared.stages[0];
    const int first = thread_index() / 4, chunk = thread_index() % 4;
#pragma clang loop unroll(full)
    for (int i = 0; i < row_loads; ++i)
      Product::store_chunk(to.rows, first_row_of_loads() + row_of_load(i) * rows_a_load, first_chunk() + i * chunk_step,
                           fetched_rows[set][i]);
#pragma clang loop unroll(full)
    for (int i = 0; i < column_loads; ++i) {
      if constexpr (plan.weight_order == WeightOrder::packed)
        Product::store_packed(to.columns, Product::lds_column(first + i * rows_a_load), chunk, fetched_columns[set][i]);
      else
        Product::store_chunk(to.columns, Product::lds_column(first + i * rows_a_load), chunk, fetched_columns[set][i]);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
