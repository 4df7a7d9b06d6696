// Direct convolution of bfloat16 by matrix tiles (AMX) on NCHWc: any kernel, stride, dilation and begin pads, ranks 1
// to 3, one group; sums, epilogues and float32 outputs in float32.
//
// Problem: as conv_direct.h, with inputs and weights rounded to bfloat16. Method: a task copies what it reads into a
// strip (conv_strip.h), where 32 channels of a voxel are one line and one row of a tile. Then 16 consecutive flat
// voxels are a tile, and a tap of a block is one step at a constant distance. Six accumulators (96 voxels by 16
// outputs) share each load of weights: weights come from the second-level cache at 1 KiB in 96 cycles, voxels from the
// first. Outputs in the gaps between rows are computed and dropped. What leaves the accumulators goes through scratch
// to the epilogue.
//
// Limits: the copy reads each plane of the input once a task, and the epilogue follows the products instead of running
// between them. Not measured: no machine with AMX was at hand, so no target offers this kernel yet. Bound by: products
// of tiles (16 cycles each), with few channels by the copy and the epilogue. The method's prototype reached 77 to 83%
// of the peak with 128 and 256 channels.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"
#include "kernels/cpu/vector/tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
class TilesConvolution {
 public:
  using Arguments = ConvArguments<Input, Output, bfloat16_t>;  // the weights are TilesPacking's
  static_assert(tiles_support(shape), "groups");

  static KernelWork work(const ConvSizes& sizes) { return tiles_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const TilesGeometry geometry = tiles_geometry(packing, arguments.sizes);
    TileSession tiles;
    for (int64_t index = task_begin; index < task_end; ++index) {
      const Task task{Walk::task(geometry, arguments.sizes, index), static_cast<bfloat16_t*>(scratch),
                      reinterpret_cast<float*>(static_cast<bfloat16_t*>(scratch) + geometry.strip_voxels * voxel)};
      copy_strip(arguments, geometry, task);
      multiply(arguments, epilogue, geometry, task, tiles);
    }
  }

 private:
  static constexpr TilesPacking packing{shape};
  static constexpr int64_t voxel = TilesPacking::step_inputs;  // elements of a voxel in the strip
  using Walk = Strip<shape>;

  struct Task : Walk::Task {
    bfloat16_t* strip;
    float* sums;  // [flat voxel of a group][output of a tile]; the spare store behind
  };

  static void copy_strip(const Arguments& arguments, const TilesGeometry& geometry, const Task& task) {
    Walk::for_each_row(geometry, arguments.sizes, task, packing.input_blocks(),
                       [&](int64_t block, const Axes& first, bool is_inside, int64_t at) {
                         copy_row(arguments, task, block, first, is_inside, geometry.row_pitch,
                                  task.strip + at * voxel);
                       });
    // What the last tile reads behind the last voxel.
    const int64_t end = packing.input_blocks() * geometry.block_pitch;
    __builtin_memset(static_cast<void*>(task.strip + end * voxel), 0,
                     static_cast<size_t>(geometry.strip_voxels - end) * voxel * sizeof(bfloat16_t));
  }

  // A row of a phase, whose first element lies at `first` of the input; without padding that the next row has in
  // common.
  static void copy_row(const Arguments& arguments, const Task& task, int64_t block, const Axes& first, bool is_inside,
                       int64_t columns, bfloat16_t* row) {
    constexpr int64_t parts = voxel / lanes, blocks = divide_up(shape.input_channels, lanes);
    const BlockedView& view = arguments.input_view;
    const Input* const source = arguments.input + task.batch * view.batch_stride +
                                block * parts * view.channel_block_stride + first.d * view.d_stride +
                                first.h * view.h_stride;
    for (int64_t column = 0; column < columns; ++column, row += voxel) {
      const int64_t w = first.w + column * shape.stride.w;
      const bool has_voxel = is_inside && w >= 0 && w < arguments.sizes.input.w;
      for (int64_t part = 0; part < parts; ++part) {
        const bool has_channels = block * parts + part < blocks;
        const vec value =
            has_voxel && has_channels ? load(source + part * view.channel_block_stride + w * lanes) : splat(0.0f);
        onnxc::kernels::store(row + part * lanes, value);
      }
    }
  }

  // ---- products

  static void multiply(const Arguments& arguments, const Epilogue& epilogue, const TilesGeometry& geometry,
                       const Task& task, TileSession& tiles) {
    const int64_t end = Walk::flat_outputs(geometry, arguments.sizes, task);
    for (int64_t output = 0; output < packing.output_tiles(); ++output) {
      const bfloat16_t* const weights = arguments.weights + output * packing.steps() * TilesPacking::step_elements;
      for (int64_t first = 0; first < end; first += TilesGeometry::group_voxels) {
        multiply_group(geometry, task, weights, first, tiles);
        finish(arguments, epilogue, geometry, task, output, first, smaller(end, first + TilesGeometry::group_voxels));
      }
    }
  }

  static void multiply_group(const TilesGeometry& geometry, const Task& task, const bfloat16_t* weights, int64_t first,
                             TileSession& tiles) {
    for_each_accumulator([&]<int i>() __attribute__((always_inline)) { tiles.zero<i>(); });
    int64_t step = 0;
    for (int64_t block = 0; block < packing.input_blocks(); ++block)
      for (int64_t kd = 0; kd < shape.kernel.d; ++kd)
        for (int64_t kh = 0; kh < shape.kernel.h; ++kh)
          for (int64_t kw = 0; kw < shape.kernel.w; ++kw, ++step, weights += TilesPacking::step_elements) {
            const bfloat16_t* const voxels =
                task.strip + (first + Walk::tap_voxel(geometry, block, kd, kh, kw)) * voxel;
            tiles.load<weight_tile>(weights, tile_row_bytes);
            for_each_accumulator([&]<int i>() __attribute__((always_inline)) {
              tiles.load<voxel_tile>(voxels + i * tile_rows * voxel, tile_row_bytes);
              tiles.add_bfloat16_products<i, voxel_tile, weight_tile>();
            });
            // Granite Rapids: after some 2000 cycles without one a store takes 260 ns, once every 16 steps none does.
            if (step % 16 == 15) tiles.store<weight_tile>(task.sums + TilesGeometry::group_voxels * 16, tile_row_bytes);
          }
    for_each_accumulator([&]<int i>() __attribute__((always_inline)) {
      tiles.store<i>(task.sums + i * tile_rows * 16, tile_row_bytes);
    });
  }

  static constexpr int voxel_tile = 6, weight_tile = 7;

  template <class Visitor>
  [[gnu::always_inline]] static void for_each_accumulator(const Visitor& visit) {
    visit.template operator()<0>();
    visit.template operator()<1>();
    visit.template operator()<2>();
    visit.template operator()<3>();
    visit.template operator()<4>();
    visit.template operator()<5>();
  }

  // ---- what the sums become

  // Flat voxels [begin, end) of a tile of outputs.
  static void finish(const Arguments& arguments, const Epilogue& epilogue, const TilesGeometry& geometry,
                     const Task& task, int64_t output, int64_t begin, int64_t end) {
    const BlockedView& view = arguments.output_view;
    constexpr int64_t blocks = TilesPacking::step_outputs / lanes, all = divide_up(shape.output_channels, lanes);
    const int64_t first_block = output * blocks, last_block = smaller(all, first_block + blocks);
    Walk::for_each_output(geometry, arguments.sizes, task, begin, end, [&](int64_t i, const Axes& at) {
      for (int64_t block = first_block; block < last_block; ++block) {
        const Axes voxel_at{task.plane + at.d, task.row + at.h, at.w};
        const Position position{task.batch, block,      voxel_at.d,
                                voxel_at.h, voxel_at.w, Walk::offset(view, task.batch, block, voxel_at, lanes)};
        store(arguments, epilogue, position, load(task.sums + i * 16 + (block - first_block) * lanes));
      }
    });
  }

  // The channels that pad the last block are zero.
  static void store(const Arguments& arguments, const Epilogue& epilogue, const Position& position, vec sum) {
    vec value = epilogue(sum, position);
    if constexpr (shape.output_channels % lanes != 0)
      value = keep_lanes(first_lanes(shape.output_channels - position.channel_block * lanes), value);
    onnxc::kernels::store(arguments.output + position.offset, value);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
