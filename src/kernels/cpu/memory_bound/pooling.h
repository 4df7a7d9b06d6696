// Max and average pools on NCHWc: any window, stride, dilation, pads and overhang (ceil_mode), ranks 1 to 3; max pools
// of bytes too.
//
// Problem: y[n, c, z] = epilogue(the maximum, or the mean, of x[n, c, z * stride - pad + k * dilation] over the taps k
// inside the input). Padding is never the maximum; a NaN is. A window of only padding gives -infinity or the least
// byte, or NaN as the mean of nothing. Lanes are channels, so every lane computes on its own. Method: up to four
// outputs of a row at once stay in registers; window rows inside the padding are skipped, and tiles at the ends of a
// row read the neutral element for what lies outside. The taps' order is the order of each sum. Bound by: reading the
// input.
#pragma once

#include "kernels/cpu/conv/planar_position.h"
#include "kernels/cpu/conv/window.h"
#include "kernels/cpu/memory_bound/pooling_geometry.h"
#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Input, class Output>
struct PoolArguments {
  const Input* input;
  Output* output;
  PoolSizes sizes;
  BlockedView input_view;
  BlockedView output_view;
};

// The shared needs of the kernels for pools: how elements are folded, and the outputs that follow.
template <PoolShape shape, class Input, class Output, class Epilogue>
class PoolBase {
 public:
  using Arguments = PoolArguments<Input, Output>;

 protected:
  static constexpr bool is_maximum = shape.kind == PoolKind::maximum, is_of_bytes = sizeof(Input) == 1;
  static_assert(is_maximum || !is_of_bytes, "a mean of bytes");
  using Vector = decltype(load(static_cast<const Input*>(nullptr)));  // of floats, or of int32

  static constexpr auto neutral_element() {
    if constexpr (is_of_bytes)
      return Input(-1) < Input(0) ? -128 : 0;
    else
      return is_maximum ? -__builtin_inff() : 0.0f;
  }
  static constexpr auto neutral = neutral_element();

  [[gnu::always_inline]] static Vector fold(Vector a, Vector b) {
    if constexpr (is_maximum)
      return maximum(a, b);
    else
      return a + b;
  }

  // How many elements a mean is over, along one axis.
  static int64_t count(int64_t origin, int64_t kernel, int64_t dilation, int64_t begin_pad, int64_t input,
                       int64_t end_pad) {
    if constexpr (shape.kind == PoolKind::average_with_padding)
      return taps_between(origin, kernel, dilation, -begin_pad, input + end_pad).count();
    else
      return taps_between(origin, kernel, dilation, 0, input).count();
  }

  // Stores the outputs from `first` on, of one row, given what their windows fold to.
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Position& first,
                                            const Vector* folded, int64_t outputs) {
    const PoolSizes& sizes = arguments.sizes;
    const BlockedView& view = arguments.output_view;
    const Axes origin{first.d * shape.stride.d - sizes.begin_pads.d, first.h * shape.stride.h - sizes.begin_pads.h,
                      first.w * shape.stride.w - sizes.begin_pads.w};
    const int64_t last_channels = sizes.channels - first.channel_block * lanes;
    const int64_t rows =
        count(origin.d, shape.kernel.d, shape.dilation.d, sizes.begin_pads.d, sizes.input.d, sizes.end_pads.d) *
        count(origin.h, shape.kernel.h, shape.dilation.h, sizes.begin_pads.h, sizes.input.h, sizes.end_pads.h);
    Position position = first;
    position.offset = first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                      first.d * view.d_stride + first.h * view.h_stride + first.w * lanes;
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < outputs; ++i, ++position.w, position.offset += lanes) {
      Vector folded_value = folded[i];
      if constexpr (!is_maximum)
        folded_value /= static_cast<float>(rows * count(origin.w + i * shape.stride.w, shape.kernel.w, shape.dilation.w,
                                                        sizes.begin_pads.w, sizes.input.w, sizes.end_pads.w));
      auto value = epilogue(folded_value, position);
      if (last_channels < lanes) value = keep_lanes(first_lanes(last_channels), value);
      store(arguments.output + position.offset, value);
    }
  }

  // The same in rows: outputs [first.w, end) of channel first.channel_block; `vector_at` gives so many from a column
  // on.
  template <int spatial_axes, class VectorAt>
  [[gnu::always_inline]] static void finish_in_rows(const Arguments& arguments, const Epilogue& epilogue,
                                                    const Position& first, int64_t end, const VectorAt& vector_at) {
    const BlockedView& view = arguments.output_view;
    const int64_t origin = first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                           first.d * view.d_stride + first.h * view.h_stride;
    for (int64_t column = first.w; column < end; column += lanes) {
      const int64_t count = smaller(lanes, end - column);
      const MatrixPosition position = planar_position<spatial_axes>(first.n, first.channel_block,
                                                                    {first.d, first.h, column}, origin + column, count);
      store_partial(arguments.output + position.offset, epilogue(vector_at(column - first.w, count), position), count);
    }
  }

  // In rows: folds `count` columns with those after them, so that each is the maximum of the window along the width
  // that begins there. By doubling, as maxima may overlap. Columns past them are read and not used.
  template <class Element>
  [[gnu::always_inline]] static void fold_columns(Element* columns, int64_t count) {
    constexpr int64_t kernel = shape.kernel.w, dilation = shape.dilation.w;
    for (int64_t taps = 1; taps < kernel;) {
      const int64_t next = smaller(2 * taps, kernel), shift = (next - taps) * dilation;
      for (int64_t at = 0; at < count - (next - 1) * dilation; at += lanes)
        store(columns + at, fold(load(columns + at), load(columns + at + shift)));
      taps = next;
    }
  }
};

template <PoolShape shape, class Input, class Output, class Epilogue>
class Pool : PoolBase<shape, Input, Output, Epilogue> {
  using Base = PoolBase<shape, Input, Output, Epilogue>;
  using typename Base::Vector;

 public:
  using typename Base::Arguments;

  static KernelWork work(const PoolSizes& sizes) { return pool_geometry(sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    const PoolSizes& sizes = arguments.sizes;
    const PoolGeometry geometry = pool_geometry(sizes, lanes);
    const int64_t blocks = divide_up(sizes.channels, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t plane = task / geometry.ranges;
      const int64_t begin = task % geometry.ranges * geometry.range_rows;
      const int64_t end = smaller(begin + geometry.range_rows, sizes.output.d * sizes.output.h);
      for (int64_t row = begin; row < end; ++row)
        run_row(arguments, epilogue, plane / blocks, plane % blocks, row / sizes.output.h, row % sizes.output.h);
    }
  }

 private:
  struct Neutral {
    Input elements[lanes];
    Neutral() {
      for (Input& element : elements) element = static_cast<Input>(Base::neutral);
    }
  };

  // One row of outputs. The place goes in single numbers: see conv_depthwise.h.
  static void run_row(const Arguments& arguments, const Epilogue& epilogue, int64_t batch, int64_t block, int64_t d,
                      int64_t h) {
    Position row{batch, block, d, h, 0, 0};
    const int64_t width = arguments.sizes.output.w;
    while (row.w + 4 <= width) run_tile<4>(arguments, epilogue, row), row.w += 4;
    while (row.w < width) run_tile<1>(arguments, epilogue, row), row.w += 1;
  }

  template <int outputs>
  [[gnu::always_inline]] static void run_tile(const Arguments& arguments, const Epilogue& epilogue,
                                              const Position& first) {
    constexpr int64_t columns = (outputs - 1) * shape.stride.w + (shape.kernel.w - 1) * shape.dilation.w + 1;
    const PoolSizes& sizes = arguments.sizes;
    const Axes origin{first.d * shape.stride.d - sizes.begin_pads.d, first.h * shape.stride.h - sizes.begin_pads.h,
                      first.w * shape.stride.w - sizes.begin_pads.w};  // of the first window, in the input
    Vector folded[outputs];
    for (Vector& value : folded) value = splat(Base::neutral);
    if (origin.w >= 0 && origin.w + columns <= sizes.input.w)
      fold_window<outputs, false>(arguments, first, origin, folded);
    else
      fold_window<outputs, true>(arguments, first, origin, folded);
    Base::finish(arguments, epilogue, first, folded, outputs);
  }

  template <int outputs, bool at_edge>
  [[gnu::always_inline]] static void fold_window(const Arguments& arguments, const Position& first, const Axes& origin,
                                                 Vector (&folded)[outputs]) {
    const Neutral outside;
    const BlockedView& view = arguments.input_view;
    const Axes& size = arguments.sizes.input;
    const TapRange kd = taps_between(origin.d, shape.kernel.d, shape.dilation.d, 0, size.d);
    const TapRange kh = taps_between(origin.h, shape.kernel.h, shape.dilation.h, 0, size.h);
    const Input* const block =
        arguments.input + first.n * view.batch_stride + first.channel_block * view.channel_block_stride;
    for (int64_t i = kd.begin; i < kd.end; ++i)
#pragma clang loop unroll(disable)
      for (int64_t j = kh.begin; j < kh.end; ++j) {
        const Input* const row = block + (origin.d + i * shape.dilation.d) * view.d_stride +
                                 (origin.h + j * shape.dilation.h) * view.h_stride + origin.w * lanes;
        const InputRow<Input, at_edge> elements{row, origin.w, size.w, outside.elements};
#pragma clang loop unroll(disable)
        for (int64_t k = 0; k < shape.kernel.w; ++k) {
#pragma clang loop unroll(full)
          for (int output = 0; output < outputs; ++output)
            folded[output] = Base::fold(folded[output], elements[output * shape.stride.w + k * shape.dilation.w]);
        }
      }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
