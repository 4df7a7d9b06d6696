// The reduction of a convolution of stride 1 on NVIDIA's Hopper, whose activations go to LDS once for all taps.
//
// Problem: that of implicit_gemm.h. There a row of activations is read from the second-level cache at each of 27 taps,
// which takes more than twice the time of its products.
//
// Method: a tile's rows are the voxels of a brick (GemmPlan::brick), 4x8x8 say. A block copies the brick and the voxels
// around it that taps reach, 6x10x10, for 64 bytes of channels. It then visits all taps, while the next channels are
// copied beside. Voxels outside the input are zeros in LDS. Weights come tap by tap, in some stages. Floats are rounded
// or split in LDS by the thread that copied them.
//
//   per voxel and 32 channels of float16, 64 columns, 27 taps:      voxels read from the cache   bytes with weights
//     tiles of successive voxels                                                           27                 2176
//     bricks of 4x8x8                                                                     2.3                  582
//
// Limits: dilations widen the halo; a kernel of one tap, or two in a line, has nothing to gain. Bricks at the edge of
// the output compute voxels that nobody stores.
//
// Bound by: LDS (halo_tile.h).
#pragma once

#include "kernels/hip/gemm/gemm_block.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <GemmPlan plan, class Input, class Weight, class Output>
struct HaloGemm : GemmBlock<plan, Input, Weight, Output> {
  using Block = GemmBlock<plan, Input, Weight, Output>;
  using Block::arguments, Block::first_column, Block::first_place, Block::group, Block::image, Block::shape;
  using typename Block::Product, typename Block::Steps;

  static constexpr int taps = plan.halo().taps_a_step(), steps = plan.halo().steps(), ahead = plan.halo().ahead(),
                       stages = plan.halo().stages(), copy_steps = plan.halo().copy_steps();
  static constexpr int column_chunks = plan.tile.columns * 4;
  // Chunks of a halo: all of a block's for one voxel after the other, then those of the next block.
  static constexpr int block_chunks = plan.halo().block_chunks(), blocks = plan.halo().blocks,
                       voxel_count = plan.halo().voxels().product(), chunk_count = plan.halo().chunks(),
                       plane_bytes = plan.halo().plane_bytes(), halo_bytes = plan.halo().bytes();
  // Those of a thread, and what it copies of them in a step.
  static constexpr int own_chunks = static_cast<int>(divide_up(chunk_count, nest_threads)),
                       chunks_a_step = static_cast<int>(divide_up(own_chunks, copy_steps));
  static constexpr bool changes_elements = plan.halo().changes_elements;

  using Shared = typename Product::Shared;
  static_assert(sizeof(Shared) == plan.lds_bytes(own_gpu));
  struct DeclaredShared {};  // the launch asks for it
  __device__ static Shared& shared_in(DeclaredShared& /*declared*/) {
    return *reinterpret_cast<Shared*>(Product::launch_lds());
  }

  Shared& shared;
  Product product;

  __device__ HaloGemm(const GemmArguments<Input, Weight, Output>& arguments_, int64_t which, Shared& shared_)
      : Block(arguments_, which), shared(shared_), product(shared_) {}

  // ---- the halo

  struct HaloChunk {
    uint32_t block, voxel, chunk;
  };
  __device__ static HaloChunk chunk_of(uint32_t number) {
    constexpr uint32_t of_block = block_chunks * voxel_count;
    return {number / of_block, number % of_block / block_chunks, number % block_chunks};
  }
  __device__ char* place_of_chunk(int halo, const HaloChunk& at) const {
    return shared.halos[halo] + (at.block * block_chunks + at.chunk) * plane_bytes +
           at.voxel * static_cast<uint32_t>(matrix_row_bytes);
  }
  // Calls visit(number of a chunk, whether there is one) for some of this thread's from number `first` on.
  template <int count, class Visit>
  __device__ static void visit_chunks(int first, Visit visit) {
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i) {
      const int number = (first + i) * nest_threads + thread_index();
      visit(static_cast<uint32_t>(number), number < chunk_count);
    }
  }

  __device__ void copy_chunk(int halo, int32_t pair, uint32_t number) const {
    constexpr auto height = static_cast<uint32_t>(plan.halo().voxels().h),
                   width = static_cast<uint32_t>(plan.halo().voxels().w);
    const HaloChunk at = chunk_of(number);
    const Axes &size = arguments.sizes.input, &pads = arguments.sizes.begin_pads;
    const GemmView& view = arguments.input_view;
    const int32_t d = first_place.d + static_cast<int32_t>(at.voxel / (height * width)) - static_cast<int32_t>(pads.d),
                  h = first_place.h + static_cast<int32_t>(at.voxel / width % height) - static_cast<int32_t>(pads.h),
                  w = first_place.w + static_cast<int32_t>(at.voxel % width) - static_cast<int32_t>(pads.w);
    const int32_t block = pair * blocks + static_cast<int32_t>(at.block);
    const bool is_inside = (static_cast<uint32_t>(d) < static_cast<uint32_t>(size.d)) &
                           (static_cast<uint32_t>(h) < static_cast<uint32_t>(size.h)) &
                           (static_cast<uint32_t>(w) < static_cast<uint32_t>(size.w)) &
                           (block < static_cast<int32_t>(plan.input_blocks()));
    constexpr auto elements = static_cast<int>(chunk_bytes / sizeof(Input));
    const Input* const from = arguments.input + image * view.batch + group * view.group + block * view.block +
                              Block::offset_of(d, h, w, view) + at.chunk * elements;
    copy_to_lds<false>(lds_address(place_of_chunk(halo, at)),
                       is_inside ? from : static_cast<const Input*>(arguments.zeros), is_inside);
  }
  template <int count>
  __device__ void copy_chunks(int halo, int32_t pair, int first) const {
    visit_chunks<count>(first, [&](uint32_t number, bool exists) {
      if (exists) copy_chunk(halo, pair, number);
    });
  }

  // Rounds or splits floats that this thread copied, as products take them.
  template <int count>
  __device__ void change_chunks(int halo, int first) const {
    visit_chunks<count>(first, [&](uint32_t number, bool exists) {
      const HaloChunk at = chunk_of(number);
      Chunk value = {};
      if (exists) value = *reinterpret_cast<const Chunk*>(place_of_chunk(halo, at));
      if constexpr (plan.products == Products::xf32) {
#pragma clang loop unroll(full)
        for (int word = 0; word < 4; ++word) value[word] = rounded_to_tf32(value[word]);
        if (exists) *reinterpret_cast<Chunk*>(place_of_chunk(halo, at)) = value;
      } else {
        // Four lanes have a voxel's chunks, and leave their high parts in the first two, the low ones in the others.
        const SplitFloats parts = split(__builtin_bit_cast(Float4, value));
        wave_barrier();
        if (exists) {
          const uint32_t chunk = at.chunk / 2, half = at.chunk % 2 * 8;
          *reinterpret_cast<UInt2*>(place_of_chunk(halo, {0, at.voxel, chunk}) + half) = parts.high;
          *reinterpret_cast<UInt2*>(place_of_chunk(halo, {0, at.voxel, chunk + 2}) + half) = parts.low;
        }
      }
    });
  }

  // ---- weights

  static constexpr int64_t weight_step = plan.weight_offset(0, 1, 0);
  __device__ void copy_weights(int stage, const Weight* weights) const {
#pragma clang loop unroll(full)
    for (int i = 0; i < taps * column_chunks; i += nest_threads) {
      const int number = i + thread_index(), tap = number / column_chunks, row = number % column_chunks / 4;
      if (number < taps * column_chunks)
        Product::template copy_chunk<false>(
            shared.columns[stage] + tap * Product::tap_bytes, Product::lds_column(row), number % 4,
            reinterpret_cast<const Chunk*>(weights + tap * weight_step) + number % column_chunks, true);
    }
  }

  // ---- the reduction

  // How much further in LDS than at the first tap the rows of a step's first tap are.
  __device__ static int further_at(int halo, int step) {
    constexpr auto width = static_cast<int>(shape.kernel.w), height = static_cast<int>(shape.kernel.h);
    constexpr auto plane = static_cast<int>(plan.halo().offset(shape.dilation.d, 0, 0)),
                   line = static_cast<int>(plan.halo().offset(0, shape.dilation.h, 0)),
                   voxel = static_cast<int>(plan.halo().offset(0, 0, shape.dilation.w));
    const int tap = step * taps;
    return halo * halo_bytes + tap / (width * height) * plane + tap / width % height * line + tap % width * voxel;
  }
  __device__ static constexpr int stage_after(int stage) { return stage + 1 == stages ? 0 : stage + 1; }

  // After the barrier all copies of the step are there, and the products of two steps before are done with the stage
  // that is filled next. At the second step of a pair of blocks they are done with the halo of the pair before as well.
  __device__ void reduce() {
    product.clear();
    const Steps pairs = this->steps_of_part(static_cast<int32_t>(plan.pairs()));
    const int32_t last_pair = pairs.first + pairs.count - 1, count = pairs.count * steps;
    const Weight* weights =
        arguments.weights + plan.weight_offset(group, pairs.first * int64_t{steps * taps}, first_column);
    copy_chunks<own_chunks>(0, pairs.first, 0);
    Product::end_copies();
#pragma clang loop unroll(full)
    for (int stage = 0; stage < ahead; ++stage) {
      copy_weights(stage, weights);
      weights += taps * weight_step;
      Product::end_copies();
    }
    if constexpr (changes_elements) {
      Product::template wait_for_copies<ahead>();
      change_chunks<own_chunks>(0, 0);
    }
    int32_t pair = pairs.first;
    int stage = 0, further = ahead, step = 0, halo = 0;
#pragma clang loop unroll(disable)
    for (int32_t i = 0; i < count; ++i) {
      Product::template wait_for_copies<ahead - 1>();
      if constexpr (changes_elements)
        if ((step > ahead) & (step <= ahead + copy_steps) & (pair < last_pair))
          change_chunks<chunks_a_step>(1 - halo, (step - ahead - 1) * chunks_a_step);
      Product::show_copies();
      barrier();
      product.start(stage, further_at(halo, step));
      if (i + ahead < count) copy_weights(further, weights);
      weights += taps * weight_step;
      if ((step > 0) & (step <= copy_steps) & (pair < last_pair))
        copy_chunks<chunks_a_step>(1 - halo, pair + 1, (step - 1) * chunks_a_step);
      Product::end_copies();
      product.template finish<1>();
      stage = stage_after(stage);
      further = stage_after(further);
      if (++step == steps) {
        step = 0;
        ++pair;
        halo = 1 - halo;
      }
    }
    product.template finish<0>();
    Product::template wait_for_copies<0>();
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
