// The first convolution of a network where Winograd's algorithm saves products: few input channels in a planar NCDHW
// tensor, output in blocked channels, stride 1 or 2 along the depth or the height.
//
// Problem: as in conv_stem.h, which runs at the peak, so that only fewer products help. Method: outputs in pairs along
// the depth, the height or both; long filters in pieces whose products are summed before they are transformed back
// (conv_stem_winograd_geometry.h); the width is passed through. Unlike in conv_winograd.h, the lanes of the input's
// transform are neighbours along the width, and all output channels share it: rows of the input become rows of scratch,
// one tile of depth and height at a time. A register tile is neighbouring voxels of a row by one or two blocks of
// output channels, at two points of the height at once: first 1 and 2, whose sum and difference are then the outputs'
// first terms, and the products of points 0 and 3 are added to those. What the points of the depth give is added up in
// scratch. Pieces that read padding alone are left out.
//
// Limits: one group, dilation 1 along an axis in pairs. The transforms round once more, the sums are shorter: the error
// is that of a direct sum. What is not finite in the end is summed again by the definition.
// Bound by: FMA throughput where there are many taps and channels (3x7x7 from 3 to 64 channels: 1.7 times as fast as
// conv_stem.h, of 2.1 that the products would give); with 16 channels by as many loads as FMAs and by the transform
// (9x9x1: 1.2 of 2.25); with three taps by what a register tile costs before and after its few products.
#pragma once

#include "codegen/cpu/kernels/conv_stem_winograd_geometry.h"
#include "codegen/cpu/kernels/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// What a kernel asks of an axis at every turn, as tables.
template <StemWinogradAxis axis>
struct StemWinogradTables {
  int64_t taps[axis.pieces()];
  int64_t first[axis.pieces()];                   // the place of its first input, from the tile's first tap on
  int64_t pieces_at[axis.points()];               // how many pieces, the first ones, have a point
  int64_t term_of[axis.points()][axis.pieces()];  // of a point and a piece

  constexpr StemWinogradTables() : taps(), first(), pieces_at(), term_of() {
    for (int64_t i = 0; i < axis.pieces(); ++i) {
      taps[i] = axis.piece(i).taps;
      first[i] = axis.piece(i).first * axis.dilation;
      for (int64_t point = 0; point < axis.points(); ++point)
        if (i < axis.pieces_at(point)) term_of[point][i] = axis.term(point, i);
    }
    for (int64_t point = 0; point < axis.points(); ++point) pieces_at[point] = axis.pieces_at(point);
  }

  // The pieces that read anything inside an input of `size`, one a bit, for a tile whose first tap is at `tile`.
  uint64_t pieces_inside(int64_t tile, int64_t size) const {
    uint64_t inside = 0;
    for (int64_t i = 0; i < axis.pieces(); ++i)
      for (int64_t input = 0; input < taps[i] + axis.outputs() - 1; ++input) {
        const int64_t at = tile + first[i] + input * axis.stride;
        if (at >= 0 && at < size) inside |= uint64_t{1} << i;
      }
    return inside;
  }
};

template <ConvShape shape, class Input, class Output, class Epilogue>
class StemWinogradConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(stem_winograd_supports(shape), "a convolution without an axis that saves products");

  static KernelWork work(const ConvSizes& sizes) { return stem_winograd_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const ConvSizes& sizes = arguments.sizes;
    Task task{.geometry = stem_winograd_geometry(packing, sizes), .scratch = static_cast<float*>(scratch)};
    const StemWinogradGeometry& geometry = task.geometry;
    for (int64_t i = 0; i < sizes.input.w; ++i) task.zeros()[i] = Input(0.0f);
    for (int64_t index = task_begin; index < task_end; ++index) {
      const int64_t band = index % geometry.bands, plane = index / geometry.bands;
      const int64_t band_end = smaller((band + 1) * geometry.band_tiles, geometry.tiles.h);
      task.batch = plane / geometry.tiles.d;
      task.d = plane % geometry.tiles.d * depth.outputs();
      const int64_t first_plane = task.d * shape.stride.d - sizes.begin_pads.d;
      task.depth_pieces = depth_tables.pieces_inside(first_plane, sizes.input.d);
      const int64_t band_row = band * geometry.band_tiles * height.outputs() * shape.stride.h - sizes.begin_pads.h;
      find_rows(arguments, task, first_plane, band_row);
      for (int64_t tile = band * geometry.band_tiles; tile < band_end; ++tile) {
        task.h = tile * height.outputs();
        const int64_t first_row = task.h * shape.stride.h - sizes.begin_pads.h;
        task.height_pieces = height_tables.pieces_inside(first_row, sizes.input.h);
        task.first_row = first_row - band_row;
        transform_input(arguments, task);
        for (int64_t chunk = 0; chunk < packing.chunks(); ++chunk) {
          if (packing.chunk_blocks(chunk) == 2)
            run_chunk<2>(arguments, epilogue, task, chunk);
          else
            run_chunk<1>(arguments, epilogue, task, chunk);
        }
      }
    }
  }

 private:
  static constexpr StemWinogradPacking packing{shape, lanes};
  static constexpr StemWinogradAxis depth = packing.depth(), height = packing.height();
  static constexpr StemWinogradTables<depth> depth_tables{};
  static constexpr StemWinogradTables<height> height_tables{};
  struct GroupOffsets {
    int64_t of[depth.points()][2];  // of a point of the depth and a group of points of the height, in vectors
    constexpr GroupOffsets() : of() {
      for (int64_t point = 0; point < depth.points(); ++point)
        for (int group = 0; group < 2; ++group) of[point][group] = packing.group_offset(point, group == 1);
    }
  };
  static constexpr GroupOffsets group_offsets{};
  // Constants, so that nothing of this is left to the run.
  static constexpr int64_t depth_points = depth.points(), depth_outputs = depth.outputs(), depth_terms = depth.terms(),
                           height_points = height.points(), height_outputs = height.outputs(),
                           height_terms = height.terms(), height_pieces = height.pieces(),
                           depth_pieces = depth.pieces(), inner_products = packing.inner_products(),
                           chunk_stride = packing.chunk_offset(1);
  static constexpr int64_t planes = depth.inputs(1);  // of the input that a tile reads
  // The order in which the points of the depth come, so that what they give can be added up in two outputs.
  static constexpr int64_t depth_order[4] = {1, 2, 0, 3};

  struct Task {
    StemWinogradGeometry geometry;
    float* scratch;
    int64_t batch = 0, d = 0, h = 0;               // of the tile's first output
    int64_t first_row = 0;                         // of the band, of the tile's first tap
    uint64_t depth_pieces = 0, height_pieces = 0;  // that read something inside the input, one a bit

    // Where the band's rows of the input are: [input channel][plane][row].
    const Input** table() const { return reinterpret_cast<const Input**>(scratch + geometry.table_offset); }
    Input* zeros() const { return reinterpret_cast<Input*>(scratch + geometry.zeros_offset); }
    // The first of a tile's rows, transformed along both axes, of a term of the depth: one for each of the height.
    float* rows(int64_t channel, int64_t term) const {
      return scratch + (channel * depth_terms + term) * height_terms * geometry.row_stride;
    }
    float* outputs(int64_t plane, int64_t row) const {
      return scratch + geometry.output_offset + (plane * height_outputs + row) * geometry.output_stride;
    }
  };

  // ---- the input's transform

  // Finds the rows of the band. Those outside the input are a row of zeros.
  static void find_rows(const Arguments& arguments, const Task& task, int64_t first_plane, int64_t first_row) {
    const ConvSizes& sizes = arguments.sizes;
    const Input** to = task.table();
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t plane = first_plane; plane < first_plane + planes; ++plane) {
        const bool has_plane = plane >= 0 && plane < sizes.input.d;
        const Input* image = arguments.input + task.batch * arguments.input_view.batch_stride +
                             channel * arguments.input_view.channel_block_stride +
                             plane * arguments.input_view.d_stride;
        for (int64_t h = first_row; h < first_row + task.geometry.input_rows; ++h)
          *to++ = has_plane && h >= 0 && h < sizes.input.h ? image + h * arguments.input_view.h_stride : task.zeros();
      }
  }

  // The rows of a tile.
  [[gnu::noinline]] static void transform_input(const Arguments& arguments, const Task& task) {
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t i = 0; i < depth_pieces; ++i) {
        if ((task.depth_pieces >> i & 1u) == 0) continue;
        for (int64_t j = 0; j < height_pieces; ++j)
          if ((task.height_pieces >> j & 1u) != 0) transform_of_taps<3, 3>(arguments.sizes, task, channel, i, j);
      }
  }

  // Runs the instance for the taps of a piece of the depth and one of the height.
  template <int depth_taps, int height_taps>
  [[gnu::always_inline]] static void transform_of_taps(const ConvSizes& sizes, const Task& task, int64_t channel,
                                                       int64_t i, int64_t j) {
    constexpr bool has_such = depth.pieces_of(depth_taps) > 0 && height.pieces_of(height_taps) > 0;
    if (has_such && depth_tables.taps[i] == depth_taps && height_tables.taps[j] == height_taps)
      transform_pieces<depth_taps, height_taps>(sizes, task, channel, i, j);
    else if constexpr (height_taps > 1)
      transform_of_taps<depth_taps, height_taps - 1>(sizes, task, channel, i, j);
    else if constexpr (depth_taps > 1)
      transform_of_taps<depth_taps - 1, 3>(sizes, task, channel, i, j);
  }

  // All terms of a piece of the depth and one of the height. Column 0 is that of the first output's first tap.
  template <int depth_taps, int height_taps>
  [[gnu::noinline]] static void transform_pieces(const ConvSizes& sizes, const Task& task, int64_t channel, int64_t i,
                                                 int64_t j) {
    constexpr int of_depth = depth_taps + depth_outputs - 1, of_height = height_taps + height_outputs - 1;
    const int64_t stride = task.geometry.row_stride, width = sizes.input.w;
    const Input* from[of_depth][of_height];
    for (int a = 0; a < of_depth; ++a)
      for (int b = 0; b < of_height; ++b) {
        const int64_t plane = depth_tables.first[i] + a * shape.stride.d;
        const int64_t row = task.first_row + height_tables.first[j] + b * shape.stride.h;
        from[a][b] = task.table()[(channel * planes + plane) * task.geometry.input_rows + row] - sizes.begin_pads.w;
      }
    float* to[depth_points][height_points];
    for (int p = 0; p < depth_points; ++p)
      for (int q = 0; q < height_points; ++q)
        to[p][q] = task.rows(channel, depth_tables.term_of[p][i]) + height_tables.term_of[q][j] * stride;
    const auto transform = [&](int64_t w, const auto& read) __attribute__((always_inline)) {
      vec sums[depth_points][of_height];
#pragma clang loop unroll(full)
      for (int b = 0; b < of_height; ++b) {
        vec column[of_depth];
#pragma clang loop unroll(full)
        for (int a = 0; a < of_depth; ++a) column[a] = read(from[a][b] + w);
#pragma clang loop unroll(full)
        for (int p = 0; p < depth_points; ++p)
          if (depth.has_point(p, depth_taps)) sums[p][b] = combine(column, depth.input_of(p, depth_taps));
      }
#pragma clang loop unroll(full)
      for (int p = 0; p < depth_points; ++p)
#pragma clang loop unroll(full)
        for (int q = 0; q < height_points; ++q)
          if (depth.has_point(p, depth_taps) && height.has_point(q, height_taps))
            store(to[p][q] + w, combine(sums[p], height.input_of(q, height_taps)));
    };
#pragma clang loop unroll(disable)
    for (int64_t w = 0; w < stride; w += lanes) {
      const int64_t begin = sizes.begin_pads.w - w, end = begin + width;  // the lanes inside the input
      if (begin <= 0 && end >= lanes) [[likely]]
        transform(w, [](const Input* at) { return load(at); });
      else
        transform(w, [&](const Input* at) {
          return load_between(at, larger(0, smaller(lanes, begin)), larger(0, smaller(lanes, end)));
        });
    }
  }

  template <size_t count>
  [[gnu::always_inline]] static vec combine(const vec (&inputs)[count], const StemWinogradTerm& term) {
    if (term.second < 0) return inputs[term.first];
    return term.sign > 0 ? inputs[term.first] + inputs[term.second] : inputs[term.first] - inputs[term.second];
  }

  // ---- products and outputs

  template <int blocks>
  static void run_chunk(const Arguments& arguments, const Epilogue& epilogue, const Task& task, int64_t chunk) {
    constexpr int most = stem_winograd_voxels(blocks, lanes), middle = stem_winograd_middle_voxels(blocks, lanes),
                  least = stem_winograd_least_voxels(blocks, lanes);
    const int64_t width = arguments.sizes.output.w;
    const float* weights = arguments.weights + chunk * chunk_stride;
    for (int64_t begin = 0; begin < width; begin += task.geometry.segment_voxels) {
      const int64_t end = smaller(begin + task.geometry.segment_voxels, width);
      for (int step = 0; step < depth_points; ++step) {
        const int64_t point = depth.is_paired() ? depth_order[step] : 0;
        // The last points give the last part of the first and of the second output of the depth.
        const int64_t plane = depth.is_paired() ? step - 2 : 0;
        const bool finishes = plane >= 0 && task.d + plane < arguments.sizes.output.d;
        for (int64_t w = begin; w < end; w += most) {
          const int64_t to = (w - begin) * blocks * lanes, count = smaller(most, end - w);
          if (finishes && !requires { Epilogue::stores_itself; })
            prefetch_outputs<blocks>(arguments, task, chunk, plane, w, count);
          if (count <= least)
            run_tile<least, blocks>(task, weights, point, w, to);
          else if (count <= middle)
            run_tile<middle, blocks>(task, weights, point, w, to);
          else
            run_tile<most, blocks>(task, weights, point, w, to);
          if (finishes) finish<blocks>(arguments, epilogue, task, chunk, plane, w, count, to);
        }
      }
    }
  }

  // Where the output's voxels from `w` on of a row of the tile stand, in elements.
  static int64_t output_offset(const Arguments& arguments, const Task& task, int64_t chunk, int64_t plane, int64_t row,
                               int64_t w) {
    const BlockedView& view = arguments.output_view;
    return task.batch * view.batch_stride + 2 * chunk * view.channel_block_stride + (task.d + plane) * view.d_stride +
           (task.h + row) * view.h_stride + w * lanes;
  }

  // Brings what finish() will write into the cache: otherwise it would wait for each line.
  template <int blocks>
  [[gnu::always_inline]] static void prefetch_outputs(const Arguments& arguments, const Task& task, int64_t chunk,
                                                      int64_t plane, int64_t w, int64_t count) {
    for (int64_t row = 0; row < height_outputs && task.h + row < arguments.sizes.output.h; ++row) {
      const Output* voxel = arguments.output + output_offset(arguments, task, chunk, plane, row, w);
      for (int64_t i = 0; i < count; ++i, voxel += lanes)
        for (int b = 0; b < blocks; ++b) __builtin_prefetch(voxel + b * arguments.output_view.channel_block_stride, 1);
    }
  }

  // Adds what one point of the depth gives to the outputs of a tile.
  template <int voxels, int blocks>
  [[gnu::noinline]] static void run_tile(const Task& task, const float* weights, int64_t point, int64_t w, int64_t to) {
    vec sums[2][voxels][blocks];
#pragma clang loop unroll(full)
    for (int i = 0; i < voxels; ++i)
#pragma clang loop unroll(full)
      for (int b = 0; b < blocks; ++b) sums[0][i][b] = sums[1][i][b] = splat(0.0f);
    if constexpr (height.is_paired()) {
      add_group<false, voxels, blocks>(task, weights, point, w, sums);
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i)
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) {
          const vec a = sums[0][i][b];
          sums[0][i][b] = a + sums[1][i][b];
          sums[1][i][b] = a - sums[1][i][b];
        }
    }
    add_group<true, voxels, blocks>(task, weights, point, w, sums);
    constexpr int64_t last = depth.outputs() - 1;
    add_outputs<voxels, blocks>(task.outputs(0, 0) + to, task.outputs(last, 0) + to, point, sums[0]);
    if constexpr (height.is_paired())
      add_outputs<voxels, blocks>(task.outputs(0, 1) + to, task.outputs(last, 1) + to, point, sums[1]);
  }

  // The products of points 1 and 2 of the height, or of 0 and 3, with a point of the depth.
  template <bool is_outer_group, int voxels, int blocks>
  [[gnu::always_inline]] static void add_group(const Task& task, const float* weights, int64_t point, int64_t w,
                                               vec (&sums)[2][voxels][blocks]) {
    constexpr int64_t pairs = !height.is_paired() ? 0 : is_outer_group ? height_pieces : height.pieces_of(3);
    constexpr int64_t pieces = is_outer_group ? height_pieces : height.pieces_at(1);
    constexpr int64_t vectors = packing.inner(is_outer_group) * blocks * lanes;
    const int64_t stride = task.geometry.row_stride;
    weights += group_offsets.of[point][is_outer_group ? 1 : 0] * blocks * lanes;
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t piece = 0; piece < depth_tables.pieces_at[point]; ++piece, weights += vectors) {
        if ((task.depth_pieces >> piece & 1u) == 0) continue;
        const float* row = task.rows(channel, depth_tables.term_of[point][piece]) + w * shape.stride.w +
                           (is_outer_group ? inner_products : 0) * stride;
        add_pieces<2, voxels, blocks>(row, stride, task.height_pieces, 0, pairs, weights, sums);
        if constexpr (pairs < pieces)
          add_pieces<1, voxels, blocks>(row + pairs * 2 * stride, stride, task.height_pieces, pairs, pieces,
                                        weights + pairs * 2 * shape.kernel.w * blocks * lanes, sums);
      }
  }

  // The products of pieces [begin, end) of the height at one or two points each.
  template <int points, int voxels, int blocks>
  [[gnu::always_inline]] static void add_pieces(const float* row, int64_t stride, uint64_t inside, int64_t begin,
                                                int64_t end, const float* weights, vec (&sums)[2][voxels][blocks]) {
#pragma clang loop unroll(disable)
    for (int64_t piece = begin; piece < end; ++piece, row += points * stride) {
      if ((inside >> piece & 1u) == 0) {
        weights += points * shape.kernel.w * blocks * lanes;
        continue;
      }
      // Rolled: unrolled, clang shares broadcasts between taps, keeps them live and spills the tile.
#pragma clang loop unroll(disable)
      for (int64_t kw = 0; kw < shape.kernel.w; ++kw, weights += points * blocks * lanes) {
#pragma clang loop unroll(full)
        for (int point = 0; point < points; ++point) {
          const float* elements = row + point * stride + kw * shape.dilation.w;
          vec weight[blocks];
#pragma clang loop unroll(full)
          for (int b = 0; b < blocks; ++b) weight[b] = load(weights + (point * blocks + b) * lanes);
#pragma clang loop unroll(full)
          for (int i = 0; i < voxels; ++i) {
            const vec element = load_splat(elements + i * shape.stride.w);
#pragma clang loop unroll(full)
            for (int b = 0; b < blocks; ++b) sums[point][i][b] = fma(element, weight[b], sums[point][i][b]);
          }
        }
      }
    }
  }

  // y0 = m0 + m1 + m2, y1 = m1 - m2 + m3 along the depth, in the order 1, 2, 0, 3; `first` and `second` are y0 and y1.
  template <int voxels, int blocks>
  [[gnu::always_inline]] static void add_outputs(float* first, float* second, int64_t point,
                                                 const vec (&sums)[voxels][blocks]) {
    const auto for_each_vector = [&](const auto& visit) {
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i)
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) visit((i * blocks + b) * lanes, sums[i][b]);
    };
    if (!depth.is_paired() || point == 1) {
      for_each_vector([&](int at, vec sum) { store(first + at, sum); });
    } else if (point == 2) {
      for_each_vector([&](int at, vec sum) {
        const vec one = load(first + at);
        store(first + at, one + sum);
        store(second + at, one - sum);
      });
    } else {
      float* const to = point == 0 ? first : second;
      for_each_vector([&](int at, vec sum) { store(to + at, load(to + at) + sum); });
    }
  }

  // Applies the epilogue to `count` voxels from `w` on of the tile's rows in a plane and stores them.
  template <int blocks>
  [[gnu::noinline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                       int64_t chunk, int64_t plane, int64_t w, int64_t count, int64_t from) {
    for (int64_t row = 0; row < height_outputs && task.h + row < arguments.sizes.output.h; ++row) {
      const float* sums = task.outputs(plane, row) + from;
      Position position{task.batch,   2 * chunk, task.d + plane,
                        task.h + row, w,         output_offset(arguments, task, chunk, plane, row, w)};
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < count; ++i, ++position.w, position.offset += lanes, sums += blocks * lanes) {
        Position at = position;
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b, ++at.channel_block, at.offset += arguments.output_view.channel_block_stride) {
          vec sum = load(sums + b * lanes);
          if (!all_finite(sum)) [[unlikely]]
            sum = sum_directly(arguments, at);
          vec value = epilogue(sum, at);
          if constexpr (requires { Epilogue::stores_itself; }) continue;
          if constexpr (shape.output_channels % lanes != 0)
            value = keep_lanes(first_lanes(shape.output_channels - at.channel_block * lanes), value);
          store(arguments.output + at.offset, value);
        }
      }
    }
  }

  // An output by the definition: a NaN or an infinity reaches all outputs of a tile, where a direct sum gives it only
  // to those that read it, and what is near the largest number overflows in the transforms.
  [[gnu::noinline, gnu::cold]] static vec sum_directly(const Arguments& arguments, const Position& at) {
    const ConvSizes& sizes = arguments.sizes;
    const BlockedView& view = arguments.input_view;
    vec sum = splat(0.0f);
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t tap = 0; tap < shape.kernel.product(); ++tap) {
        const int64_t kd = tap / shape.kernel.w / shape.kernel.h, kh = tap / shape.kernel.w % shape.kernel.h,
                      kw = tap % shape.kernel.w;
        const int64_t d = at.d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
        const int64_t h = at.h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
        const int64_t w = at.w * shape.stride.w - sizes.begin_pads.w + kw * shape.dilation.w;
        if (d < 0 || d >= sizes.input.d || h < 0 || h >= sizes.input.h || w < 0 || w >= sizes.input.w) continue;
        const Input* element = arguments.input + at.n * view.batch_stride + channel * view.channel_block_stride +
                               d * view.d_stride + h * view.h_stride + w;
        sum = fma(load_splat(element), load(arguments.weights + packing.plain(at.channel_block * lanes, channel, tap)),
                  sum);
      }
    return sum;
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
