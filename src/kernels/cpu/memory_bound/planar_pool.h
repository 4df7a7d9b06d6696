// Max pools of small windows, or with strides, on tensors in rows: NCHW, ranks 1 to 3, any dilation and overhang.
//
// Problem: as pooling.h, of a tensor that is not in blocks of channels, as the input of a model: copies to blocks and
// back take longer than the pool, and its loops fold one tap a time. Method: lanes are columns. For each row of outputs
// the rows of the input that its windows reach are folded into one row, whose columns are then folded along themselves
// by doubling; of these every `stride`-th is an output. Limits: maxima; rows much shorter than a vector leave lanes
// empty. Bound by: loads of the first-level cache, kd * kh for each vector of columns and as many comparisons, each
// three operations for the sake of NaN.
#pragma once

#include "kernels/cpu/memory_bound/pooling.h"
#include "kernels/cpu/vector/strided_lanes.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <PoolShape shape, class Input, class Output, class Epilogue, int spatial_axes>
class PlanarPool : PoolBase<shape, Input, Output, Epilogue> {
  using Base = PoolBase<shape, Input, Output, Epilogue>;
  using typename Base::Vector;
  using Element = decltype(Vector{}[0] + Vector{}[0]);  // float or int32_t
  static_assert(Base::is_maximum);

 public:
  using typename Base::Arguments;

  static KernelWork work(const PoolSizes& sizes) { return planar_pool_geometry(shape, sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const PoolSizes& sizes = arguments.sizes;
    const PoolGeometry geometry = planar_pool_geometry(shape, sizes, lanes);
    const Row row = row_of(sizes, static_cast<Element*>(scratch));
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t plane = task / geometry.ranges, begin = task % geometry.ranges * geometry.range_rows;
      const int64_t end = smaller(begin + geometry.range_rows, sizes.output.d * sizes.output.h);
      for (int64_t i = begin; i < end; ++i)
        run_row(arguments, epilogue, row,
                {plane / sizes.channels, plane % sizes.channels, i / sizes.output.h, i % sizes.output.h, 0, 0});
    }
  }

 private:
  // The columns that a row of outputs reads; [inside, past) are in the input.
  struct Row {
    Element* columns;
    int64_t count, inside, past;
  };

  static Row row_of(const PoolSizes& sizes, Element* columns) {
    const int64_t count = pool_columns(shape, sizes.output.w);
    const int64_t inside = smaller(count, sizes.begin_pads.w);
    return {columns, count, inside, larger(inside, smaller(count, sizes.begin_pads.w + sizes.input.w))};
  }

  static void run_row(const Arguments& arguments, const Epilogue& epilogue, const Row& row, const Position& first) {
    for (int64_t i = 0; i < row.inside; i += lanes) store(row.columns + i, splat(Base::neutral));
    fold_rows(arguments, row, first);
    for (int64_t i = row.past; i < row.count; i += lanes) store(row.columns + i, splat(Base::neutral));
    Base::fold_columns(row.columns, row.count);
    Base::template finish_in_rows<spatial_axes>(
        arguments, epilogue, first, arguments.sizes.output.w, [&](int64_t column, int64_t count) {
          return load_strided<shape.stride.w, Vector>(row.columns + column * shape.stride.w, count);
        });
  }

  // The maximum of all rows of the input that the windows reach, column by column.
  static void fold_rows(const Arguments& arguments, const Row& row, const Position& at) {
    const PoolSizes& sizes = arguments.sizes;
    const BlockedView& view = arguments.input_view;
    const int64_t d = at.d * shape.stride.d - sizes.begin_pads.d, h = at.h * shape.stride.h - sizes.begin_pads.h;
    const TapRange kd = taps_between(d, shape.kernel.d, shape.dilation.d, 0, sizes.input.d);
    const TapRange kh = taps_between(h, shape.kernel.h, shape.dilation.h, 0, sizes.input.h);
    const Input* const input = arguments.input + at.n * view.batch_stride +
                               at.channel_block * view.channel_block_stride + d * view.d_stride + h * view.h_stride -
                               sizes.begin_pads.w;
    const auto fold = [&](int64_t column, const auto& load_row) __attribute__((always_inline)) {
      Vector folded = splat(Base::neutral);
      for (int64_t i = kd.begin; i < kd.end; ++i)
        for (int64_t j = kh.begin; j < kh.end; ++j)
          folded = Base::fold(folded, load_row(input + i * shape.dilation.d * view.d_stride +
                                               j * shape.dilation.h * view.h_stride + column));
      store(row.columns + column, folded);
    };
    const auto whole = [](const Input* from) __attribute__((always_inline)) { return load(from); };
    int64_t column = row.inside;
    for (; column + lanes <= row.past; column += lanes) fold(column, whole);
    const int64_t rest = row.past - column;
    if (rest == 0) return;
    // The last vector of a long row overlaps with the one before, which makes no difference to a maximum.
    if (row.past - row.inside >= lanes)
      fold(row.past - lanes, whole);
    else
      fold(column, [rest](const Input* from) __attribute__((always_inline)) { return load_partial(from, rest); });
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
