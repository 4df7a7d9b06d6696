// Winograd convolution of bytes on NCHWc with exact sums in int32: kernels of three taps and one, without stride.
//
// Problem: conv_int8.h reaches the rate of its products, and nothing but fewer products is faster. Method: Winograd's
// transforms in whole numbers. Inputs are centred (an uint8 is 128 less), so that their transform fits into int16; the
// weights' transform, times 2 or 24 an axis, does too. Products of pairs of int16 are summed modulo 2^32. The output's
// transform gives the multiple of the sum: the odd part is divided out by its inverse modulo 2^32, the power of two by
// an arithmetic shift. The sum is exact if it fits into what that shift leaves, and the compiler asks the weights
// whether each does (int8_winograd_is_exact). Bits are those of conv_int8.
//
// A task has a range of tiles. For each depth point it transforms all channels of the input over rows and columns into
// scratch. Then for each chunk of two blocks of output channels it multiplies each point's tiles by the point's
// weights. A register tile of 12 tiles by two blocks (4 by two with AVX2) transforms the products back and adds them to
// the tile's planes of outputs. Scratch stays in the second-level cache.
//
// Bound by: products, half as many an instruction as conv_int8.h's and one sixth of its number with F(2,4,4); with few
// channels by the transforms. Limits: F(2,4,4) holds for sums below 2^24, as 128 input channels or so give them; tiles
// that reach out of the output are computed whole.
#pragma once

#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd_geometry.h"
#include "kernels/cpu/vector/int16_pairs.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The points of one axis, from the inputs that a tile reads along it.
template <int64_t outputs>
[[gnu::always_inline]] inline void int8_winograd_points(const vec_int16 (&x)[Int8WinogradAxis{outputs}.points()],
                                                        vec_int16 (&point)[Int8WinogradAxis{outputs}.points()]) {
  if constexpr (outputs == 1) {
    point[0] = x[0];
  } else if constexpr (outputs == 2) {
    point[0] = x[0] - x[2];
    point[1] = x[1] + x[2];
    point[2] = x[2] - x[1];
    point[3] = x[1] - x[3];
  } else {
    const vec_int16 even = x[4] - (x[2] << 2), odd = x[3] - (x[1] << 2);
    const vec_int16 near = x[4] - x[2], far = (x[3] - x[1]) << 1;
    point[0] = ((x[0] - x[2]) << 2) + near;
    point[1] = even + odd;
    point[2] = even - odd;
    point[3] = near + far;
    point[4] = near - far;
    point[5] = ((x[1] - x[3]) << 2) + (x[5] - x[3]);
  }
}

// A tile's outputs along one axis from its points: times 2^Int8WinogradAxis::shift, and times 3 of four outputs.
template <int64_t outputs>
[[gnu::always_inline]] inline void int8_winograd_outputs(const vec_uint32 (&point)[Int8WinogradAxis{outputs}.points()],
                                                         vec_uint32 (&y)[outputs]) {
  if constexpr (outputs == 1) {
    y[0] = point[0];
  } else if constexpr (outputs == 2) {
    y[0] = point[0] + point[1] + point[2];
    y[1] = point[1] - point[2] - point[3];
  } else {
    const vec_uint32 sum_of_ones = point[1] + point[2], difference_of_ones = point[1] - point[2];
    const vec_uint32 sum_of_twos = point[3] + point[4], difference_of_twos = point[3] - point[4];
    y[0] = point[0] + (sum_of_ones << 1) + sum_of_twos;
    y[1] = difference_of_ones + difference_of_twos;
    y[2] = sum_of_ones + (sum_of_twos << 1);
    y[3] = difference_of_ones + (difference_of_twos << 2) + (point[5] << 1);
  }
}

// The matrix product of a register tile. x: [row][pair], whose rows are `row_stride` apart; w: [pair][block][lane];
// products: [row][block][lane].
template <int64_t rows, int64_t blocks>
[[gnu::always_inline]] inline void int8_winograd_multiply(const int16_t* x, int64_t row_stride, const int16_t* w,
                                                          int64_t pairs, int32_t* products) {
  vec_int32 sums[rows][blocks];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int64_t b = 0; b < blocks; ++b) sums[i][b] = splat(int32_t{0});
#pragma clang loop unroll(disable)
  for (int64_t pair = 0; pair < pairs; ++pair, x += 2, w += blocks * 2 * lanes) {
    vec_int32 column[blocks];
#pragma clang loop unroll(full)
    for (int64_t b = 0; b < blocks; ++b) column[b] = load_words(w + b * 2 * lanes);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < rows; ++i) {
      const vec_int32 element = load_splat_word(x + i * row_stride);
#pragma clang loop unroll(full)
      for (int64_t b = 0; b < blocks; ++b) sums[i][b] = add_pairs(sums[i][b], element, column[b]);
    }
  }
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < rows; ++i)
#pragma clang loop unroll(full)
    for (int64_t b = 0; b < blocks; ++b) store(products + (i * blocks + b) * lanes, sums[i][b]);
}

// `tile`: outputs of a tile along each axis (int8_winograd_supports).
template <ConvShape shape, class Input, class Output, class Epilogue, Axes tile>
class Int8WinogradConvolution {
 public:
  using Arguments = ByteConvArguments<Input, Output>;  // the weights are Int8WinogradPacking's
  static_assert(int8_winograd_supports(shape, tile), "a convolution that has no such form");
  static_assert(sizeof(Input) == 1, "bytes");

  static KernelWork work(const ConvSizes& sizes) { return int8_winograd_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const Int8WinogradGeometry geometry = int8_winograd_geometry(packing, arguments.sizes);
    for (int64_t index = task_begin; index < task_end; ++index) {
      const Task task = select(geometry, index, scratch);
      run_depth_points<0>(arguments, geometry, task);
      for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk)
        finish(arguments, epilogue, geometry, task, chunk);
    }
  }

 private:
  static constexpr Int8WinogradPacking packing{shape, tile, lanes};
  static constexpr int64_t row_points = packing.row().points(), column_points = packing.column().points();
  static constexpr int64_t plane_outputs = tile.h * tile.w;
  static constexpr int64_t tile_sums = tile.product() * lanes;  // of a block
  static constexpr int64_t register_rows = int8_winograd_rows(lanes);
  static constexpr int64_t channels = packing.input_blocks() * lanes;
  static constexpr int64_t point_stride = register_rows * channels;  // of the inputs
  static constexpr int64_t row_bytes = column_points * lanes;        // that a tile reads of a row of a block

  struct Task {
    int64_t batch;
    int64_t begin, end;              // tiles of the image
    int64_t chunk_begin, chunk_end;  // of output channels
    // In groups of as many tiles as a register tile has, so that what one tile touches lies on few pages.
    int16_t* inputs;    // [group][point of row and column][tile][channel]
    int32_t* products;  // [group][point of row and column][tile][block][lane] of a chunk
    int32_t* sums;      // [chunk][tile][block][output of a tile][lane]
    int64_t groups;
  };

  static Task select(const Int8WinogradGeometry& geometry, int64_t index, void* scratch) {
    const int64_t range = index / geometry.splits % geometry.ranges, split = index % geometry.splits;
    auto* const bytes = static_cast<uint8_t*>(scratch);
    Task task;
    task.batch = index / geometry.splits / geometry.ranges;
    task.begin = range * geometry.range_tiles;
    task.end = smaller(task.begin + geometry.range_tiles, geometry.tiles.product());
    task.chunk_begin = split * geometry.split_chunks;
    task.chunk_end = smaller(task.chunk_begin + geometry.split_chunks, packing.chunks());
    task.inputs = static_cast<int16_t*>(scratch);
    task.products = reinterpret_cast<int32_t*>(bytes + geometry.product_offset);
    task.sums = reinterpret_cast<int32_t*>(bytes + geometry.sum_offset);
    task.groups = divide_up(task.end - task.begin, register_rows);
    return task;
  }

  // Calls visit(first, begin, count) for each line of tiles of the task, or part of one: `first` is the first output of
  // its first tile, which is the task's tile `begin`. Lines are read and written in their order in memory: so they come
  // from there fastest.
  template <class Visit>
  [[gnu::always_inline]] static void for_each_line(const Int8WinogradGeometry& geometry, const Task& task,
                                                   const Visit& visit) {
    const Axes& tiles = geometry.tiles;
    for (int64_t at = task.begin; at < task.end;) {
      const int64_t column = at % tiles.w, count = smaller(tiles.w - column, task.end - at);
      visit(Axes{at / tiles.w / tiles.h * tile.d, at / tiles.w % tiles.h * tile.h, column * tile.w}, at - task.begin,
            count);
      at += count;
    }
  }

  template <int64_t point>
  static void run_depth_points(const Arguments& arguments, const Int8WinogradGeometry& geometry, const Task& task) {
    transform_inputs<point>(arguments, geometry, task);
    for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
      const auto* const weights =
          reinterpret_cast<const int16_t*>(arguments.weights + packing.chunk_offset(point, chunk));
      int32_t* const sums = task.sums + (chunk - task.chunk_begin) * task.groups * register_rows * 2 * tile_sums;
      if (packing.chunk_blocks(chunk) == 2)
        multiply<point, 2>(task, weights, sums);
      else
        multiply<point, 1>(task, weights, sums);
    }
    if constexpr (point + 1 < packing.depth().points()) run_depth_points<point + 1>(arguments, geometry, task);
  }

  // ---- the input's transform

  static constexpr bool is_unsigned = Input(-1) > Input(0);

  // A depth point is one plane of the input, or the sum or difference of two.
  struct Planes {
    int64_t count, first, second;
    bool is_sum;
  };
  static constexpr Planes planes_of(int64_t point) {
    constexpr Planes two[] = {{2, 0, 2, false}, {2, 1, 2, true}, {2, 2, 1, false}, {2, 1, 3, false}};
    return tile.d == 1 ? Planes{1, 0, 0, false} : two[point];
  }

  // The rows that a tile reads of a plane: in the input, or copied with their padding.
  struct Rows {
    const Input* row[row_points];
    Input padded[row_points][row_bytes];
  };

  template <int64_t point>
  [[gnu::noinline]] static void transform_inputs(const Arguments& arguments, const Int8WinogradGeometry& geometry,
                                                 const Task& task) {
    constexpr Planes planes = planes_of(point);
    const Axes& pads = arguments.sizes.begin_pads;
    for_each_line(geometry, task, [&](const Axes& output, int64_t begin, int64_t count) {
      const Axes first{output.d - pads.d + planes.first, output.h - pads.h, output.w - pads.w};
      const int64_t to_second = planes.second - planes.first;
      Rows a, b;
      for (int64_t block = 0; block < packing.input_blocks(); ++block) {
        Axes at = first;
        for (int64_t i = begin; i < begin + count; ++i, at.w += tile.w) {
          find_rows(arguments, task.batch, block, at, a);
          if constexpr (planes.count == 2) find_rows(arguments, task.batch, block, {at.d + to_second, at.h, at.w}, b);
          int16_t* const to = task.inputs + i / register_rows * packing.plane_points() * point_stride +
                              i % register_rows * channels + block * lanes;
          transform_tile<planes.count, planes.is_sum>(a, b, to);
        }
      }
    });
  }

  [[gnu::always_inline]] static void find_rows(const Arguments& arguments, int64_t batch, int64_t block,
                                               const Axes& first, Rows& rows) {
    const Axes& size = arguments.sizes.input;
    const BlockedView& view = arguments.input_view;
    const int64_t offset = batch * view.batch_stride + block * view.channel_block_stride + first.d * view.d_stride +
                           first.h * view.h_stride + first.w * lanes;
    const bool has_all_columns = first.w >= 0 && first.w + column_points <= size.w;
    const bool has_plane = first.d >= 0 && first.d < size.d;
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < row_points; ++i) {
      const bool is_inside = has_plane && first.h + i >= 0 && first.h + i < size.h;
      if (is_inside && has_all_columns)
        rows.row[i] = arguments.input + offset + i * view.h_stride;
      else
        rows.row[i] = pad_row(arguments, offset + i * view.h_stride, first.w, is_inside, rows.padded[i]);
    }
  }

  [[gnu::noinline]] static const Input* pad_row(const Arguments& arguments, int64_t offset, int64_t column,
                                                bool is_inside, Input* to) {
    const int64_t width = arguments.sizes.input.w;
    __builtin_memset(to, static_cast<uint8_t>(arguments.zero_point), row_bytes);
    const int64_t begin = larger(0, -column), end = smaller(column_points, width - column);
    if (is_inside && begin < end)
      __builtin_memcpy(to + begin * lanes, arguments.input + offset + begin * lanes,
                       static_cast<size_t>((end - begin) * lanes));
    return to;
  }

  // A byte as it is; an uint8 is centred by subtracting 128 for each plane that is added.
  [[gnu::always_inline]] static vec_int16 load_bytes(const Input* source) {
    typedef Input vec_bytes __attribute__((ext_vector_type(lanes)));
    return __builtin_convertvector(detail::load_bits<vec_bytes>(source), vec_int16);
  }

  template <int64_t planes, bool is_sum>
  [[gnu::always_inline]] static void transform_tile(const Rows& a, const Rows& b, int16_t* to) {
    vec_int16 partial[row_points][column_points];
#pragma clang loop unroll(full)
    for (int64_t c = 0; c < column_points; ++c) {
      vec_int16 x[row_points], points[row_points];
#pragma clang loop unroll(full)
      for (int64_t r = 0; r < row_points; ++r) {
        x[r] = load_bytes(a.row[r] + c * lanes);
        if constexpr (planes == 2) {
          const vec_int16 other = load_bytes(b.row[r] + c * lanes);
          x[r] = is_sum ? x[r] + other : x[r] - other;
        }
        if constexpr (is_unsigned && (planes == 1 || is_sum)) x[r] -= static_cast<int16_t>(128 * planes);
      }
      int8_winograd_points<tile.h>(x, points);
#pragma clang loop unroll(full)
      for (int64_t r = 0; r < row_points; ++r) partial[r][c] = points[r];
    }
#pragma clang loop unroll(full)
    for (int64_t r = 0; r < row_points; ++r) {
      vec_int16 points[column_points];
      int8_winograd_points<tile.w>(partial[r], points);
#pragma clang loop unroll(full)
      for (int64_t c = 0; c < column_points; ++c) store(to + (r * column_points + c) * point_stride, points[c]);
    }
  }

  // ---- products, and their transform

  template <int64_t point, int64_t blocks>
  [[gnu::noinline]] static void multiply(const Task& task, const int16_t* weights, int32_t* sums) {
    constexpr int64_t product_stride = register_rows * blocks * lanes;  // from a point to the next
    for (int64_t at = 0; at < packing.plane_points(); ++at, weights += packing.pairs() * blocks * 2 * lanes)
      for (int64_t group = 0; group < task.groups; ++group) {
        const int64_t index = group * packing.plane_points() + at;
        int8_winograd_multiply<register_rows, blocks>(task.inputs + index * point_stride, channels, weights,
                                                      packing.pairs(), task.products + index * product_stride);
      }
    const int32_t* products = task.products;
    for (int64_t group = 0; group < task.groups; ++group, products += packing.plane_points() * product_stride)
      for (int64_t i = 0; i < register_rows * blocks; ++i, sums += tile_sums)
        add_outputs<point, product_stride>(products + i * lanes, sums);
  }

  // Adds what a depth point gives to the outputs of one tile and block.
  template <int64_t point, int64_t product_stride>
  [[gnu::always_inline]] static void add_outputs(const int32_t* products, int32_t* sums) {
    vec_uint32 partial[tile.h][column_points];
#pragma clang loop unroll(full)
    for (int64_t c = 0; c < column_points; ++c) {
      vec_uint32 points[row_points], y[tile.h];
#pragma clang loop unroll(full)
      for (int64_t r = 0; r < row_points; ++r) points[r] = get(products + (r * column_points + c) * product_stride);
      int8_winograd_outputs<tile.h>(points, y);
#pragma clang loop unroll(full)
      for (int64_t r = 0; r < tile.h; ++r) partial[r][c] = y[r];
    }
#pragma clang loop unroll(full)
    for (int64_t r = 0; r < tile.h; ++r) {
      vec_uint32 y[tile.w];
      int8_winograd_outputs<tile.w>(partial[r], y);
#pragma clang loop unroll(full)
      for (int64_t c = 0; c < tile.w; ++c) {
        int32_t* const to = sums + (r * tile.w + c) * lanes;
        if constexpr (tile.d == 1) {
          set(to, y[c]);
        } else {
          // As int8_winograd_outputs<2> has it: y0 = p0 + p1 + p2, y1 = p1 - p2 - p3.
          int32_t* const next_plane = to + plane_outputs * lanes;
          if constexpr (point == 0) set(to, y[c]);
          if constexpr (point == 1 || point == 2) set(to, get(to) + y[c]);
          if constexpr (point == 1) set(next_plane, y[c]);
          if constexpr (point > 1) set(next_plane, get(next_plane) - y[c]);
        }
      }
    }
  }
  [[gnu::always_inline]] static vec_uint32 get(const int32_t* source) { return detail::load_bits<vec_uint32>(source); }
  [[gnu::always_inline]] static void set(int32_t* to, vec_uint32 value) {
    store(to, __builtin_bit_cast(vec_int32, value));
  }

  // ---- what the sums become

  // The inverses of 1, 3 and 9 modulo 2^32.
  static constexpr uint32_t inverse = (tile.h == 4 ? 0xaaaaaaabu : 1u) * (tile.w == 4 ? 0xaaaaaaabu : 1u);

  static void finish(const Arguments& arguments, const Epilogue& epilogue, const Int8WinogradGeometry& geometry,
                     const Task& task, int64_t chunk) {
    const Axes& size = arguments.sizes.output;
    const int64_t blocks = packing.chunk_blocks(chunk);
    const int32_t* const sums = task.sums + (chunk - task.chunk_begin) * task.groups * register_rows * 2 * tile_sums;
    for_each_line(geometry, task, [&](const Axes& first, int64_t begin, int64_t count) {
      for (int64_t b = 0; b < blocks; ++b)
        for (int64_t d = 0; d < smaller(tile.d, size.d - first.d); ++d)
          for (int64_t r = 0; r < smaller(tile.h, size.h - first.h); ++r)
            finish_line(arguments, epilogue, {task.batch, 2 * chunk + b, first.d + d, first.h + r, first.w, 0}, r,
                        sums + ((begin * blocks + b) * tile.product() + d * plane_outputs + r * tile.w) * lanes,
                        blocks * tile_sums, count);
    });
  }

  // A row of outputs, the given one of `tiles` tiles.
  static void finish_line(const Arguments& arguments, const Epilogue& epilogue, Position position, int64_t row,
                          const int32_t* sums, int64_t tile_stride, int64_t tiles) {
    const BlockedView& view = arguments.output_view;
    position.offset = position.n * view.batch_stride + position.channel_block * view.channel_block_stride +
                      position.d * view.d_stride + position.h * view.h_stride + position.w * lanes;
    const vec_int32 start = load(reinterpret_cast<const int32_t*>(arguments.weights) + position.channel_block * lanes);
    const int64_t power = packing.depth().shift(0) + packing.row().shift(row);
    for (int64_t i = 0; i < tiles; ++i, sums += tile_stride) {
      const int64_t columns = smaller(tile.w, arguments.sizes.output.w - position.w);
#pragma clang loop unroll(disable)
      for (int64_t c = 0; c < columns; ++c, ++position.w, position.offset += lanes) {
        const vec_uint32 multiple = get(sums + c * lanes) * inverse;
        const vec_int32 sum =
            __builtin_bit_cast(vec_int32, multiple) >> static_cast<int32_t>(power + packing.column().shift(c));
        auto value = epilogue(add(sum, start), position);  // integers or floats
        // The channels that pad the last block are zero.
        if constexpr (shape.output_channels % lanes != 0)
          value = keep_lanes(first_lanes(shape.output_channels - position.channel_block * lanes), value);
        store(arguments.output + position.offset, value);
      }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
