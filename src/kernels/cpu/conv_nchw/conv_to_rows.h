// Convolution and transposed convolution NCHWc to NCHW with few output channels (1 to 4).
//
// Problem: as in conv_direct.h with stride 1, or as in conv_transpose.h. The last layers of segmentation networks have
// two or three output channels; an NCHWc block of them is mostly padding, which the next layers compute and move as
// well. Method: lanes are neighbouring voxels of a row. A task transposes the input blocks that it reads to NCHW rows
// in scratch (transpose.h), with zeros past their ends. A register tile is some vectors along a row by all output
// channels and, in a transposed convolution, by all residues modulo the stride; each element is one chain of FMAs of a
// shifted vector with a broadcast weight. A residue takes only its own taps. At the end the residues of a row are
// interleaved, and epilogue and stores go along the output rows. If a chain would become long, it is summed up after
// each tap of depth and height; only the shape fixes the order of each sum. Limits: one group, dilation 1. Bound by:
// FMA throughput with many channels; a 1x1x1 by memory and the transposition. 3x3x3 with stride 2 from 32 to 3 channels
// reaches 41% of the peak; conv_transpose_packed.h has 18%. Two fifths of the time are the transposition, repeated for
// each tap of the depth, and rows of 24 positions fill three quarters of their vectors.
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
      Band band(arguments, geometry, task, static_cast<float*>(scratch));
      if constexpr (packing.is_pointwise()) {
        const Axes& size = arguments.sizes.output;
        for (int64_t voxel = band.column_begin, end = voxel + band.columns; voxel < end; voxel += band.columns) {
          band.select_row({voxel / size.w / size.h, voxel / size.w % size.h, voxel % size.w}, end - voxel, arguments);
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
  // A chain of more products loses digits (conv_winograd_geometry.h has the same length with fewer lanes a chain).
  static constexpr bool adds_chains = shape.input_channels * taps.product() > 256;

  struct Band {
    const RowsGeometry& geometry;
    int64_t batch, plane;
    int64_t row_begin, row_end, column_begin, columns;
    TapRange planes;  // taps of the depth inside the input
    float* lines;

    Band(const Arguments& arguments, const RowsGeometry& geometry_, int64_t task, float* scratch)
        : geometry(geometry_), lines(scratch) {
      const int64_t band = task % geometry.bands, piece = task / geometry.bands % geometry.pieces;
      plane = task / geometry.bands / geometry.pieces % geometry.size.d;
      batch = task / geometry.bands / geometry.pieces / geometry.size.d;
      row_begin = band * geometry.band_rows;
      row_end = smaller(row_begin + geometry.band_rows, geometry.size.h);
      column_begin = piece * geometry.piece_columns;
      columns = smaller(geometry.piece_columns, geometry.size.w - column_begin);
      find_planes(arguments);
    }
    void find_planes(const Arguments& arguments) {
      planes = taps_between(plane - geometry.begin_pads.d, taps.d, 1, 0, arguments.sizes.input.d);
    }
    // At most `most` voxels of one row, from `at` on.
    void select_row(const Axes& at, int64_t most, const Arguments& arguments) {
      plane = at.d;
      row_begin = at.h;
      row_end = at.h + 1;
      column_begin = at.w;
      columns = smaller(most, arguments.sizes.output.w - at.w);
      find_planes(arguments);
    }
    // The scratch line of input channel 0.
    float* line(int64_t tap, int64_t row) const {
      return lines + (tap * geometry.input_rows + row - row_begin) * shape.input_channels * geometry.row_stride;
    }
  };

  static void run_band(const Arguments& arguments, const Epilogue& epilogue, const Band& band) {
    transpose_lines(arguments, band);
    for (int64_t row = band.row_begin; row < band.row_end; ++row)
      for (int64_t rd = 0; rd < residues.d; ++rd)
        for (int64_t rh = 0; rh < residues.h; ++rh) run_row(arguments, epilogue, band, row, rd, rh);
  }

  // ---- the input's rows

  static void transpose_lines(const Arguments& arguments, const Band& band) {
    const RowsGeometry& geometry = band.geometry;
    const BlockedView& view = arguments.input_view;
    for (int64_t tap = band.planes.begin; tap < band.planes.end; ++tap)
      for (int64_t row = band.row_begin; row < band.row_end + taps.h - 1; ++row) {
        const int64_t d = band.plane + tap - geometry.begin_pads.d, h = row - geometry.begin_pads.h;
        if (h < 0 || h >= arguments.sizes.input.h) continue;
        const Input* source = arguments.input + band.batch * view.batch_stride + d * view.d_stride + h * view.h_stride;
        float* to = band.line(tap, row);
        for (int64_t channel = 0; channel < shape.input_channels; channel += lanes) {
          // All columns that the band's places read: what a register tile reads past them goes to no output.
          transpose_row(source, arguments.sizes.input.w, band.column_begin - geometry.begin_pads.w,
                        band.columns + taps.w - 1, smaller(lanes, shape.input_channels - channel), to,
                        geometry.row_stride);
          source += view.channel_block_stride;
          to += lanes * geometry.row_stride;
        }
      }
  }

  // ---- sums

  // A row of the output, and the taps of depth and height that it sums.
  struct OutputRow {
    int64_t row, rd, rh;
    Axes at;  // of the output; w is not used
    TapRange planes, rows;
  };

  // The part of a range of taps that a residue has.
  static TapRange taps_of(const RowsAxis& axis, int64_t residue, const TapRange& inside) {
    const int64_t begin = larger(inside.begin, axis.first_tap(residue));
    return {begin, larger(begin, inside.end)};
  }

  static void run_row(const Arguments& arguments, const Epilogue& epilogue, const Band& band, int64_t row, int64_t rd,
                      int64_t rh) {
    const RowsGeometry& geometry = band.geometry;
    const Axes &size = arguments.sizes.output, &before = geometry.before;
    const Axes at{band.plane * residues.d + rd - before.d, row * residues.h + rh - before.h, 0};
    if (at.d < 0 || at.d >= size.d || at.h < 0 || at.h >= size.h) return;
    const TapRange rows = taps_between(row - geometry.begin_pads.h, taps.h, 1, 0, arguments.sizes.input.h);
    const OutputRow output{row, rd, rh, at, taps_of(packing.d(), rd, band.planes), taps_of(packing.h(), rh, rows)};
    int64_t column = 0;
    for (; column + (most_vectors - 1) * lanes < band.columns; column += most_vectors * lanes)
      run_tile<most_vectors>(arguments, epilogue, band, output, column);
    run_rest<most_vectors - 1>(arguments, epilogue, band, output, column);
  }

  // The rest of a row: up to `vectors` of them.
  template <int vectors>
  static void run_rest(const Arguments& arguments, const Epilogue& epilogue, const Band& band, const OutputRow& output,
                       int64_t column) {
    if constexpr (vectors > 0) {
      if (column + (vectors - 1) * lanes < band.columns)
        run_tile<vectors>(arguments, epilogue, band, output, column);
      else
        run_rest<vectors - 1>(arguments, epilogue, band, output, column);
    }
  }

  template <int vectors>
  [[gnu::noinline]] static void run_tile(const Arguments& arguments, const Epilogue& epilogue, const Band& band,
                                         const OutputRow& output, int64_t column) {
    vec sums[sums_count][vectors], totals[sums_count][vectors];
    for (int i = 0; i < sums_count; ++i)
      for (int v = 0; v < vectors; ++v) sums[i][v] = totals[i][v] = splat(0.0f);
    for (int64_t td = output.planes.begin; td < output.planes.end; ++td)
      for (int64_t th = output.rows.begin; th < output.rows.end; ++th) {
        const int64_t kd = packing.d().kernel_tap(output.rd, td), kh = packing.h().kernel_tap(output.rh, th);
        add_lines<vectors>(band.line(td, output.row + th) + column, band.geometry.row_stride,
                           arguments.weights + packing.offset(kd, kh), sums);
        if constexpr (adds_chains) {
          for (int i = 0; i < sums_count; ++i)
            for (int v = 0; v < vectors; ++v) {
              totals[i][v] += sums[i][v];
              sums[i][v] = splat(0.0f);
            }
          asm("" : "+m"(totals));  // in memory: the registers are the sums'
        }
      }
    finish<vectors>(arguments, epilogue, band, output, column, adds_chains ? totals : sums);
  }

  // The products of all input channels at one tap of depth and height.
  template <int vectors>
  [[gnu::always_inline]] static void add_lines(const float* line, int64_t distance, const float* weights,
                                               vec (&sums)[sums_count][vectors]) {
#pragma clang loop unroll(disable)
    for (int64_t channel = 0; channel < shape.input_channels; ++channel) {
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

  template <int vectors>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Band& band,
                                            const OutputRow& output, int64_t column,
                                            const vec (&sums)[sums_count][vectors]) {
    constexpr int64_t length = vectors * lanes * residues.w;
    alignas(64) float staged[outputs][length];
    for (int o = 0; o < outputs; ++o)
      for (int v = 0; v < vectors; ++v) {
        vec of_residues[residues.w];
        for (int64_t residue = 0; residue < residues.w; ++residue)
          of_residues[residue] = sums[residue * outputs + o][v];
        interleave(of_residues, staged[o] + v * lanes * residues.w);
      }
    asm("" : "+m"(staged));  // the sums leave their registers here, so that the epilogue has them all
    const int64_t begin = (band.column_begin + column) * residues.w - band.geometry.before.w;
    const int64_t band_end = (band.column_begin + band.columns) * residues.w - band.geometry.before.w;
    const int64_t end = smaller(begin + length, smaller(band_end, arguments.sizes.output.w));
    const BlockedView& view = arguments.output_view;
    const int64_t origin = band.batch * view.batch_stride + output.at.d * view.d_stride + output.at.h * view.h_stride;
#pragma clang loop unroll(disable)
    for (int64_t o = 0; o < outputs; ++o)
#pragma clang loop unroll(disable)
      for (int64_t w = larger(begin, 0); w < end; w += lanes) {
        const MatrixPosition position =
            planar_position<spatial_axes>(band.batch, o, {output.at.d, output.at.h, w},
                                          origin + o * view.channel_block_stride + w, smaller(lanes, end - w));
        const vec value = load_partial(staged[o] + (w - begin), position.count);
        store_partial(arguments.output + position.offset, epilogue(value, position), position.count);
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
