// Convolution and transposed convolution NCHWc to NCHW with few output channels (1 to 4).
//
// Problem: as in conv_direct.h with stride 1, or as in conv_transpose.h. The last layers of segmentation networks and
// of decoders of video have two or three output channels; an NCHWc block of them is mostly padding, which the next
// layers compute and move as well. Method: lanes are neighbouring voxels of a row. A task has a few planes of outputs,
// whose sums are in scratch. For some input channels at a time, plane by plane, it transposes what it reads to NCHW
// rows in scratch (transpose.h), with zeros past their ends, and adds their products to its sums. So a plane is
// transposed once for all outputs of the task. A register tile is some vectors along a row by all output channels and,
// in a transposed convolution, by all residues modulo the stride. Each element is a chain of FMAs of a shifted vector
// with a broadcast weight. A chain goes over those channels and the taps of a plane, if these are few, else of a row. A
// residue takes only its own taps. At the end the residues of a row are interleaved, and epilogue and stores go along
// the output rows. Only the shape fixes the order of each sum. Limits: one group, dilation 1. Bound by: FMA throughput
// with many channels; a 1x1x1 by memory and the transposition. 3x3x3 reaches, with AVX2 and AVX-512, from 96 to 3
// channels 63 and 61% of the peak, from 16 to 3 52 and 51%; 1x3x3 from 128 to 3, whose planes serve once, 39 and 33%.
#pragma once

#include "kernels/cpu/conv/planar_position.h"
#include "kernels/cpu/conv/window.h"
#include "kernels/cpu/conv_nchw/conv_to_rows_geometry.h"
#include "kernels/cpu/vector/transpose.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime.
RowsGeometry to_rows_geometry_at_run_time(const RowsPacking& packing, const ConvSizes& sizes);

// `columns` columns of a block's row of `width` voxels, from `first` on, as a line of each of its channels, with zeros
// past the row's ends. Writes up to a whole vector.
template <class Input>
[[gnu::noinline]] void transpose_row(const Input* row, int64_t width, int64_t first, int64_t columns, int64_t channels,
                                     float* to, int64_t line_stride) {
  alignas(64) static constexpr Input zeros[lanes] = {};
  for (const int64_t end = first + columns; first < end; first += lanes, to += lanes) {
    vec square[lanes];
    if (first >= 0 && first + lanes <= width) {
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) square[i] = load(row + (first + i) * lanes);
    } else {
      for (int i = 0; i < lanes; ++i)
        square[i] = load(first + i >= 0 && first + i < width ? row + (first + i) * lanes : zeros);
    }
    transpose(square);
    if (channels == lanes) {
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) store(to + i * line_stride, square[i]);
    } else {
      for (int i = 0; i < channels; ++i) store(to + i * line_stride, square[i]);
    }
  }
}

extern template void transpose_row<float>(const float*, int64_t, int64_t, int64_t, int64_t, float*, int64_t);

// `spatial_axes`: of the tensors; the epilogue's position counts these axes from the last.
template <ConvShape shape, class Input, class Output, class Epilogue, bool is_transposed, int spatial_axes>
class ConvolutionToRows {
 public:
  using Arguments = ConvArguments<Input, Output>;

  static KernelWork work(const ConvSizes& sizes) { return to_rows_geometry_at_run_time(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const RowsGeometry geometry = to_rows_geometry_at_run_time(packing, arguments.sizes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      Band band(geometry, task, static_cast<float*>(scratch));
      if constexpr (packing.is_pointwise()) {
        const Axes& size = arguments.sizes.output;
        for (int64_t voxel = band.column_begin, end = voxel + band.columns; voxel < end; voxel += band.columns) {
          band.select_row({voxel / size.w / size.h, voxel / size.w % size.h, voxel % size.w}, end - voxel, size.w);
          run_band(arguments, epilogue, band);
        }
      } else {
        run_band(arguments, epilogue, band);
      }
    }
  }

 private:
  static constexpr RowsPacking packing{shape, is_transposed};
  static_assert(to_rows_supports(packing, lanes), "a convolution of many output channels, grouped or dilated");
  static constexpr Axes taps = packing.taps(), residues = packing.residues();
  static constexpr int outputs = static_cast<int>(shape.output_channels), sums_count = static_cast<int>(packing.sums());
  static constexpr int most_vectors = planar_vectors(packing.sums(), lanes);
  static constexpr int64_t step = packing.step_channels(lanes);
  // A chain of more products loses digits (conv_winograd_geometry.h has the same length with fewer lanes a chain).
  static constexpr bool adds_rows = step * taps.h * taps.w > 256;

  // The places of a task.
  struct Band {
    const RowsGeometry& geometry;
    int64_t batch, plane_begin, plane_end;
    int64_t row_begin, row_end, column_begin, columns;
    float *lines, *sums;

    Band(const RowsGeometry& geometry_, int64_t task, float* scratch)
        : geometry(geometry_), lines(scratch), sums(scratch + geometry_.line_elements) {
      const int64_t band = task % geometry.bands, piece = task / geometry.bands % geometry.pieces;
      const int64_t range = task / geometry.bands / geometry.pieces % geometry.ranges;
      batch = task / geometry.bands / geometry.pieces / geometry.ranges;
      plane_begin = range * geometry.range_planes;
      plane_end = smaller(plane_begin + geometry.range_planes, geometry.size.d);
      row_begin = band * geometry.band_rows;
      row_end = smaller(row_begin + geometry.band_rows, geometry.size.h);
      column_begin = piece * geometry.piece_columns;
      columns = smaller(geometry.piece_columns, geometry.size.w - column_begin);
    }
    // At most `most` voxels of one row of `width` voxels, from `at` on.
    void select_row(const Axes& at, int64_t most, int64_t width) {
      plane_begin = at.d;
      plane_end = at.d + 1;
      row_begin = at.h;
      row_end = at.h + 1;
      column_begin = at.w;
      columns = smaller(most, width - at.w);
    }
    // The scratch line of the first channel of a step.
    float* line(int64_t row) const { return lines + (row - row_begin) * step * geometry.row_stride; }
  };

  // A row of places, and the residues modulo the stride of its outputs.
  struct Row {
    int64_t plane, row, rd, rh;
    Axes at;      // of the output; w is not used
    float* sums;  // [sum][column]
  };

  static void run_band(const Arguments& arguments, const Epilogue& epilogue, const Band& band) {
    const RowsGeometry& geometry = band.geometry;
    const int64_t rows = (band.plane_end - band.plane_begin) * (band.row_end - band.row_begin);
    for (int64_t i = 0; i < rows * geometry.row_sums; i += lanes) store(band.sums + i, splat(0.0f));
    const int64_t first = larger(0, band.plane_begin - geometry.begin_pads.d);
    const int64_t last = smaller(arguments.sizes.input.d, band.plane_end - geometry.begin_pads.d + taps.d - 1);
    for (int64_t channel = 0; channel < shape.input_channels; channel += step)
      for (int64_t d = first; d < last; ++d) {
        transpose_lines(arguments, band, channel, d);
        for_each_row(arguments, band, [&](const Row& row) { add_plane(arguments, band, channel, d, row); });
      }
    for_each_row(arguments, band, [&](const Row& row) { finish(arguments, epilogue, band, row); });
  }

  // All rows of a task that are inside of the output.
  template <class Visit>
  [[gnu::always_inline]] static void for_each_row(const Arguments& arguments, const Band& band, const Visit& visit) {
    const RowsGeometry& geometry = band.geometry;
    const Axes& size = arguments.sizes.output;
    float* sums = band.sums;
    for (int64_t plane = band.plane_begin; plane < band.plane_end; ++plane)
      for (int64_t row = band.row_begin; row < band.row_end; ++row)
        for (int64_t rd = 0; rd < residues.d; ++rd)
          for (int64_t rh = 0; rh < residues.h; ++rh, sums += sums_count * geometry.piece_columns) {
            const Axes at{plane * residues.d + rd - geometry.before.d, row * residues.h + rh - geometry.before.h, 0};
            if (at.d >= 0 && at.d < size.d && at.h >= 0 && at.h < size.h) visit(Row{plane, row, rd, rh, at, sums});
          }
  }

  // ---- the input's rows

  // Those of a step of channels in plane d of the input.
  static void transpose_lines(const Arguments& arguments, const Band& band, int64_t first, int64_t d) {
    const RowsGeometry& geometry = band.geometry;
    const BlockedView& view = arguments.input_view;
    const Input* plane = arguments.input + band.batch * view.batch_stride + d * view.d_stride;
    const int64_t end = smaller(first + step, shape.input_channels);
    for (int64_t row = band.row_begin; row < band.row_end + taps.h - 1; ++row) {
      const int64_t h = row - geometry.begin_pads.h;
      if (h < 0 || h >= arguments.sizes.input.h) continue;
      // All columns that the band's places read: what a register tile reads past them goes to no output.
      for (int64_t channel = first; channel < end; channel += lanes)
        transpose_row(plane + channel / lanes * view.channel_block_stride + h * view.h_stride, arguments.sizes.input.w,
                      band.column_begin - geometry.begin_pads.w, band.columns + taps.w - 1,
                      smaller(lanes, end - channel), band.line(row) + (channel - first) * geometry.row_stride,
                      geometry.row_stride);
    }
  }

  // ---- sums

  // The products of a row of places with a step of channels in plane d of the input.
  static void add_plane(const Arguments& arguments, const Band& band, int64_t channel, int64_t d, const Row& row) {
    const RowsGeometry& geometry = band.geometry;
    const int64_t td = d + geometry.begin_pads.d - row.plane;
    if (td < packing.d().first_tap(row.rd) || td >= taps.d) return;
    const TapRange inside = taps_between(row.row - geometry.begin_pads.h, taps.h, 1, 0, arguments.sizes.input.h);
    const TapRange rows{larger(inside.begin, packing.h().first_tap(row.rh)), inside.end};
    const float* weights =
        arguments.weights + packing.offset(packing.d().kernel_tap(row.rd, td), 0) + channel * packing.line_size();
    // Tiles of nearly equal size: one of a single vector has too few chains.
    for (int64_t column = 0; column < band.columns;) {
      const int64_t left = divide_up(band.columns - column, lanes);
      const int64_t vectors = divide_up(left, divide_up(left, most_vectors));
      add_vectors<most_vectors>(vectors, band, row, rows, channel, weights, column);
      column += vectors * lanes;
    }
  }

  // A tile of `vectors`, at most `most` of them.
  template <int most>
  static void add_vectors(int64_t vectors, const Band& band, const Row& row, const TapRange& rows, int64_t channel,
                          const float* weights, int64_t column) {
    if constexpr (most > 1)
      if (vectors < most) return add_vectors<most - 1>(vectors, band, row, rows, channel, weights, column);
    add_tile<most>(band, row, rows, channel, weights, column);
  }

  template <int vectors>
  [[gnu::noinline]] static void add_tile(const Band& band, const Row& row, const TapRange& rows, int64_t channel,
                                         const float* weights, int64_t column) {
    const RowsGeometry& geometry = band.geometry;
    const int64_t channels = smaller(step, shape.input_channels - channel);
    float* const kept = row.sums + column;
    vec sums[sums_count][vectors];
    clear<vectors>(sums);
    for (int64_t th = rows.begin; th < rows.end; ++th) {
      add_line<vectors>(band.line(row.row + th) + column, geometry.row_stride, channels,
                        weights + packing.offset(0, packing.h().kernel_tap(row.rh, th)), sums);
      if constexpr (adds_rows) {
        keep<vectors>(sums, kept, geometry.piece_columns);
        clear<vectors>(sums);
      }
    }
    if constexpr (!adds_rows) keep<vectors>(sums, kept, geometry.piece_columns);
  }

  template <int vectors>
  [[gnu::always_inline]] static void clear(vec (&sums)[sums_count][vectors]) {
#pragma clang loop unroll(full)
    for (int i = 0; i < sums_count; ++i)
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sums[i][v] = splat(0.0f);
  }

  // Adds to the sums in scratch.
  template <int vectors>
  [[gnu::always_inline]] static void keep(const vec (&sums)[sums_count][vectors], float* kept, int64_t stride) {
#pragma clang loop unroll(full)
    for (int i = 0; i < sums_count; ++i, kept += stride)
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) store(kept + v * lanes, load(kept + v * lanes) + sums[i][v]);
  }

  // The products of a step of channels at one tap of depth and height.
  template <int vectors>
  [[gnu::always_inline]] static void add_line(const float* line, int64_t distance, int64_t channels,
                                              const float* weights, vec (&sums)[sums_count][vectors]) {
#pragma clang loop unroll(disable)
    for (int64_t channel = 0; channel < channels; ++channel) {
#pragma clang loop unroll(full)
      for (int64_t t = 0; t < taps.w; ++t) {
        vec elements[vectors];
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) elements[v] = load(line + t + v * lanes);
#pragma clang loop unroll(full)
        for (int64_t residue = 0; residue < residues.w; ++residue) {
          const int64_t tap = packing.w().kernel_tap(residue, t);
          if (tap >= shape.kernel.w) continue;
#pragma clang loop unroll(full)
          for (int o = 0; o < outputs; ++o) {
            const vec weight = load_splat(weights + tap * outputs + o);
#pragma clang loop unroll(full)
            for (int v = 0; v < vectors; ++v)
              sums[residue * outputs + o][v] = fma(weight, elements[v], sums[residue * outputs + o][v]);
          }
        }
      }
      line += distance;
      weights += packing.line_size();
    }
  }

  // ---- outputs

  static void finish(const Arguments& arguments, const Epilogue& epilogue, const Band& band, const Row& row) {
    const RowsGeometry& geometry = band.geometry;
    const BlockedView& view = arguments.output_view;
    const int64_t origin = band.batch * view.batch_stride + row.at.d * view.d_stride + row.at.h * view.h_stride;
    const int64_t first = band.column_begin * residues.w - geometry.before.w;
    const int64_t end = smaller(first + band.columns * residues.w, arguments.sizes.output.w);
#pragma clang loop unroll(disable)
    for (int64_t o = 0; o < outputs; ++o)
#pragma clang loop unroll(disable)
      for (int64_t column = 0; column < band.columns; column += lanes) {
        alignas(64) float staged[lanes * residues.w];
        vec of_residues[residues.w];
        for (int64_t residue = 0; residue < residues.w; ++residue)
          of_residues[residue] = load(row.sums + (residue * outputs + o) * geometry.piece_columns + column);
        interleave(of_residues, staged);
        const int64_t begin = first + column * residues.w;
        for (int64_t w = larger(begin, 0); w < smaller(end, begin + lanes * residues.w); w += lanes) {
          const int64_t count = smaller(lanes, smaller(end, begin + lanes * residues.w) - w);
          const MatrixPosition position = planar_position<spatial_axes>(
              band.batch, o, {row.at.d, row.at.h, w}, origin + o * view.channel_block_stride + w, count);
          const vec value = load_partial(staged + (w - begin), count);
          store_partial(arguments.output + position.offset, epilogue(value, position), count);
        }
      }
  }

  // The residues of one vector of places, one after the other for each place.
  [[gnu::always_inline]] static void interleave(const vec (&sums)[residues.w], float* to) {
    if constexpr (residues.w == 1) {
      store(to, sums[0]);
    } else if constexpr (residues.w == 2) {
      store(to, halves_mixed<0>(sums[0], sums[1], detail::AllLanes()));
      store(to + lanes, halves_mixed<lanes / 2>(sums[0], sums[1], detail::AllLanes()));
    } else {
      for (int64_t residue = 0; residue < residues.w; ++residue)
        for (int64_t lane = 0; lane < lanes; ++lane) to[lane * residues.w + residue] = sums[residue][lane];
    }
  }

  // Lanes of a and b in turns, from lane `first` on.
  template <int first, int... lane>
  [[gnu::always_inline]] static vec halves_mixed(vec a, vec b, detail::Lanes<int, lane...>) {
    return __builtin_shufflevector(a, b, (first + lane / 2 + lane % 2 * lanes)...);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
