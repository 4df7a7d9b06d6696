// Direct convolution by matrix tiles (AMX) on NCHWc: any kernel, stride, dilation and begin pads, ranks 1 to 3, one
// group. Operands are bfloat16 with sums in float32, bytes with exact sums in int32, or float32 as digits of bytes.
//
// Problem: as conv_direct.h, with inputs and weights rounded to bfloat16 or as they are, or as conv_int8.h. Method: a
// task copies what it reads into a strip (conv_strip.h); a block of 32 channels of a voxel (64 of bytes) is one line
// and one row of a tile. Then 16 consecutive flat voxels are a tile, and a tap of a block is one step at a constant
// distance. With bfloat16 and bytes six accumulators (96 voxels by 16 outputs) share each load of weights: weights come
// from the second-level cache at 1 KiB in 96 cycles, voxels from the first. With digits four accumulators hold the sums
// of 16 voxels, and weights come at 3 KiB in 128 cycles. Outputs in the gaps between rows are computed and dropped. The
// sums leave the accumulators through scratch to the epilogue.
//
// Limits: the copy reads each plane of the input once a task (of digits twice), and the epilogue follows the products
// instead of running between them. Not measured: no machine with AMX was at hand. Bound by: products of tiles (16
// cycles each), with few channels by the copy and the epilogue. The method's prototype reached 77 to 83% of the peak
// with 128 and 256 channels of bfloat16, 64 to 74% with bytes, and 65 to 71% with digits in three passes; this kernel
// has one.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_digits.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue, class Elements = TilesOfBfloat16>
class TilesConvolution {
 public:
  using Arguments = typename Elements::template Arguments<Input, Output>;  // the weights are TilesPacking's
  static_assert(tiles_support(shape, Elements::kind), "groups, or too many products of digits");

  static KernelWork work(const ConvSizes& sizes) { return tiles_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const TilesGeometry geometry = tiles_geometry(packing, arguments.sizes);
    const int64_t digit_stride = geometry.strip_voxels * voxel;
    TileSession tiles;
    for (int64_t index = task_begin; index < task_end; ++index) {
      auto* const strip = static_cast<Element*>(scratch);
      Task task{Walk::task(geometry, arguments.sizes, index / geometry.splits),
                strip,
                digit_stride,
                reinterpret_cast<Sum*>(strip + packing.strip_digits() * digit_stride),
                {}};
      if constexpr (is_scaled) task.scale = scale_of(arguments, geometry, task);
      if (!task.scale.is_float32) copy_strip(arguments, geometry, task);
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
  static constexpr TilesPacking packing{shape, Elements::kind};
  static constexpr int64_t voxel = packing.step_inputs();  // elements of a voxel in the strip
  static constexpr int64_t set_sums = most_accumulators * tile_rows * 16;
  static constexpr bool is_scaled = Elements::kind == TilesKind::digits;

  struct Task : Walk::Task {
    Element* strip;
    int64_t digit_stride;  // in elements; all of a digit stand together
    Sum* sums;  // [set][accumulator][flat voxel of a tile][output of a tile]; the spare store after the last set
    typename Elements::Scale scale;

    int64_t digits() const { return scale.sets * packing.digits(); }
  };

  // ---- the strip

  static void copy_strip(const Arguments& arguments, const TilesGeometry& geometry, const Task& task) {
    Walk::for_each_row(geometry, arguments.sizes, task, packing.input_blocks(),
                       [&](int64_t block, const Axes& first, bool is_inside, int64_t at) {
                         copy_row(arguments, task, block, first, is_inside, geometry.row_pitch,
                                  task.strip + at * voxel);
                       });
    // The voxels past the last one that the last tile reads.
    const int64_t end = packing.input_blocks() * geometry.block_pitch;
    fill(arguments, task, task.strip + end * voxel, (geometry.strip_voxels - end) * voxel);
  }

  // All kinds of padding are one byte repeated.
  static void fill(const Arguments& arguments, const Task& task, Element* elements, int64_t count) {
    const Element padding = Elements::padding(arguments);
    uint8_t byte;
    __builtin_memcpy(&byte, &padding, 1);
    for (int64_t i = 0; i < task.digits(); ++i, elements += task.digit_stride)
      __builtin_memset(static_cast<void*>(elements), byte, static_cast<size_t>(count) * sizeof(Element));
  }

  // A row of a phase, whose first element lies at `first` of the input; without padding that the next row has in
  // common. Weights of channels that pad a block are zero.
  static void copy_row(const Arguments& arguments, const Task& task, int64_t block, const Axes& first, bool is_inside,
                       int64_t columns, Element* row) {
    const auto [begin, end] = Walk::columns_inside(arguments.sizes, first, is_inside, columns);
    if (filled_parts(block) < parts || begin == end) fill(arguments, task, row, columns * voxel);
    fill(arguments, task, row, begin * voxel);
    fill(arguments, task, row + end * voxel, (columns - end) * voxel);
    for (int64_t part = 0; part < filled_parts(block); ++part) {
      const Input* source = part_of_row(arguments, task, block, part, first) + begin * shape.stride.w * lanes;
      for (int64_t column = begin; column < end; ++column, source += shape.stride.w * lanes)
        Elements::copy(source, row + column * voxel + part * lanes, task.digit_stride, task.scale);
    }
  }

  // A block of the strip consists of vectors of channels; the last one may have fewer.
  static constexpr int64_t parts = voxel / lanes;
  static int64_t filled_parts(int64_t block) {
    return smaller(parts, divide_up(shape.input_channels, lanes) - block * parts);
  }
  static const Input* part_of_row(const Arguments& arguments, const Task& task, int64_t block, int64_t part,
                                  const Axes& first) {
    return arguments.input + Walk::offset(arguments.input_view, task.batch, block * parts + part, first, lanes);
  }

  static DigitScale scale_of(const Arguments& arguments, const TilesGeometry& geometry, const Task& task) {
    StripStatistics statistics;
    Walk::for_each_row(geometry, arguments.sizes, task, packing.input_blocks(),
                       [&](int64_t block, const Axes& first, bool is_inside, int64_t) {
                         const auto [begin, end] =
                             Walk::columns_inside(arguments.sizes, first, is_inside, geometry.row_pitch);
                         for (int64_t part = 0; part < filled_parts(block); ++part) {
                           const Input* const source = part_of_row(arguments, task, block, part, first);
                           for (int64_t column = begin; column < end; ++column)
                             statistics.add(load(source + column * shape.stride.w * lanes));
                         }
                       });
    return statistics.scale();
  }

  // ---- products

  static void multiply(const Arguments& arguments, const Epilogue& epilogue, const TilesGeometry& geometry,
                       const Task& task, int64_t output, TileSession& tiles) {
    const int64_t end = Walk::flat_outputs(geometry, arguments.sizes, task);
    const auto* const weights = reinterpret_cast<const char*>(arguments.weights) + output * packing.output_tile_bytes();
    for (int64_t first = 0; first < end; first += packing.group_voxels()) {
      const int64_t last = smaller(end, first + packing.group_voxels());
      if (task.scale.is_float32) [[unlikely]] {
        if constexpr (is_scaled) sum_in_float32(arguments, geometry, task, weights, first, last);
      } else {
        multiply_group<0>(geometry, task, weights, first, tiles);
        if constexpr (is_scaled)
          if (task.scale.sets == 2) [[unlikely]]
            multiply_second_set(geometry, task, weights, first, tiles);
      }
      finish(arguments, epilogue, geometry, task, output, weights, first, last);
    }
  }

  [[gnu::noinline, gnu::cold]] static void multiply_second_set(const TilesGeometry& geometry, const Task& task,
                                                               const char* weights, int64_t first, TileSession& tiles) {
    multiply_group<1>(geometry, task, weights, first, tiles);
  }

  template <int set>
  static void multiply_group(const TilesGeometry& geometry, const Task& task, const char* weights, int64_t first,
                             TileSession& tiles) {
    // Granite Rapids: after some 2000 cycles without one a store takes 260 ns, once every 96 products none does.
    constexpr int64_t steps_a_store = 96 / Elements::products;
    Sum* const spare = task.sums + packing.sets() * set_sums;
    const Element* const strip = task.strip + set * packing.digits() * task.digit_stride;
    Elements::start(tiles, weights);
    weights += packing.start_bytes();
    int64_t step = 0;
    for (int64_t block = 0; block < packing.input_blocks(); ++block)
      for (int64_t kd = 0; kd < shape.kernel.d; ++kd)
        for (int64_t kh = 0; kh < shape.kernel.h; ++kh)
          for (int64_t kw = 0; kw < shape.kernel.w; ++kw, ++step, weights += packing.step_bytes()) {
            const Element* const voxels = strip + (first + Walk::tap_voxel(geometry, block, kd, kh, kw)) * voxel;
            Elements::template add_products<set>(tiles, voxels, task.digit_stride, weights);
            if (step % steps_a_store == steps_a_store - 1) tiles.store<weight_tile>(spare, tile_row_bytes);
          }
    for_each_tile<Elements::accumulators>([&]<int i>() __attribute__((always_inline)) {
      tiles.store<i>(task.sums + set * set_sums + i * tile_rows * 16, tile_row_bytes);
    });
  }

  // Sums by the definition: flat voxels [begin, end), at most a group. The weights are put together from their digits.
  [[gnu::noinline, gnu::cold]] static void sum_in_float32(const Arguments& arguments, const TilesGeometry& geometry,
                                                          const Task& task, const char* weights, int64_t begin,
                                                          int64_t end) {
    __builtin_memset(task.sums, 0, static_cast<size_t>(set_sums) * sizeof(float));
    int64_t tap = 0;
    for (int64_t kd = 0; kd < shape.kernel.d; ++kd)
      for (int64_t kh = 0; kh < shape.kernel.h; ++kh)
        for (int64_t kw = 0; kw < shape.kernel.w; ++kw, ++tap) {
          const Reads reads = reads_of_tap(arguments, geometry, task, {kd, kh, kw}, begin, end);
          for (int64_t input = 0; input < shape.input_channels; ++input)
            for (int64_t part = 0; part < TilesPacking::step_outputs; part += lanes) {
              const int64_t channel = input / lanes * arguments.input_view.channel_block_stride + input % lanes;
              const char* const words = weights + packing.offset(part, input / 4 * 4, tap);
              const vec unit = load(reinterpret_cast<const float*>(weights) + part);
              const vec weight = Elements::weight(words, static_cast<int>(input % 4), unit);
              for (int64_t i = 0; i < reads.count; ++i) {
                float* const sum = reads.sums[i] + part;
                store(sum, fma(load_splat(reads.voxel[i] + channel), weight, load(sum)));
              }
            }
        }
  }

  // The input that the outputs of a group read by one tap, if that is not padding.
  struct Reads {
    int64_t count = 0;
    const Input* voxel[packing.group_voxels()];
    float* sums[packing.group_voxels()];
  };
  static Reads reads_of_tap(const Arguments& arguments, const TilesGeometry& geometry, const Task& task,
                            const Axes& tap, int64_t begin, int64_t end) {
    const Axes &stride = shape.stride, &dilation = shape.dilation;
    const Axes &pads = arguments.sizes.begin_pads, &size = arguments.sizes.input;
    Reads reads;
    Walk::for_each_output(geometry, arguments.sizes, task, begin, end, [&](int64_t i, const Axes& at) {
      const Axes from{(task.plane + at.d) * stride.d + tap.d * dilation.d - pads.d,
                      (task.row + at.h) * stride.h + tap.h * dilation.h - pads.h,
                      at.w * stride.w + tap.w * dilation.w - pads.w};
      if (from.d < 0 || from.d >= size.d || from.h < 0 || from.h >= size.h || from.w < 0 || from.w >= size.w) return;
      reads.voxel[reads.count] = arguments.input + Walk::offset(arguments.input_view, task.batch, 0, from, lanes);
      reads.sums[reads.count++] = reinterpret_cast<float*>(task.sums) + packing.sums_offset(i);
    });
    return reads;
  }

  // ---- what the sums become

  // Flat voxels [begin, end) of a tile of outputs.
  static void finish(const Arguments& arguments, const Epilogue& epilogue, const TilesGeometry& geometry,
                     const Task& task, int64_t output, const char* start, int64_t begin, int64_t end) {
    const BlockedView& view = arguments.output_view;
    constexpr int64_t blocks = TilesPacking::step_outputs / lanes, all = divide_up(shape.output_channels, lanes);
    const int64_t first_block = output * blocks, last_block = smaller(all, first_block + blocks);
    Walk::for_each_output(geometry, arguments.sizes, task, begin, end, [&](int64_t i, const Axes& at) {
      for (int64_t block = first_block; block < last_block; ++block) {
        const Axes voxel_at{task.plane + at.d, task.row + at.h, at.w};
        const Position position{task.batch, block,      voxel_at.d,
                                voxel_at.h, voxel_at.w, Walk::offset(view, task.batch, block, voxel_at, lanes)};
        const int64_t part = (block - first_block) * lanes;
        auto value = epilogue(Elements::result(task.sums + packing.sums_offset(i) + part, start + part * 4, task.scale),
                              position);
        // The channels that pad the last block are zero.
        if constexpr (shape.output_channels % lanes != 0)
          value = keep_lanes(first_lanes(shape.output_channels - block * lanes), value);
        store(arguments.output + position.offset, value);
      }
    });
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
