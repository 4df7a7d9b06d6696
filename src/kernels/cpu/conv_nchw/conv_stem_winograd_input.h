// The input transform of conv_stem_winograd.h and conv_planar_winograd.h: Winograd along depth and height on rows of an
// NCHW tensor, with neighbours along the width in the lanes.
#pragma once

#include "kernels/cpu/conv_nchw/conv_stem_winograd_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The pieces, of so many taps, that read anything inside an input of `size`, one a bit, for a tile whose first tap is
// at `tile`. Compiled with the runtime (conv_stem_winograd_instances.cpp).
uint64_t stem_winograd_pieces_inside(const int64_t* taps, const int64_t* first, int64_t pieces, int64_t outputs,
                                     int64_t stride, int64_t tile, int64_t size);

// Tables of what a kernel asks of an axis in every iteration.
template <StemWinogradAxis axis>
struct StemWinogradTables {
  int64_t taps[axis.pieces()];
  int64_t first[axis.pieces()];                   // the place of its first input, from the tile's first tap on
  int64_t pieces_at[axis.points()];               // how many pieces, the first ones, have a point
  int64_t term_of[axis.points()][axis.pieces()];  // of a point and a piece

  constexpr StemWinogradTables() : taps(), first(), pieces_at(), term_of() {
    constexpr int64_t pieces = axis.pieces(), points = axis.points();
    for (int64_t i = 0; i < pieces; ++i) {
      const StemWinogradPiece piece = axis.piece(i);
      taps[i] = piece.taps;
      first[i] = piece.first * axis.dilation;
    }
    for (int64_t point = 0; point < points; ++point) {
      pieces_at[point] = axis.pieces_at(point);
      for (int64_t i = 0; i < pieces_at[point]; ++i) term_of[point][i] = axis.term(point, i);
    }
  }
};

// An axis as the transforms see it; these are compiled with the runtime, once for all shapes.
struct StemWinogradAxisAtRunTime {
  bool is_paired;
  int64_t stride, pieces, terms;
  int64_t inputs;                         // of a tile
  const int64_t *taps, *first, *term_of;  // of the tables; the last [point][piece]

  int64_t outputs() const { return is_paired ? 2 : 1; }
  // The pieces that read anything inside an input of `size`, one a bit, for a tile whose first tap is at `tile`.
  uint64_t pieces_inside(int64_t tile, int64_t size) const {
    return stem_winograd_pieces_inside(taps, first, pieces, outputs(), stride, tile, size);
  }
};

template <StemWinogradAxis axis>
inline constexpr StemWinogradTables<axis> stem_winograd_tables{};
template <StemWinogradAxis axis>
inline constexpr StemWinogradAxisAtRunTime stem_winograd_axis{axis.is_paired(),
                                                              axis.stride,
                                                              axis.pieces(),
                                                              axis.terms(),
                                                              axis.inputs(1),
                                                              stem_winograd_tables<axis>.taps,
                                                              stem_winograd_tables<axis>.first,
                                                              stem_winograd_tables<axis>.term_of[0]};

// A task's scratch: the transformed rows of one tile of depth and height after another. Rows that are transformed along
// the depth stay for the tiles below.
template <class Input>
class StemWinogradRows {
 public:
  [[gnu::noinline]] StemWinogradRows(int64_t channels, const StemWinogradAxisAtRunTime& depth,
                                     const StemWinogradAxisAtRunTime& height, const StemWinogradBands& bands,
                                     const ConvSizes& sizes, float* scratch)
      : terms_(scratch),
        channels_(channels),
        depth_(depth),
        height_(height),
        bands_(bands),
        sizes_(sizes),
        kept_rows_(scratch + bands.kept_offset) {
    for (int64_t i = 0; i < sizes.input.w; ++i) zeros()[i] = Input(0.0f);
  }

  // Turns to a task's band of tiles.
  [[gnu::noinline]] void open_band(const Input* input, const BlockedView& view, int64_t task) {
    const int64_t band = task % bands_.bands, tile_plane = task / bands_.bands;
    batch = tile_plane / bands_.tiles.d;
    d = tile_plane % bands_.tiles.d * depth_.outputs();
    first_tile = band * bands_.band_tiles;
    last_tile = smaller(first_tile + bands_.band_tiles, bands_.tiles.h);
    depth_pieces = depth_.pieces_inside(first_plane(), sizes_.input.d);
    image_ = input + batch * view.batch_stride;
    view_ = view;
    band_row_ = kept_rows_end_ = first_tile * height_.outputs() * height_.stride - sizes_.begin_pads.h;
  }

  // Transforms the rows of the band's next tile.
  [[gnu::noinline]] void open_tile(int64_t tile) {
    h = tile * height_.outputs();
    const int64_t first_row = h * height_.stride - sizes_.begin_pads.h;
    height_pieces = height_.pieces_inside(first_row, sizes_.input.h);
    const int64_t first_new_row = larger(kept_rows_end_, first_row);
    kept_rows_end_ = first_row + height_.inputs;
    for (int64_t channel = 0; channel < channels_; ++channel)
      for (int64_t piece = 0; piece < depth_.pieces; ++piece)
        if ((depth_pieces >> piece & 1u) != 0) transform_depth(channel, piece, first_new_row);
    for (int64_t piece = 0; piece < height_.pieces; ++piece)
      if ((height_pieces >> piece & 1u) != 0) transform_height(piece, kept_place(first_row));
  }

  int64_t row_stride() const { return bands_.row_stride; }

  int64_t batch = 0, d = 0, h = 0;               // of the tile's first output
  int64_t first_tile = 0, last_tile = 0;         // of the band, along the height
  uint64_t depth_pieces = 0, height_pieces = 0;  // that read something inside the input, one a bit

 protected:
  float* terms_;

 private:
  Input* zeros() const { return reinterpret_cast<Input*>(terms_ + bands_.zeros_offset); }
  int64_t first_plane() const { return d * depth_.stride - sizes_.begin_pads.d; }

  // Rows of the input are kept [input channel][term of the depth][place][column], a tile of them.
  int64_t kept_place(int64_t row) const { return (row - band_row_) % height_.inputs; }

  // The terms of a piece of the depth, of rows [row, kept_rows_end_). Column 0 is that of the first output's first tap.
  void transform_depth(int64_t channel, int64_t piece, int64_t row) {
    if (!depth_.is_paired)
      transform_planes<1, false>(channel, piece, row);
    else if (depth_.taps[piece] == 3)
      transform_planes<3, true>(channel, piece, row);
    else if (depth_.taps[piece] == 2)
      transform_planes<2, true>(channel, piece, row);
    else
      transform_planes<1, true>(channel, piece, row);
  }
  template <int taps, bool is_paired>
  [[gnu::noinline]] void transform_planes(int64_t channel, int64_t piece, int64_t row) {
    constexpr int inputs = taps + (is_paired ? 1 : 0), points = is_paired ? 4 : 1;
    const Input* planes[inputs];
    for (int i = 0; i < inputs; ++i) {
      const int64_t plane = first_plane() + depth_.first[piece] + i * depth_.stride;
      const bool is_inside = plane >= 0 && plane < sizes_.input.d;
      planes[i] = is_inside ? image_ + channel * view_.channel_block_stride + plane * view_.d_stride : nullptr;
    }
    int64_t place = kept_place(row);
    for (; row < kept_rows_end_; ++row, place = place + 1 < height_.inputs ? place + 1 : 0) {
      const bool is_inside = row >= 0 && row < sizes_.input.h;
      const Input* from[inputs];
      for (int i = 0; i < inputs; ++i)
        from[i] =
            (is_inside && planes[i] != nullptr ? planes[i] + row * view_.h_stride : zeros()) - sizes_.begin_pads.w;
      float* to[points];
      for (int point = 0; point < points; ++point) {
        const int64_t term = depth_.term_of[point * depth_.pieces + piece];
        to[point] = kept_rows_ + ((channel * depth_.terms + term) * height_.inputs + place) * bands_.row_stride;
      }
#pragma clang loop unroll(disable)
      for (int64_t w = 0; w < bands_.row_stride; w += lanes) {
        const int64_t begin = larger(0, smaller(lanes, sizes_.begin_pads.w - w));  // the lanes inside the input
        const int64_t end = larger(begin, smaller(lanes, sizes_.begin_pads.w + sizes_.input.w - w));
        vec elements[inputs];
#pragma clang loop unroll(full)
        for (int i = 0; i < inputs; ++i) elements[i] = load_between(from[i] + w, begin, end);
#pragma clang loop unroll(full)
        for (int point = 0; point < points; ++point)
          if (StemWinogradAxis::has_point(point, taps))
            store(to[point] + w, combine(elements, StemWinogradAxis::input_of(point, taps)));
      }
    }
  }

  // The terms of a piece of the height, of all terms of the depth; the tile's first row is kept at `first_place`.
  void transform_height(int64_t piece, int64_t first_place) {
    if (!height_.is_paired)
      transform_rows<1, false>(piece, first_place);
    else if (height_.taps[piece] == 3)
      transform_rows<3, true>(piece, first_place);
    else if (height_.taps[piece] == 2)
      transform_rows<2, true>(piece, first_place);
    else
      transform_rows<1, true>(piece, first_place);
  }
  template <int taps, bool is_paired>
  [[gnu::noinline]] void transform_rows(int64_t piece, int64_t first_place) {
    constexpr int inputs = taps + (is_paired ? 1 : 0), points = is_paired ? 4 : 1;
    const int64_t stride = bands_.row_stride;
    int64_t from[inputs], to[points];
    for (int i = 0; i < inputs; ++i) {
      const int64_t place = first_place + height_.first[piece] + i * height_.stride;
      from[i] = (place < height_.inputs ? place : place - height_.inputs) * stride;
    }
    for (int point = 0; point < points; ++point) to[point] = height_.term_of[point * height_.pieces + piece] * stride;
    const float* source = kept_rows_;
    float* destination = terms_;
#pragma clang loop unroll(disable)
    for (int64_t term = 0; term < channels_ * depth_.terms; ++term) {
#pragma clang loop unroll(disable)
      for (int64_t w = 0; w < stride; w += lanes) {
        vec elements[inputs];
#pragma clang loop unroll(full)
        for (int i = 0; i < inputs; ++i) elements[i] = load(source + from[i] + w);
#pragma clang loop unroll(full)
        for (int point = 0; point < points; ++point)
          if (StemWinogradAxis::has_point(point, taps))
            store(destination + to[point] + w, combine(elements, StemWinogradAxis::input_of(point, taps)));
      }
      source += height_.inputs * stride;
      destination += height_.terms * stride;
    }
  }

  template <size_t count>
  [[gnu::always_inline]] static vec combine(const vec (&inputs)[count], const StemWinogradTerm& term) {
    if (term.second < 0) return inputs[term.first];
    return term.sign > 0 ? inputs[term.first] + inputs[term.second] : inputs[term.first] - inputs[term.second];
  }

  int64_t channels_;
  StemWinogradAxisAtRunTime depth_, height_;
  StemWinogradBands bands_;
  ConvSizes sizes_;
  BlockedView view_{};
  float* kept_rows_;
  const Input* image_ = nullptr;
  int64_t band_row_ = 0, kept_rows_end_ = 0;  // of the input: the band's first row, the end of those that are kept
};

// Compiled with the runtime (conv_stem_winograd_instances.cpp).
extern template class StemWinogradRows<float>;

// The same with what a shape makes constant.
template <ConvShape shape, class Input>
class StemWinogradInput : public StemWinogradRows<Input> {
 public:
  static constexpr StemWinogradAxis depth{shape.kernel.d, shape.stride.d, shape.dilation.d},
      height{shape.kernel.h, shape.stride.h, shape.dilation.h};
  static constexpr const StemWinogradTables<depth>& depth_tables = stem_winograd_tables<depth>;
  // The order of the depth's points, in which what they give is accumulated in two outputs.
  static constexpr int64_t depth_order[4] = {1, 2, 0, 3};

  StemWinogradInput(const StemWinogradBands& bands, const ConvSizes& sizes, float* scratch)
      : StemWinogradRows<Input>(shape.input_channels, stem_winograd_axis<depth>, stem_winograd_axis<height>, bands,
                                sizes, scratch) {}

  // The first of a tile's rows, transformed along both axes, of a term of the depth: one for each of the height.
  const float* rows(int64_t channel, int64_t term) const {
    return this->terms_ + (channel * depth_terms + term) * height_terms * this->row_stride();
  }

 private:
  // Constants, so that none of this is computed at run time.
  static constexpr int64_t depth_terms = depth.terms(), height_terms = height.terms();
};

// The begin of the weights of a point of the depth and a group of points of the height in a chunk, in vectors.
template <StemWinogradPacking packing>
struct StemWinogradGroupOffsets {
  int64_t of[packing.depth().points()][2];
  constexpr StemWinogradGroupOffsets() : of() {
    // As packing.group_offset, but computed incrementally: clang would take a millisecond to evaluate each.
    constexpr int64_t points = packing.depth().points(), channels = packing.shape.input_channels;
    constexpr int64_t inner[2] = {packing.inner(false) * channels, packing.inner(true) * channels};
    int64_t offset = 0;
    for (int64_t point = 0; point < points; ++point)
      for (int group = 0; group < 2; ++group) {
        of[point][group] = offset;
        offset += stem_winograd_tables<packing.depth()>.pieces_at[point] * inner[group];
      }
  }
};
template <StemWinogradPacking packing>
inline constexpr StemWinogradGroupOffsets<packing> stem_winograd_group_offsets{};

// The products of a tile at points 1 and 2 of the height, or at 0 and 3, with a point of the depth. Calls
// add.operator()<points>(row, weights) for each term and tap of the width. The products of `points` points, one or two,
// take elements of the row and of the next one. A point has `chunk_lanes` weights; `weights` are the chunk's.
template <StemWinogradPacking packing, bool is_outer_group, int64_t chunk_lanes, class InputTile, class Add>
[[gnu::always_inline]] inline void for_each_stem_product(const InputTile& input, const float* weights, int64_t point,
                                                         const Add& add) {
  constexpr ConvShape shape = packing.shape;
  constexpr StemWinogradAxis height = packing.height();
  constexpr int64_t pairs = !height.is_paired() ? 0 : is_outer_group ? height.pieces() : height.pieces_of(3);
  constexpr int64_t pieces = is_outer_group ? height.pieces() : height.pieces_at(1);
  constexpr int64_t group_lanes = packing.inner(is_outer_group) * chunk_lanes;
  constexpr int64_t first_row = is_outer_group ? packing.inner_products() : 0;
  const int64_t stride = input.row_stride();
  const uint64_t inside = input.height_pieces;
  const auto of_pieces = [&]<int points>(const float* row, const float* taps, int64_t begin, int64_t end)
                             __attribute__((always_inline)) {
#pragma clang loop unroll(disable)
                               for (int64_t piece = begin; piece < end; ++piece, row += points * stride) {
                                 if ((inside >> piece & 1u) == 0) {
                                   taps += points * shape.kernel.w * chunk_lanes;
                                   continue;
                                 }
      // Rolled: unrolled, clang shares loads between taps, keeps them live and spills the tile.
#pragma clang loop unroll(disable)
                                 for (int64_t kw = 0; kw < shape.kernel.w; ++kw, taps += points * chunk_lanes)
                                   add.template operator()<points>(row + kw * shape.dilation.w, taps);
                               }
                             };
  weights += stem_winograd_group_offsets<packing>.of[point][is_outer_group ? 1 : 0] * chunk_lanes;
  for (int64_t channel = 0; channel < shape.input_channels; ++channel)
    for (int64_t piece = 0; piece < InputTile::depth_tables.pieces_at[point]; ++piece, weights += group_lanes) {
      if ((input.depth_pieces >> piece & 1u) == 0) continue;
      const float* row = input.rows(channel, InputTile::depth_tables.term_of[point][piece]) + first_row * stride;
      of_pieces.template operator()<2>(row, weights, 0, pairs);
      if constexpr (pairs < pieces)
        of_pieces.template operator()<1>(row + pairs * 2 * stride, weights + pairs * 2 * shape.kernel.w * chunk_lanes,
                                         pairs, pieces);
    }
}

// Adds what a point of the depth gives to the outputs so far: y0 = m0 + m1 + m2, y1 = m1 - m2 + m3, in the order 1, 2,
// 0, 3. `first` and `second` are y0 and y1; for_each_vector calls what it is given with the place of each vector there
// and with its sum.
template <bool is_paired, class ForEachVector>
[[gnu::always_inline]] inline void add_depth_point(float* first, float* second, int64_t point,
                                                   const ForEachVector& for_each_vector) {
  if (!is_paired || point == 1) {
    for_each_vector([&](int64_t at, vec sum) __attribute__((always_inline)) { store(first + at, sum); });
  } else if (point == 2) {
    for_each_vector([&](int64_t at, vec sum) __attribute__((always_inline)) {
      const vec one = load(first + at);
      store(first + at, one + sum);
      store(second + at, one - sum);
    });
  } else {
    float* const to = point == 0 ? first : second;
    for_each_vector([&](int64_t at, vec sum) __attribute__((always_inline)) { store(to + at, load(to + at) + sum); });
  }
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
