// The parts of kernels that no model changes. They stand in the runtime's archive, once for each instruction set
// (the namespace of kernels is named after it), where the kernels' headers declare them with `extern template`: a model
// of one convolution would else take half as long again to compile. Such a function must be noinline, or clang compiles
// it with each model all the same.
#include "codegen/cpu/kernels/conv_depthwise.h"
#include "codegen/cpu/kernels/conv_direct.h"
#include "codegen/cpu/kernels/conv_planar_winograd.h"
#include "codegen/cpu/kernels/conv_stem_band.h"
#include "codegen/cpu/kernels/conv_stem_winograd.h"
#include "codegen/cpu/kernels/conv_to_rows.h"
#include "codegen/cpu/kernels/conv_transpose.h"
#include "codegen/cpu/kernels/conv_winograd.h"
#include "codegen/cpu/kernels/layout_copy.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

DirectGeometry direct_geometry_at_run_time(const DirectPacking& packing, const ConvSizes& sizes) {
  return direct_geometry(packing, sizes);
}

KernelWork transposed_work_at_run_time(const TransposedPacking& packing, const ConvSizes& sizes) {
  return transposed_work(packing, sizes);
}
TransposedPart transposed_part_at_run_time(const TransposedPacking& packing, int64_t index, const ConvSizes& sizes) {
  return transposed_part(packing, index, sizes);
}

DepthwiseGeometry depthwise_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes) {
  return depthwise_geometry(shape, lanes, sizes);
}

RowsGeometry to_rows_geometry_at_run_time(const RowsPacking& packing, const ConvSizes& sizes) {
  return to_rows_geometry(packing, sizes, lanes);
}

template void transpose_row<float>(const float*, int64_t, int64_t, int64_t, int64_t, float*, int64_t);

template void copy_stem_lines<float>(const ConvShape&, const ConvSizes&, const BlockedView&, const float*,
                                     const StemBandLines&);

template class LayoutCopy<float, float, false>;
template class LayoutCopy<float, float, true>;

template void winograd_multiply<winograd_rows(lanes), 1>(const float*, int64_t, const float*, const float*, int64_t,
                                                         int64_t, float*);
template void winograd_multiply<winograd_rows(lanes), 2>(const float*, int64_t, const float*, const float*, int64_t,
                                                         int64_t, float*);
template void winograd_multiply<winograd_short_rows(lanes), 1>(const float*, int64_t, const float*, const float*,
                                                               int64_t, int64_t, float*);
template void winograd_multiply<winograd_short_rows(lanes), 2>(const float*, int64_t, const float*, const float*,
                                                               int64_t, int64_t, float*);

template void winograd_multiply_points<1>(const WinogradTask&, int64_t, const float*, const float*);
template void winograd_multiply_points<2>(const WinogradTask&, int64_t, const float*, const float*);
template void winograd_prefetch_input<float>(const WinogradTask&, const float*, int64_t);
template vec winograd_recompute<float>(const WinogradPacking&, const ConvSizes&, const BlockedView&, const float*,
                                       const float*, const Axes&, int64_t);

template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 0, 4>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 0, 1>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 1, 1>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 2, 1>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 3, 1>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 4}>, 0, 4>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 4, 4}>, 0, 6>;
template struct WinogradTransforms<float, common_form<Axes{1, 3, 3}, Axes{1, 1, 1}, Axes{1, 2, 2}>, 0, 4>;
template struct WinogradTransforms<float, common_form<Axes{1, 3, 3}, Axes{1, 1, 1}, Axes{1, 2, 4}>, 0, 4>;
template struct WinogradTransforms<float, common_form<Axes{1, 3, 3}, Axes{1, 1, 1}, Axes{1, 4, 4}>, 0, 6>;
template struct WinogradTransforms<float, common_form<Axes{3, 1, 1}, Axes{1, 1, 1}, Axes{2, 1, 1}>, 0, 4>;
template struct WinogradTransforms<float, common_form<Axes{3, 1, 1}, Axes{1, 1, 1}, Axes{4, 1, 1}>, 0, 6>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{2, 2, 2}, Axes{1, 2, 2}>, 0, 5>;
template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{2, 2, 2}, Axes{2, 2, 2}>, 0, 5>;

WinogradGeometry winograd_geometry_at_run_time(const WinogradPacking& packing, const ConvSizes& sizes) {
  return winograd_geometry(packing, sizes);
}

WinogradTask::WinogradTask(const WinogradPacking& packing_, const ConvSizes& sizes, const BlockedView& view,
                           void* scratch_)
    : packing(packing_),
      form(packing.form()),
      geometry(winograd_geometry(packing, sizes)),
      input(form.ordered(sizes.input)),
      output(form.ordered(sizes.output)),
      pads(form.ordered(sizes.begin_pads)),
      outer_stride((form.swaps_depth_and_height ? view.h_stride : view.d_stride) * form.outer.dilation),
      row_stride((form.swaps_depth_and_height ? view.d_stride : view.h_stride) * form.row.dilation),
      channel_block_stride(view.channel_block_stride),
      scratch(static_cast<float*>(scratch_)) {
  for (int64_t i = geometry.zero_offset; i < geometry.product_offset; i += lanes) store(scratch + i, splat(0.0f));
}

void WinogradTask::select_lattice(const ConvSizes& sizes, const BlockedView& view) {
  const Axes lattices = form.lattices(sizes.output), apart = form.dilation();
  const int64_t lattice = batch % geometry.lattices;
  batch /= geometry.lattices;
  first_output = {lattice / lattices.w / lattices.h, lattice / lattices.w % lattices.h, lattice % lattices.w};
  const Axes whole_input = form.ordered(sizes.input), whole_output = form.ordered(sizes.output);
  const Axes whole_pads = form.ordered(sizes.begin_pads);
  const WinogradLattice outer(apart.d, first_output.d, whole_input.d, whole_output.d, whole_pads.d),
      row(apart.h, first_output.h, whole_input.h, whole_output.h, whole_pads.h),
      column(apart.w, first_output.w, whole_input.w, whole_output.w, whole_pads.w);
  input = {outer.input, row.input, column.input};
  output = {outer.output, row.output, column.output};
  pads = {outer.pad, row.pad, column.pad};
  const Axes first = form.ordered({outer.first_input, row.first_input, column.first_input});
  input_offset = first.d * view.d_stride + first.h * view.h_stride + first.w * lanes;
}

void winograd_clear_edges(float* to, int64_t begin, int64_t end, int64_t count, int64_t row_points,
                          int64_t point_stride) {
  for (; row_points > 0; --row_points, to += point_stride) {
    for (int64_t i = 0; i < begin; ++i) store(to + i * lanes, splat(0.0f));
    for (int64_t i = end; i < count; ++i) store(to + i * lanes, splat(0.0f));
  }
}

template vec planar_winograd_sum_directly<float>(const StemWinogradPacking&, const ConvSizes&, const BlockedView&,
                                                 const float*, const float*, int64_t, const Axes&);

template class StemWinogradRows<float>;

uint64_t stem_winograd_pieces_inside(const int64_t* taps, const int64_t* first, int64_t pieces, int64_t outputs,
                                     int64_t stride, int64_t tile, int64_t size) {
  uint64_t inside = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = tile + first[i];
    const int64_t before = begin < 0 ? divide_up(-begin, stride) : 0;  // inputs that lie before the first
    if (before < taps[i] + outputs - 1 && begin + before * stride < size) inside |= uint64_t{1} << i;
  }
  return inside;
}

StemWinogradGeometry stem_winograd_geometry_at_run_time(const StemWinogradPacking& packing, const ConvSizes& sizes) {
  return stem_winograd_geometry(packing, sizes);
}
PlanarWinogradGeometry planar_winograd_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes) {
  return planar_winograd_geometry(shape, sizes, lanes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
