// Depthwise convolution on NCHWc, and grouped convolution with fewer channels a group than a vector has lanes: any
// kernel, stride, dilation and begin pads, ranks 1 to 3; of floats, or of bytes less a zero point.
//
// Problem: y[n, c, z] = epilogue(sum over k of x[n, c, z * stride - pad + k * dilation] * w[c, k]), x zero outside its
// bounds. Lanes are channels, so every lane computes on its own. Method: a register tile is up to ten outputs of one
// row. For each kernel row its taps are loaded once; each input element is loaded once and serves all outputs and taps
// of the tile that read it. Kernel rows inside the padding are skipped. Only the first and last columns of a tile, as
// many as half the kernel, can lie outside the input row: only these are tested, and they read zeros. The taps' order
// is the order of each sum. In groups of m channels each element serves m times: its lanes are permuted within the
// group so that every channel meets each member once, and multiplied with that member's taps. Bytes become floats as
// they are loaded, and so do their weights; the sums of whole numbers are exact. If channels of floats fill half a
// block or a quarter, a vector holds two or four voxels. Part p of a tile's vectors is the outputs after those of part
// p - 1, its elements are joined from as many loads, and every part has the taps. Limits: kernels wider than nine (with
// 16 registers five) load an element for each tap, as do tiles with more columns outside; with a stride or 16 registers
// a vector holds one voxel. Bound by: FMA throughput while the planes of a band stay in the second-level cache, with
// half a block by that cache, of whose lines half is read in vain; with a Swish epilogue equally by arithmetic there.
// Measured shares of the peak: 16 channels 7x7x7 reach 0.9, eight on rows of 64 voxels 0.55 (one voxel to a vector and
// an element a tap: 0.39 and 0.16), 3x3x3 0.7.
#pragma once

#include "kernels/cpu/conv/conv_depthwise_rows.h"
#include "kernels/cpu/conv/window.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// For bytes the arguments are ByteConvArguments with weights of float, and the epilogue begins with an int32.
template <class Input, class Output>
struct DepthwiseArguments {
  using type = ConvArguments<Input, Output>;
};
template <class Input, class Output>
  requires(sizeof(Input) == 1)
struct DepthwiseArguments<Input, Output> {
  using type = ByteConvArguments<Input, Output, float>;
};

template <ConvShape shape, class Input, class Output, class Epilogue>
class DepthwiseConvolution {
 public:
  using Arguments = typename DepthwiseArguments<Input, Output>::type;
  static constexpr bool is_of_bytes = sizeof(Input) == 1;
  static_assert(is_of_bytes ? depthwise_supports_bytes(shape, lanes) : depthwise_supports(shape, lanes),
                "a convolution that joins more channels than a block has, or too many bytes");

  static KernelWork work(const ConvSizes& sizes) { return depthwise_geometry_at_run_time(shape, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    for_each_depthwise_row<shape>(
        arguments.sizes, task_begin, task_end,
        [&](int64_t batch, int64_t block, int64_t d, int64_t h) { run_row(arguments, epilogue, batch, block, d, h); });
  }

 private:
  static constexpr DepthwisePacking packing{shape, lanes};
  static constexpr int members = static_cast<int>(packing.members());  // of a group
  // Whether the accumulators, a row of taps and the input elements fit the registers.
  static constexpr bool keeps_taps = shape.kernel.w <= (target_unit.has_many_registers() ? 9 : 5);
  // To a vector. Tiles that load an element for each tap would have to join its parts as often.
  static constexpr int voxels = keeps_taps && !is_of_bytes ? depthwise_voxels(shape, lanes) : 1;
  // Columns at each end of a tile that may lie outside the row.
  static constexpr int64_t edge_columns = (shape.kernel.w - 1) * shape.dilation.w / 2;

  // One row of outputs. The place goes in single numbers: a structure is copied by wide loads of what narrow stores
  // have just written, and such a load waits until all stores before it, those of the row above too, have reached the
  // cache.
  static void run_row(const Arguments& arguments, const Epilogue& epilogue, int64_t batch, int64_t block, int64_t d,
                      int64_t h) {
    // Whether the registers hold ten sums beside taps and elements.
    constexpr bool is_narrow = shape.kernel.w <= 5 || (shape.kernel.w <= 7 && shape.stride.w == 1);
    constexpr bool has_ten = target_unit.has_many_registers() ? !keeps_taps || (is_narrow && voxels == 1)
                                                              : shape.kernel.w <= 3 && members == 1;
    Position row{batch, block, d, h, 0, 0};
    for_each_depthwise_tile<has_ten, voxels>(
        arguments.sizes.output.w, [&]<int outputs, int parts>(int64_t column) __attribute__((always_inline)) {
          row.w = column;
          return run_tile<outputs, parts>(arguments, epilogue, row);
        });
  }

  // Input elements of a row that a tile reads, from the first tap of its first output on.
  template <int outputs>
  static constexpr int64_t columns = (outputs - 1) * shape.stride.w + (shape.kernel.w - 1) * shape.dilation.w + 1;

  // `parts` vectors' worth of outputs, part p of a vector being `outputs` after part p - 1. Returns how many outputs it
  // has computed: if too many columns lie outside the row, those of a smaller tile.
  template <int outputs, int parts>
  [[gnu::always_inline]] static int64_t run_tile(const Arguments& arguments, const Epilogue& epilogue,
                                                 const Position& first) {
    constexpr int64_t edge = keeps_taps ? smaller(edge_columns, columns<outputs>) : 0;
    const int64_t origin = first.w * shape.stride.w - arguments.sizes.begin_pads.w;
    if (origin >= -edge && origin + columns<outputs * parts> <= arguments.sizes.input.w + edge) {
      compute_tile<outputs, parts, edge>(arguments, epilogue, first);
      return outputs * parts;
    }
    constexpr int fewer = outputs * parts >= 4 ? 4 : 1;
    run_at_any_edge<fewer>(arguments, epilogue, first);
    return fewer;
  }

  template <int outputs>
  [[gnu::noinline]] static void run_at_any_edge(const Arguments& arguments, const Epilogue& epilogue,
                                                const Position& first) {
    compute_tile<outputs, 1, any_column>(arguments, epilogue, first);
  }

  template <int outputs, int parts, int64_t edge>
  [[gnu::always_inline]] static void compute_tile(const Arguments& arguments, const Epilogue& epilogue,
                                                  const Position& first) {
    const Axes& pads = arguments.sizes.begin_pads;
    const Axes origin{first.d * shape.stride.d - pads.d, first.h * shape.stride.h - pads.h,
                      first.w * shape.stride.w - pads.w};  // of the window, in the input
    if constexpr (target_unit.fetches_strided_planes && shape.stride.h > 1)
      fetch_next_plane<outputs * parts>(arguments, first, origin);
    vec accumulators[outputs] = {};
    accumulate<outputs, parts, edge>(arguments, first, origin, accumulators);
    if constexpr (is_of_bytes) {
      vec_int32 sums[outputs];
      for (int i = 0; i < outputs; ++i) sums[i] = __builtin_convertvector(accumulators[i], vec_int32);
      finish_depthwise_tile<shape>(arguments, epilogue, first, sums);
    } else if constexpr (parts == 1) {
      finish_depthwise_tile<shape>(arguments, epilogue, first, accumulators);
    } else {
#pragma clang loop unroll(full)
      for (int p = 0; p < parts; ++p) {
        vec sums[outputs];
#pragma clang loop unroll(full)
        for (int i = 0; i < outputs; ++i) sums[i] = part_of<parts>(accumulators[i], p);
        Position position = first;
        position.w += p * outputs;
        finish_depthwise_tile<shape>(arguments, epilogue, position, sums);
      }
    }
  }

  // The first inputs that the same outputs of the next plane will read. With stride a band has few rows of outputs for
  // its rows of input, and these are too few at a place for the processor to fetch them ahead by itself.
  template <int outputs>
  [[gnu::always_inline]] static void fetch_next_plane(const Arguments& arguments, const Position& first,
                                                      const Axes& origin) {
    constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(Input)), elements = outputs * shape.stride.w * lanes;
    constexpr int64_t rows = smaller(shape.stride.h, shape.kernel.h);
    constexpr int64_t last_d = (shape.kernel.d - 1) * shape.dilation.d,
                      last_h = (shape.kernel.h - 1) * shape.dilation.h;
    const BlockedView& view = arguments.input_view;
    const Axes& size = arguments.sizes.input;
    const int64_t plane = origin.d + last_d + shape.stride.d;
    if (plane >= size.d || size.product() * shape.input_channels * static_cast<int64_t>(sizeof(Input)) < fetched_bytes)
      return;
    const int64_t offset = first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                           plane * view.d_stride + (origin.h + last_h - (rows - 1)) * view.h_stride +
                           first.w * shape.stride.w * lanes;
    // As a number: the rows may end before the tile, or begin in the padding.
    const uintptr_t begin =
        reinterpret_cast<uintptr_t>(arguments.input) + static_cast<uintptr_t>(offset) * sizeof(Input);
#pragma clang loop unroll(full)
    for (int64_t row = 0; row < rows; ++row)
#pragma clang loop unroll(full)
      for (int64_t i = 0; i < elements; i += line)
        __builtin_prefetch(
            reinterpret_cast<const void*>(begin + static_cast<uintptr_t>(row * view.h_stride + i) * sizeof(Input)));
  }

  // A smaller input is in the second-level cache.
  static constexpr int64_t fetched_bytes = 512 * 1024;

  // `edge`: columns at each end of the tile that may lie outside the row, or any_column.
  static constexpr int64_t any_column = -1;

  template <int outputs, int parts, int64_t edge>
  [[gnu::always_inline]] static void accumulate(const Arguments& arguments, const Position& first, const Axes& origin,
                                                vec (&accumulators)[outputs]) {
    const Padding padding(arguments);
    const BlockedView& view = arguments.input_view;
    const Axes& size = arguments.sizes.input;
    const TapRange kd = taps_between(origin.d, shape.kernel.d, shape.dilation.d, 0, size.d);
    const TapRange kh = taps_between(origin.h, shape.kernel.h, shape.dilation.h, 0, size.h);
    const Input* const block =
        arguments.input + first.n * view.batch_stride + first.channel_block * view.channel_block_stride;
    const float* const weights = arguments.weights + first.channel_block * packing.block_size();
    for (int64_t i = kd.begin; i < kd.end; ++i)
#pragma clang loop unroll(disable)
      for (int64_t j = kh.begin; j < kh.end; ++j) {
        const Input* row = block + (origin.d + i * shape.dilation.d) * view.d_stride +
                           (origin.h + j * shape.dilation.h) * view.h_stride + origin.w * lanes;
        const float* taps = weights + (i * shape.kernel.h + j) * members * packing.row_size();
#pragma clang loop unroll(disable)
        for (int member = 0; member < members; ++member, taps += packing.row_size()) {
          hide_origin(row, taps);  // with several members, clang would keep the elements of the first on the stack, too
          const auto at_edge =
              numbers<outputs, parts>(InputRow<Input, true>{row, origin.w, size.w, padding.elements()}, arguments);
          const auto inside =
              numbers<outputs, parts>(InputRow<Input, false>{row, origin.w, size.w, padding.elements()}, arguments);
          if constexpr (members == 1) {
            add_row<outputs, parts, edge>(at_edge, inside, taps, accumulators);
          } else {
            const vec_mask order = lane_indices() ^ static_cast<vec_mask>(member);
            add_row<outputs, parts, edge>(Exchanged{at_edge, order}, Exchanged{inside, order}, taps, accumulators);
          }
        }
      }
  }

  // The value read outside of a row: zero, for bytes the zero point.
  struct Padding {
    alignas(64) static constexpr Input zeros[lanes] = {};
    Input zero_points[is_of_bytes ? lanes : 1];

    [[gnu::always_inline]] explicit Padding(const Arguments& arguments) {
      if constexpr (is_of_bytes)
        for (Input& byte : zero_points) byte = arguments.zero_point;
    }
    [[gnu::always_inline]] const Input* elements() const { return is_of_bytes ? zero_points : zeros; }
  };

  // A row of bytes less their zero point, as floats.
  template <class Row>
  struct Centred {
    Row row;
    vec_int32 zero_point;
    [[gnu::always_inline]] vec operator[](int64_t i) const { return to_float(subtract(row[i], zero_point)); }
  };
  template <int outputs, int parts, bool at_edge>
  [[gnu::always_inline]] static auto numbers(const InputRow<Input, at_edge>& row, const Arguments& arguments) {
    if constexpr (is_of_bytes)
      return Centred<InputRow<Input, at_edge>>{row, splat(int32_t{arguments.zero_point})};
    else if constexpr (parts == 1)
      return row;
    else
      return InputParts<Input, at_edge, parts, outputs * shape.stride.w>(row);
  }

  // A row whose lanes are exchanged.
  template <class Row>
  struct Exchanged {
    Row row;
    vec_mask order;
    [[gnu::always_inline]] vec operator[](int64_t i) const { return permute(row[i], order); }
  };

  template <int outputs, int parts, int64_t edge, class EdgeRow, class InnerRow>
  [[gnu::always_inline]] static void add_row(const EdgeRow& at_edge, const InnerRow& inside, const float* taps,
                                             vec (&accumulators)[outputs]) {
    if constexpr (keeps_taps && edge != any_column)
      add_row_by_element<outputs, parts, edge>(at_edge, inside, taps, accumulators);
    else if constexpr (edge == any_column)
      add_row_by_tap<outputs>(at_edge, taps, accumulators);
    else
      add_row_by_tap<outputs>(inside, taps, accumulators);
  }

  // Every element is loaded once and multiplied with each tap that meets an output of the tile in it.
  template <int outputs, int parts, int64_t edge, class EdgeRow, class InnerRow>
  [[gnu::always_inline]] static void add_row_by_element(const EdgeRow& at_edge, const InnerRow& inside,
                                                        const float* taps, vec (&accumulators)[outputs]) {
    vec tap[shape.kernel.w];
#pragma clang loop unroll(full)
    for (int k = 0; k < shape.kernel.w; ++k) tap[k] = load_repeated<parts>(taps + k * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < columns<outputs>; ++i) {
      vec element;
      bool is_loaded = false;
#pragma clang loop unroll(full)
      for (int k = shape.kernel.w - 1; k >= 0; --k) {
        const int64_t distance = i - k * shape.dilation.w;
        if (distance < 0 || distance % shape.stride.w != 0 || distance / shape.stride.w >= outputs) continue;
        if (!is_loaded) element = i < edge || i >= columns<outputs> - edge ? at_edge[i] : inside[i];
        is_loaded = true;
        vec& accumulator = accumulators[distance / shape.stride.w];
        accumulator = fma(element, tap[k], accumulator);
      }
    }
  }

  template <int outputs, class Elements>
  [[gnu::always_inline]] static void add_row_by_tap(const Elements& elements, const float* taps,
                                                    vec (&accumulators)[outputs]) {
#pragma clang loop unroll(disable)
    for (int64_t k = 0; k < shape.kernel.w; ++k) {
      const vec tap = load(taps + k * lanes);
#pragma clang loop unroll(full)
      for (int i = 0; i < outputs; ++i)
        accumulators[i] = fma(elements[i * shape.stride.w + k * shape.dilation.w], tap, accumulators[i]);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
