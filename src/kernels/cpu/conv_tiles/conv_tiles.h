// Direct convolution by matrix tiles (AMX) on NCHWc: any kernel, stride, dilation and begin pads, ranks 1 to 3, one
// group; of bfloat16 with sums in float32, or of bytes with exact sums in int32.
//
// Problem: as conv_direct.h with inputs and weights rounded to bfloat16, or as conv_int8.h. Method: a task copies what
// it reads into a strip (conv_strip.h), where a block of 32 channels of a voxel (64 of bytes) is one line and one row
// of a tile. Then 16 consecutive flat voxels are a tile, and a tap of a block is one step at a constant distance. Six
// accumulators (96 voxels by 16 outputs) share each load of weights: weights come from the second-level cache at 1 KiB
// in 96 cycles, voxels from the first. Outputs in the gaps between rows are computed and dropped. What leaves the
// accumulators goes through scratch to the epilogue.
//
// Limits: the copy reads each plane of the input once a task, and the epilogue follows the products instead of running
// between them. Not measured: no machine with AMX was at hand. Bound by: products of tiles (16 cycles each), with few
// channels by the copy and the epilogue. The method's prototype reached 77 to 83% of the peak with 128 and 256
// channels of bfloat16, and 64 to 74% with bytes.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"
#include "kernels/cpu/vector/integers.h"
#include "kernels/cpu/vector/tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// What the elements of a strip are, and how tiles multiply them with weights.
struct TilesOfBfloat16 {
  using Element = bfloat16_t;
  using Sum = float;
  template <class Input, class Output>
  using Arguments = ConvArguments<Input, Output, bfloat16_t>;

  template <class Input>
  [[gnu::always_inline]] static void copy(const Input* source, Element* destination) {
    if constexpr (sizeof(Input) == sizeof(Element))
      __builtin_memcpy(destination, source, lanes * sizeof(Element));
    else
      store(destination, load(source));
  }
  template <class Input, class Output>
  static Element padding(const Arguments<Input, Output>&) {
    return Element(0.0f);
  }
  template <int sums>
  [[gnu::always_inline]] static void start(TileSession& tiles, const char*) {
    tiles.zero<sums>();
  }
  template <int sums, int voxels, int weights>
  [[gnu::always_inline]] static void add_products(TileSession& tiles) {
    tiles.add_bfloat16_products<sums, voxels, weights>();
  }
};

struct TilesOfBytes {
  using Element = uint8_t;
  using Sum = int32_t;
  template <class Input, class Output>
  using Arguments = ByteConvArguments<Input, Output>;

  template <class Input>
  [[gnu::always_inline]] static void copy(const Input* source, Element* destination) {
    const vec_uint8 value = detail::load_bits<vec_uint8>(source) ^ static_cast<vec_uint8>(sign_flip<Input>);
    __builtin_memcpy(destination, &value, sizeof(value));
  }
  template <class Input, class Output>
  static Element padding(const Arguments<Input, Output>& arguments) {
    return static_cast<uint8_t>(arguments.zero_point) ^ sign_flip<Input>;
  }
  // The same row in all rows of the tile.
  template <int sums>
  [[gnu::always_inline]] static void start(TileSession& tiles, const char* row) {
    tiles.load<sums>(row, 0);
  }
  template <int sums, int voxels, int weights>
  [[gnu::always_inline]] static void add_products(TileSession& tiles) {
    tiles.add_byte_products<sums, voxels, weights>();
  }
};

template <ConvShape shape, class Input, class Output, class Epilogue, class Elements = TilesOfBfloat16>
class TilesConvolution {
 public:
  using Arguments = typename Elements::template Arguments<Input, Output>;  // the weights are TilesPacking's
  static_assert(tiles_support(shape), "groups");

  static KernelWork work(const ConvSizes& sizes) { return tiles_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const TilesGeometry geometry = tiles_geometry(packing, arguments.sizes);
    TileSession tiles;
    for (int64_t index = task_begin; index < task_end; ++index) {
      auto* const strip = static_cast<Element*>(scratch);
      const Task task{Walk::task(geometry, arguments.sizes, index / geometry.splits), strip,
                      reinterpret_cast<Sum*>(strip + geometry.strip_voxels * voxel)};
      copy_strip(arguments, geometry, task);
      const int64_t output_begin = index % geometry.splits * geometry.units;
      const int64_t output_end = smaller(output_begin + geometry.units, packing.output_tiles());
      for (int64_t output = output_begin; output < output_end; ++output)
        multiply(arguments, epilogue, geometry, task, output, tiles);
    }
  }

 private:
  using Element = typename Elements::Element;
  using Sum = typename Elements::Sum;
  using Walk = Strip<shape>;
  static constexpr TilesPacking packing{shape, sizeof(Element)};
  static constexpr int64_t voxel = packing.step_inputs();  // elements of a voxel in the strip

  struct Task : Walk::Task {
    Element* strip;
    Sum* sums;  // [flat voxel of a group][output of a tile]; the spare store behind
  };

  static void copy_strip(const Arguments& arguments, const TilesGeometry& geometry, const Task& task) {
    Walk::for_each_row(geometry, arguments.sizes, task, packing.input_blocks(),
                       [&](int64_t block, const Axes& first, bool is_inside, int64_t at) {
                         copy_row(arguments, task, block, first, is_inside, geometry.row_pitch,
                                  task.strip + at * voxel);
                       });
    // What the last tile reads behind the last voxel.
    const int64_t end = packing.input_blocks() * geometry.block_pitch;
    fill(arguments, task.strip + end * voxel, (geometry.strip_voxels - end) * voxel);
  }

  // Both kinds of padding are one byte repeated.
  static void fill(const Arguments& arguments, Element* elements, int64_t count) {
    const Element padding = Elements::padding(arguments);
    uint8_t byte;
    __builtin_memcpy(&byte, &padding, 1);
    __builtin_memset(static_cast<void*>(elements), byte, static_cast<size_t>(count) * sizeof(Element));
  }

  // A row of a phase, whose first element lies at `first` of the input; without padding that the next row has in
  // common. Weights of channels that pad a block are zero.
  static void copy_row(const Arguments& arguments, const Task& task, int64_t block, const Axes& first, bool is_inside,
                       int64_t columns, Element* row) {
    constexpr int64_t parts = voxel / lanes, blocks = divide_up(shape.input_channels, lanes);
    const BlockedView& view = arguments.input_view;
    const auto [begin, end] = Walk::columns_inside(arguments.sizes, first, is_inside, columns);
    const int64_t filled = smaller(parts, blocks - block * parts);
    if (filled < parts || begin == end) fill(arguments, row, columns * voxel);
    fill(arguments, row, begin * voxel);
    fill(arguments, row + end * voxel, (columns - end) * voxel);
    for (int64_t part = 0; part < filled; ++part) {
      const Input* source = arguments.input + Walk::offset(view, task.batch, block * parts + part, first, lanes) +
                            begin * shape.stride.w * lanes;
      for (int64_t column = begin; column < end; ++column, source += shape.stride.w * lanes)
        Elements::copy(source, row + column * voxel + part * lanes);
    }
  }

  // ---- products

  static void multiply(const Arguments& arguments, const Epilogue& epilogue, const TilesGeometry& geometry,
                       const Task& task, int64_t output, TileSession& tiles) {
    const int64_t end = Walk::flat_outputs(geometry, arguments.sizes, task);
    const auto* const weights = reinterpret_cast<const char*>(arguments.weights) + output * packing.output_tile_bytes();
    for (int64_t first = 0; first < end; first += TilesGeometry::group_voxels) {
      multiply_group(geometry, task, weights, first, tiles);
      finish(arguments, epilogue, geometry, task, output, first, smaller(end, first + TilesGeometry::group_voxels));
    }
  }

  static void multiply_group(const TilesGeometry& geometry, const Task& task, const char* weights, int64_t first,
                             TileSession& tiles) {
    for_each_accumulator([&]<int i>() __attribute__((always_inline)) { Elements::template start<i>(tiles, weights); });
    weights += packing.start_bytes();
    int64_t step = 0;
    for (int64_t block = 0; block < packing.input_blocks(); ++block)
      for (int64_t kd = 0; kd < shape.kernel.d; ++kd)
        for (int64_t kh = 0; kh < shape.kernel.h; ++kh)
          for (int64_t kw = 0; kw < shape.kernel.w; ++kw, ++step, weights += TilesPacking::step_bytes) {
            const Element* const voxels = task.strip + (first + Walk::tap_voxel(geometry, block, kd, kh, kw)) * voxel;
            tiles.load<weight_tile>(weights, tile_row_bytes);
            for_each_accumulator([&]<int i>() __attribute__((always_inline)) {
              tiles.load<voxel_tile>(voxels + i * tile_rows * voxel, tile_row_bytes);
              Elements::template add_products<i, voxel_tile, weight_tile>(tiles);
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
        auto value = epilogue(load(task.sums + i * 16 + (block - first_block) * lanes), position);
        // The channels that pad the last block are zero.
        if constexpr (shape.output_channels % lanes != 0)
          value = keep_lanes(first_lanes(shape.output_channels - block * lanes), value);
        store(arguments.output + position.offset, value);
      }
    });
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
