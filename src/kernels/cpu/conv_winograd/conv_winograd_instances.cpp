// The parts of conv_winograd.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_winograd/conv_winograd.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

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
template void winograd_recompute<float>(const WinogradPacking&, const ConvSizes&, const BlockedView&, const float*,
                                        const float*, const WinogradVoxels&);

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

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
