// Pools of large windows that overlap, as pooling.h, folded axis by axis.
//
// Problem: pooling.h folds every tap of each window, kd * kh * kw of them: 729 for 9x9x9. Before: y = fold over (i, j,
// k) of x[d + i, h + j, w + k]. After: r = fold over k of a row, p = fold over j of the r, y = fold over i of the p.
// Method: a tile of outputs streams through three stages. (1) A row of the input is folded along itself by doubling:
// windows of 1, 2, 4, ... taps and at last of all; maxima may overlap, sums take single taps for the odd bits. (2)
// Rows, (3) planes come one after another, and the fold of the last `kernel` of them is kept by the method of van Herk
// and of Gil and Werman: time is cut into blocks of `kernel` steps, a window is the suffix of one block and the prefix
// of the next, so that a step costs three folds whatever the kernel. Nothing is subtracted, so infinities and NaN stay
// in the windows that have them. Lanes are channels, in rows voxels. With a dilation the steps of each residue are a
// sequence of their own. Limits: with strides the folds between outputs are wasted; `is_separable` weighs that. Bound
// by: loads and stores of the first and second-level cache, 1.5 and 1 for each fold; the planes of a tile stay in the
// second-level cache. The best known method needs 3 - 4 / k comparisons an axis and element, as here: 9x9x9 of one
// block takes 60 cycles an output with AVX-512, half of them for arithmetic.
#pragma once

#include "kernels/cpu/memory_bound/pooling.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// `spatial_axes`: of a tensor in rows; 0 in blocks. In rows lanes are voxels of a row, whose folds along itself are
// those of shifted rows: maxima without a stride along the width.
template <PoolShape shape, class Input, class Output, class Epilogue, int spatial_axes = 0>
class SeparablePool : PoolBase<shape, Input, Output, Epilogue> {
  using Base = PoolBase<shape, Input, Output, Epilogue>;
  using typename Base::Vector;
  using Element = decltype(Vector{}[0] + Vector{}[0]);  // float or int32_t
  static constexpr bool in_rows = spatial_axes > 0;
  static_assert(!in_rows || (Base::is_maximum && shape.stride.w == 1));

 public:
  using typename Base::Arguments;

  static KernelWork work(const PoolSizes& sizes) { return separable_pool_geometry(shape, sizes, lanes, in_rows).work; }

  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const PoolSizes& sizes = arguments.sizes;
    const SeparablePoolGeometry geometry = separable_pool_geometry(shape, sizes, lanes, in_rows);
    const Scratch memory(geometry, static_cast<Vector*>(scratch));
    const int64_t blocks = divide_up(sizes.channels, in_rows ? 1 : lanes), tiles = geometry.tiles.product();
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t plane = task / tiles, tile = task % tiles;
      const Axes begin{tile / (geometry.tiles.h * geometry.tiles.w) * geometry.tile.d,
                       tile / geometry.tiles.w % geometry.tiles.h * geometry.tile.h,
                       tile % geometry.tiles.w * geometry.tile.w};
      const Axes end{smaller(begin.d + geometry.tile.d, sizes.output.d),
                     smaller(begin.h + geometry.tile.h, sizes.output.h),
                     smaller(begin.w + geometry.tile.w, sizes.output.w)};
      run_tile({arguments, epilogue, memory, plane / blocks, plane % blocks, begin, end});
    }
  }

 private:
  struct Scratch {
    Vector *columns, *partial;                            // a row of the input, and its folds of fewer taps
    Vector *neutral, *row, *of_rows, *of_planes;          // a row of outputs each
    Vector *rows, *rows_prefix, *planes, *planes_prefix;  // the last steps of what runs along height and depth
    int64_t plane_size;

    Scratch(const SeparablePoolGeometry& geometry, Vector* memory) : plane_size(geometry.tile.h * geometry.row) {
      const int64_t width = geometry.row;
      const auto take = [&memory](int64_t count) {
        Vector* const taken = memory;
        memory += count;
        return taken;
      };
      columns = take(geometry.columns), partial = take(geometry.columns);
      neutral = take(width), row = take(width), of_rows = take(width), of_planes = take(width);
      rows = take(shape.kernel.h * width), rows_prefix = take(width);
      planes = take(shape.kernel.d * plane_size), planes_prefix = take(plane_size);
      for (int64_t i = 0; i < width; ++i) neutral[i] = splat(Base::neutral);
    }
  };

  struct Tile {
    const Arguments& arguments;
    const Epilogue& epilogue;
    const Scratch& scratch;
    int64_t batch, block;
    Axes begin, end;  // of the outputs
    int64_t width() const { return end.w - begin.w; }
    int64_t vectors() const { return in_rows ? divide_up(width(), lanes) : width(); }
  };

  // Calls visit(position, step, output) for the positions along one axis that outputs [begin, end) read: those of equal
  // residue modulo the dilation in steps 0, 1, ...; `output` is the one whose window ends there, or -1.
  template <class Visitor>
  static void for_each_step(int64_t kernel, int64_t stride, int64_t dilation, int64_t begin_pad, int64_t begin,
                            int64_t end, const Visitor& visit) {
    for (int64_t residue = 0; residue < dilation; ++residue) {
      int64_t first = begin;
      while (first < end && (first - begin) * stride % dilation != residue && first - begin < dilation) ++first;
      if (first >= end || (first - begin) * stride % dilation != residue) continue;
      const int64_t steps = (end - 1 - first) * stride / dilation + kernel;
      for (int64_t step = 0; step < steps; ++step) {
        const int64_t begun = (step - (kernel - 1)) * dilation;  // the window that ends here, from the first on
        const bool ends = begun >= 0 && begun % stride == 0;
        visit(first * stride - begin_pad + step * dilation, step, ends ? first + begun / stride : -1);
      }
    }
  }

  // The fold of the last `kernel` rows; `row` comes in this step: steps of a block replace those of the block before,
  // whose suffixes are still there. `stride` lies between the slots of a sequence.
  template <int64_t kernel>
  [[gnu::always_inline]] static const Vector* push(const Vector* row, int64_t width, int64_t step, bool is_wanted,
                                                   Vector* slots, int64_t stride, Vector* prefix, Vector* folded,
                                                   const Vector* neutral) {
    if constexpr (kernel == 1) return row;
    const int64_t slot = step % kernel;
    if (slot == 0 && step > 0) make_suffixes<kernel>(slots, stride, width);
    const Vector* const before = slot == 0 ? neutral : prefix;
    const Vector* const after = slot == kernel - 1 ? neutral : slots + (slot + 1) * stride;
    Vector* const replaced = slots + slot * stride;
    if (is_wanted)
      for (int64_t i = 0; i < width; ++i) {
        const Vector element = row[i], all = Base::fold(before[i], element);
        folded[i] = Base::fold(after[i], all);
        replaced[i] = element;
        prefix[i] = all;
      }
    else
      for (int64_t i = 0; i < width; ++i) {
        const Vector element = row[i];
        replaced[i] = element;
        prefix[i] = Base::fold(before[i], element);
      }
    return folded;
  }

  template <int64_t kernel>
  static void make_suffixes(Vector* slots, int64_t stride, int64_t width) {
    for (int64_t i = 0; i < width; ++i) {
      Vector suffix = slots[(kernel - 1) * stride + i];
      for (int64_t slot = kernel - 2; slot > 0; --slot) {
        suffix = Base::fold(slots[slot * stride + i], suffix);
        slots[slot * stride + i] = suffix;
      }
    }
  }

  static void run_tile(const Tile& tile) {
    const PoolSizes& sizes = tile.arguments.sizes;
    for_each_step(shape.kernel.d, shape.stride.d, shape.dilation.d, sizes.begin_pads.d, tile.begin.d, tile.end.d,
                  [&](int64_t d, int64_t step, int64_t output) {
                    if (d >= 0 && d < sizes.input.d) {
                      run_plane(tile, d, step, output);
                    } else {
                      for (int64_t h = tile.begin.h; h < tile.end.h; ++h)
                        push_plane(tile, h, tile.scratch.neutral, step, output);
                    }
                  });
  }

  // Folds the input's plane d, which is one step along the depth.
  static void run_plane(const Tile& tile, int64_t d, int64_t step_of_planes, int64_t output_d) {
    const PoolSizes& sizes = tile.arguments.sizes;
    const Scratch& scratch = tile.scratch;
    for_each_step(shape.kernel.h, shape.stride.h, shape.dilation.h, sizes.begin_pads.h, tile.begin.h, tile.end.h,
                  [&](int64_t h, int64_t step, int64_t output_h) {
                    const Vector* const row = h >= 0 && h < sizes.input.h ? fold_row(tile, d, h) : scratch.neutral;
                    const Vector* const folded =
                        push<shape.kernel.h>(row, tile.vectors(), step, output_h >= 0, scratch.rows, tile.vectors(),
                                             scratch.rows_prefix, scratch.of_rows, scratch.neutral);
                    if (output_h >= 0) push_plane(tile, output_h, folded, step_of_planes, output_d);
                  });
  }

  // One row of a plane that is folded along height and width.
  static void push_plane(const Tile& tile, int64_t output_h, const Vector* row, int64_t step, int64_t output_d) {
    const Scratch& scratch = tile.scratch;
    const int64_t offset = (output_h - tile.begin.h) * tile.vectors();
    const Vector* const folded =
        push<shape.kernel.d>(row, tile.vectors(), step, output_d >= 0, scratch.planes + offset, scratch.plane_size,
                             scratch.planes_prefix + offset, scratch.of_planes, scratch.neutral);
    if (output_d < 0) return;
    const Position first{tile.batch, tile.block, output_d, output_h, tile.begin.w, 0};
    if constexpr (in_rows)
      Base::template finish_in_rows<spatial_axes>(tile.arguments, tile.epilogue, first, tile.end.w,
                                                  [&](int64_t column, int64_t) { return folded[column / lanes]; });
    else
      Base::finish(tile.arguments, tile.epilogue, first, folded, tile.width());
  }

  // One row of the input, folded along itself.
  static const Vector* fold_row(const Tile& tile, int64_t d, int64_t h) {
    const PoolSizes& sizes = tile.arguments.sizes;
    const BlockedView& view = tile.arguments.input_view;
    const int64_t columns = pool_columns(shape, tile.width());
    const int64_t first = tile.begin.w * shape.stride.w - sizes.begin_pads.w;
    const Input* const row = tile.arguments.input + tile.batch * view.batch_stride +
                             tile.block * view.channel_block_stride + d * view.d_stride + h * view.h_stride +
                             first * (in_rows ? 1 : lanes);
    const int64_t inside = smaller(columns, larger(-first, 0));
    const int64_t past = larger(inside, smaller(columns, sizes.input.w - first));
    if constexpr (in_rows) return fold_voxels(tile, row, columns, inside, past);
    Vector* const read = tile.scratch.columns;
    for (int64_t i = 0; i < inside; ++i) read[i] = splat(Base::neutral);
    for (int64_t i = inside; i < past; ++i) read[i] = load(row + i * lanes);
    for (int64_t i = past; i < columns; ++i) read[i] = splat(Base::neutral);
    fold_along_row(read, columns, tile.scratch.partial, tile.width(), tile.scratch.row);
    return tile.scratch.row;
  }

  // In rows: voxels [inside, past) of the columns are in the input. Voxels beyond them are read and not used.
  static const Vector* fold_voxels(const Tile& tile, const Input* row, int64_t count, int64_t inside, int64_t past) {
    Element* const columns = reinterpret_cast<Element*>(tile.scratch.columns);
    for (int64_t i = 0; i < count; i += lanes) store(columns + i, splat(Base::neutral));
    int64_t i = inside;
    for (; i + lanes <= past; i += lanes) store(columns + i, load(row + i));
    if (i < past) store_partial(columns + i, load_partial(row + i, past - i), past - i);
    Base::fold_columns(columns, count);
    return tile.scratch.columns;
  }

  static void fold_along_row(const Vector* columns, int64_t count, Vector* partial, int64_t width, Vector* folded) {
    constexpr int64_t kernel = shape.kernel.w, dilation = shape.dilation.w, stride = shape.stride.w;
    const Vector* from = columns;
    int64_t taps = 1;
    // The next fold is of `taps` elements and as many after them, and of a sum's odd one.
    for (int64_t bits = 62 - __builtin_clzll(kernel); taps < kernel; --bits) {
      const int64_t next = Base::is_maximum ? smaller(2 * taps, kernel) : kernel >> bits;
      const bool is_last = next == kernel, has_odd_one = next > 2 * taps;
      const Vector* const second = from + smaller(taps, next - taps) * dilation;
      const Vector* const odd_one = columns + 2 * taps * dilation;
      const auto at = [&](int64_t i) __attribute__((always_inline)) {
        const Vector both = Base::fold(from[i], second[i]);
        return has_odd_one ? Base::fold(both, odd_one[i]) : both;
      };
      if (is_last)
        for (int64_t i = 0; i < width; ++i) folded[i] = at(i * stride);
      else
        for (int64_t i = 0; i < count - (next - 1) * dilation; ++i) partial[i] = at(i);
      from = partial;
      taps = next;
    }
    if (kernel == 1)
      for (int64_t i = 0; i < width; ++i) folded[i] = columns[i * stride];
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
