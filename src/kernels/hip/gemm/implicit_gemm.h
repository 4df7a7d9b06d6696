// Convolutions, transposed convolutions and matrix products as one implicit matrix product: sums in float32,
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
// gemm_loads.h says how they are read.
//
// Products are made by the matrix unit, or by the vector unit if that does not multiply float32 (tile_product.h).
//
// Limits: a group of few output channels leaves columns of its tile unused.
#pragma once

#include "kernels/hip/gemm/gemm_loads.h"
#ifdef __NVPTX__
#include "kernels/hip/gemm/halo_gemm.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <GemmPlan plan, class Input, class Weight, class Output>
struct ImplicitGemm : GemmLoads<plan, Input, Weight, Output> {
  using Loads = GemmLoads<plan, Input, Weight, Output>;
  using Loads::ahead, Loads::copies, Loads::stage_count, Loads::has_cursor, Loads::has_few_steps, Loads::has_masks,
      Loads::own_rows, Loads::row;
  using Loads::fetch, Loads::fetch_blocks, Loads::fetch_packed, Loads::fetch_strided, Loads::store_to_lds;
  using Loads::Loads, Loads::arguments, Loads::first_column, Loads::group, Loads::part, Loads::shape, Loads::product;
  using Loads::steps_of_part;
  using Loads::taps_d, Loads::taps_h, Loads::taps_w, Loads::mask_of, Loads::offset_of, Loads::first_lane,
      Loads::segment, Loads::depth;
  using typename Loads::Product, typename Loads::Steps, typename Loads::Tap;

  // ---- the reduction

  // The steps in which all threads are at one tap: for each pair of blocks of channels the taps that this block visits.
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
  static constexpr int32_t end_lane = wave_lanes - 1;
  static constexpr bool fits_table = plan.taps() <= end_lane;
  // The lanes of the taps from number `first` on.
  __device__ TapLanes tap_lanes(int32_t first) const {
    const int32_t lane = thread_index() % wave_lanes;
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
  // If all taps are visited weights lie in their order: 1, but 0 at the end. As a comparison it would be a vector
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
    // The last pair may be of fewer blocks.
    constexpr auto last_blocks = static_cast<int32_t>(plan.input_blocks() - (pairs - 1) * plan.segments());
    constexpr bool has_short_pair = last_blocks < plan.segments();
    const bool is_real =
        (has_masks | (at.left > 0)) & (!has_short_pair | segment() < last_blocks | at.pair + 1 < pairs);
    if constexpr (copies) {
      this->copy_blocks(set, tap, 0, is_real);
      this->copy_packed(set, at.weights);
      return advance(at);
    }
    fetch_blocks(set, tap, 0, is_real);
    if constexpr (plan.weight_order == WeightOrder::strided)
      fetch_strided(set, at.step);
    else
      fetch_packed(set, at.weights);
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

  // `next(set)` fetches the next step into a set of registers, or a stage of LDS.
  template <class Next>
  __device__ void reduce_step(int set, Next next) {
    barrier();  // the product of the step before is done with LDS
    store_to_lds(set);
    barrier();
    // Also after the last step: with a condition here the compiler would move the loads after the product, and the sums
    // from registers to others.
    next(set);
    scheduling_barrier();
    product.multiply();
  }
  // Copies the first steps to LDS, before any product.
  template <int steps, class Next>
  __device__ static void copy_first(Next next) {
#pragma clang loop unroll(full)
    for (int stage = 0; stage < steps; ++stage) {
      next(stage);
      Product::end_copies();
    }
  }
  __device__ static constexpr int stage_after(int stage) { return stage + 1 == stage_count ? 0 : stage + 1; }

  // After the barrier all threads' copies of the step are there, and the products of the step before are done with the
  // stage that is filled next.
  template <class Next>
  __device__ void reduce_copied(int32_t count, Next next) {
    copy_first<stage_count - 1>(next);
    int stage = 0, further = stage_count - 1;
#pragma clang loop unroll(disable)
    for (int32_t step = 0; step < count; ++step) {
      Product::template wait_for_copies<stage_count - 2>();
      barrier();
      next(further);
      Product::end_copies();
      product.multiply_stage(stage);
      stage = stage_after(stage);
      further = stage_after(further);
    }
    Product::template wait_for_copies<0>();
  }
  // The same for products that go on while those of the next step start. After the barrier those of two steps before
  // are done with the stage that is filled next.
  template <class Next>
  __device__ void reduce_in_flight(int32_t count, Next next) {
    static_assert(stage_count > 2);
    copy_first<stage_count - 2>(next);
    int stage = 0, further = stage_count - 2;
#pragma clang loop unroll(disable)
    for (int32_t step = 0; step < count; ++step) {
      Product::template wait_for_copies<stage_count - 3>();
      Product::show_copies();
      barrier();
      product.start(stage);
      next(further);
      Product::end_copies();
      product.template finish<1>();
      stage = stage_after(stage);
      further = stage_after(further);
    }
    product.template finish<0>();
    Product::template wait_for_copies<0>();
  }
  template <class Next>
  __device__ void reduce_steps(int32_t count, Next next) {
    if constexpr (plan.uses_wgmma(own_gpu))
      reduce_in_flight(count, next);
    else if constexpr (copies)
      reduce_copied(count, next);
    else
      reduce_stored(count, next);
  }
  template <class Next>
  __device__ void reduce_stored(int32_t count, Next next) {
#pragma clang loop unroll(full)
    for (int set = 0; set < ahead; ++set) next(set);
    // One copy of it, even if the steps are few: the time gained on them would be lost in the instruction cache.
#pragma clang loop unroll(disable)
    for (int32_t step = ahead - 1; step < count; step += ahead)
#pragma clang loop unroll(full)
      for (int set = 0; set < ahead; ++set) reduce_step(set, next);
    if (ahead == 2 && count % 2 == 1) reduce_step(0, next);
  }

  // Without a loop: nothing is fetched after the last.
  __device__ void reduce_few_steps() {
    fetch(0, 0);
#pragma clang loop unroll(full)
    for (int32_t step = 0; step < plan.steps(); ++step) {
      if (step > 0) barrier();
      store_to_lds(0);
      barrier();
      if (step + 1 < plan.steps()) fetch(0, step + 1);
      scheduling_barrier();
      product.multiply(plan.rest(step));
    }
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
};

// The reduction of a plan: HaloGemm, if its tiles are bricks.
template <bool has_halo>
struct GemmForm {
  template <GemmPlan plan, class Input, class Weight, class Output>
  using Type = ImplicitGemm<plan, Input, Weight, Output>;
};
#ifdef __NVPTX__
template <>
struct GemmForm<true> {
  template <GemmPlan plan, class Input, class Weight, class Output>
  using Type = HaloGemm<plan, Input, Weight, Output>;
};
#endif
template <GemmPlan plan, class Input, class Weight, class Output>
using GemmOf = typename GemmForm<plan.has_halo()>::template Type<plan, Input, Weight, Output>;

template <GemmPlan plan, class Input, class Weight, class Output, class Epilogue>
__device__ inline void implicit_gemm(const GemmArguments<Input, Weight, Output>& arguments, const Epilogue& epilogue) {
  using Gemm = GemmOf<plan, Input, Weight, Output>;
  __shared__ typename Gemm::DeclaredShared shared;
  const GemmLaunch& launch = arguments.launch;
  const uint32_t block = block_of_xcd(static_cast<uint32_t>(block_index()), launch.tiles * launch.parts, own_gpu.xcds);
  Gemm gemm(arguments, block, Gemm::shared_in(shared));
  gemm.reduce();
  if (plan.is_split && launch.parts > 1)
    gemm.store_part(gemm.product, block);
  else
    gemm.store_sums(gemm.product, epilogue, 0);
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
  constexpr int fours_a_row = Block::Product::fours_a_row;
  const RowPlace place = block.place_of(Block::Product::row_at(four / fours_a_row));
  if (!place.is_inside) return;
  const int64_t tiles = arguments.launch.tiles, parts = arguments.launch.parts;
  typename Block::Four sums = block.partial(tile, four);
  int64_t part = 1;
  // Several loads at a time, added in their order.
  constexpr int at_once = 8;
  for (; part + at_once <= parts; part += at_once) {
    typename Block::Four loaded[at_once];
#pragma clang loop unroll(full)
    for (int i = 0; i < at_once; ++i) loaded[i] = block.partial((part + i) * tiles + tile, four);
#pragma clang loop unroll(full)
    for (int i = 0; i < at_once; ++i) sums += loaded[i];
  }
  for (; part < parts; ++part) sums += block.partial(part * tiles + tile, four);
  block.store_four(epilogue, block.voxel_of(place), block.wave_column(four % fours_a_row), sums);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
