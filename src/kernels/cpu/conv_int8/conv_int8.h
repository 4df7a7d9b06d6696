// Convolution of bytes on NCHWc with exact sums in int32: any kernel, stride, dilation, begin pads and groups, ranks 1
// to 3.
//
// Problem: y = sum (x - zero point) * w over uint8 or int8 inputs and int8 weights, as QLinearConv and ConvInteger have
// it; padding is the zero point. Method: a task copies what it reads into a strip (conv_strip.h) as unsigned bytes (an
// int8 is 128 more), with the zero point as padding. A register tile is 12 flat voxels by two blocks of outputs (4 by
// two with AVX2). For each quad of input channels there is one load of each block's weights, and a broadcast of each
// voxel's four bytes, which both blocks share (int8_quads.h). Planes of taps that read only padding are left out: a
// third of the products of two planes. The sum of the zero point's products is a constant of the output channel and the
// plane of taps, with which the sums begin. Groups that meet in a block of outputs share its products: each reads the
// quads of all, with weights of zero for the others'. The epilogue sees integers (integers.h).
//
// Limits: outputs in the gaps between rows are computed and dropped, and so are the voxels after the last row. Bound
// by: products, one VPDPBUSD for 64 of them; by the broadcasts with one block of outputs; by the copy with few outputs.
#pragma once

#include "kernels/cpu/conv_int8/conv_int8_geometry.h"
#include "kernels/cpu/vector/int8_quads.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
class Int8Convolution {
 public:
  using Arguments = ByteConvArguments<Input, Output>;  // the weights are Int8Packing's
  static_assert(sizeof(Input) == 1, "bytes");

  static KernelWork work(const ConvSizes& sizes) { return int8_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const Int8Geometry geometry = int8_geometry(packing, arguments.sizes);
    for (int64_t index = task_begin; index < task_end; ++index) {
      const Task task = Walk::task(geometry, arguments.sizes, index / geometry.splits);
      const int64_t chunk_begin = index % geometry.splits * geometry.units;
      const int64_t chunk_end = smaller(chunk_begin + geometry.units, packing.chunks());
      auto* const strip = static_cast<uint8_t*>(scratch);
      copy_strip(arguments, geometry, task, strip);
      for (int64_t chunk = chunk_begin; chunk < chunk_end; ++chunk) {
        constexpr int64_t most_blocks = packing.most_chunk_blocks();
        if (packing.chunk_blocks(chunk) == most_blocks)
          run_chunk<most_blocks>(arguments, epilogue, geometry, task, strip, chunk);
        else if constexpr (packing.output_blocks() % most_blocks == 1)
          run_chunk<1>(arguments, epilogue, geometry, task, strip, chunk);
      }
    }
  }

 private:
  static constexpr Int8Packing packing{shape, lanes};
  static constexpr int64_t tile_voxels = int8_tile_voxels(lanes);
  using Walk = Strip<shape>;
  using Task = typename Walk::Task;

  // ---- the strip

  static void copy_strip(const Arguments& arguments, const Int8Geometry& geometry, const Task& task, uint8_t* strip) {
    const uint8_t padding = as_unsigned(arguments.zero_point);
    Walk::for_each_row(geometry, arguments.sizes, task, packing.input_blocks(),
                       [&](int64_t block, const Axes& first, bool is_inside, int64_t at) {
                         copy_row(arguments, task, block, first, is_inside, geometry.row_pitch, padding,
                                  strip + at * lanes);
                       });
    // The voxels past the last one that the last tile reads.
    const int64_t end = packing.input_blocks() * geometry.block_pitch;
    __builtin_memset(strip + end * lanes, padding, static_cast<size_t>((geometry.strip_voxels - end) * lanes));
  }

  static void copy_row(const Arguments& arguments, const Task& task, int64_t block, const Axes& first, bool is_inside,
                       int64_t columns, uint8_t padding, uint8_t* row) {
    const BlockedView& view = arguments.input_view;
    constexpr int64_t stride = shape.stride.w;
    const auto [begin, end] = Walk::columns_inside(arguments.sizes, first, is_inside, columns);
    __builtin_memset(row, padding, static_cast<size_t>(begin * lanes));
    __builtin_memset(row + end * lanes, padding, static_cast<size_t>((columns - end) * lanes));
    const Input* source =
        arguments.input + Walk::offset(view, task.batch, block, first, lanes) + begin * stride * lanes;
    for (int64_t column = begin; column < end; ++column, source += stride * lanes) {
      vec_uint8 value = detail::load_bits<vec_uint8>(source);
      value ^= static_cast<vec_uint8>(sign_flip<Input>);
      __builtin_memcpy(row + column * lanes, &value, sizeof(value));
    }
  }

  // ---- products

  // Planes of taps [begin, end).
  struct Taps {
    int64_t begin, end;
  };

  // Those that read inside of the input from an output plane of the task.
  static Taps taps_inside(const ConvSizes& sizes, int64_t plane) {
    constexpr int64_t apart = shape.dilation.d;
    const int64_t first = plane * shape.stride.d - sizes.begin_pads.d;  // what the first tap reads
    const int64_t begin = first >= 0 ? 0 : divide_up(-first, apart);
    const int64_t end = first >= sizes.input.d ? 0 : divide_up(sizes.input.d - first, apart);
    return {smaller(begin, shape.kernel.d), smaller(end, shape.kernel.d)};
  }

  // With one tap there are no gaps between planes, and all are one.
  template <int64_t blocks>
  static void run_chunk(const Arguments& arguments, const Epilogue& epilogue, const Int8Geometry& geometry,
                        const Task& task, const uint8_t* strip, int64_t chunk) {
    const auto run_range = [&](int64_t begin, int64_t end, const Taps& taps) {
      const auto* const packed = reinterpret_cast<const int8_t*>(arguments.weights + packing.chunk_offset(chunk));
      for (int64_t first = begin; first < end; first += tile_voxels) {
        vec_int32 sums[tile_voxels][blocks];
        multiply_tile<blocks>(geometry, taps, strip + first * lanes, chunk, packed, sums);
        finish<blocks>(arguments, epilogue, geometry, task, chunk, first, smaller(end, first + tile_voxels), sums);
      }
    };
    if constexpr (shape.kernel == Axes{1, 1, 1}) {
      run_range(0, Walk::flat_outputs(geometry, arguments.sizes, task), {0, 1});
    } else {
      const int64_t voxels = (task.rows - 1) * geometry.row_pitch + arguments.sizes.output.w;
      for (int64_t plane = 0; plane < task.planes; ++plane)
        run_range(plane * geometry.plane_pitch, plane * geometry.plane_pitch + voxels,
                  taps_inside(arguments.sizes, task.plane + plane));
    }
  }

  template <int64_t blocks>
  [[gnu::always_inline]] static void multiply_tile(const Int8Geometry& geometry, const Taps& taps, const uint8_t* strip,
                                                   int64_t chunk, const int8_t* packed,
                                                   vec_int32 (&result)[tile_voxels][blocks]) {
    constexpr int64_t vector = packing.vector_bytes(), plane_taps = shape.kernel.h * shape.kernel.w;
    constexpr int64_t block_quads = lanes / 4;
    vec_int32 sums[tile_voxels][blocks];
#pragma clang loop unroll(full)
    for (int64_t block = 0; block < blocks; ++block) {
      vec_int32 start = splat(int32_t{0});
      for (int64_t kd = taps.begin; kd < taps.end; ++kd)
        start = add(start, load_words(packed + (kd * blocks + block) * vector));
#pragma clang loop unroll(full)
      for (int64_t voxel = 0; voxel < tile_voxels; ++voxel) sums[voxel][block] = start;
    }
    packed += shape.kernel.d * blocks * vector;
    const QuadRange all = packing.chunk_quads(chunk);
    for (int64_t input_block = all.begin / block_quads; input_block * block_quads < all.end; ++input_block) {
      const QuadRange of_block = packing.quads(chunk, input_block);
      const int64_t quads = of_block.count(), plane_bytes = plane_taps * quads * blocks * vector;
      const uint8_t* first_quad = strip + (of_block.begin - input_block * block_quads) * 4;
      const int8_t* weights = packed + taps.begin * plane_bytes;
      for (int64_t kd = taps.begin; kd < taps.end; ++kd)
        for (int64_t kh = 0; kh < shape.kernel.h; ++kh)
          for (int64_t kw = 0; kw < shape.kernel.w; ++kw) {
            const uint8_t* tap = first_quad + Walk::tap_voxel(geometry, input_block, kd, kh, kw) * lanes;
#pragma clang loop unroll(disable)
            for (int64_t quad = 0; quad < quads; ++quad, tap += 4, weights += blocks * vector)
              multiply_quad<blocks>(tap, weights, sums);
          }
      packed += shape.kernel.d * plane_bytes;
    }
#pragma clang loop unroll(full)
    for (int64_t voxel = 0; voxel < tile_voxels; ++voxel)
#pragma clang loop unroll(full)
      for (int64_t block = 0; block < blocks; ++block) result[voxel][block] = sums[voxel][block];
  }

  template <int64_t blocks>
  [[gnu::always_inline]] static void multiply_quad(const uint8_t* tap, const int8_t* weights,
                                                   vec_int32 (&sums)[tile_voxels][blocks]) {
    vec_int32 w[blocks];
#pragma clang loop unroll(full)
    for (int64_t block = 0; block < blocks; ++block) w[block] = load_words(weights + block * packing.vector_bytes());
#pragma clang loop unroll(full)
    for (int64_t voxel = 0; voxel < tile_voxels; ++voxel) {
      const vec_int32 x = load_splat_word(tap + voxel * lanes);
#pragma clang loop unroll(full)
      for (int64_t block = 0; block < blocks; ++block) sums[voxel][block] = add_quads(sums[voxel][block], x, w[block]);
    }
  }

  // ---- what the sums become

  template <int64_t blocks>
  static void finish(const Arguments& arguments, const Epilogue& epilogue, const Int8Geometry& geometry,
                     const Task& task, int64_t chunk, int64_t begin, int64_t end,
                     const vec_int32 (&sums)[tile_voxels][blocks]) {
    Walk::for_each_output(geometry, arguments.sizes, task, begin, end, [&](int64_t i, const Axes& at) {
      for (int64_t k = 0; k < blocks; ++k) {
        const Axes voxel{task.plane + at.d, task.row + at.h, at.w};
        const int64_t block = packing.first_block(chunk) + k;
        const Position position{task.batch, block,
                                voxel.d,    voxel.h,
                                voxel.w,    Walk::offset(arguments.output_view, task.batch, block, voxel, lanes)};
        auto value = epilogue(sums[i][k], position);  // integers or floats
        // The channels that pad the last block are zero.
        if constexpr (shape.output_channels % lanes != 0)
          value = keep_lanes(first_lanes(shape.output_channels - block * lanes), value);
        store(arguments.output + position.offset, value);
      }
    });
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
