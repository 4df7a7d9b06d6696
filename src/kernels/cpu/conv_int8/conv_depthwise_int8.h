// Depthwise convolution of bytes on NCHWc, with exact sums in int32: any kernel and stride, dilation along depth and
// height, any begin pads, ranks 1 to 3.
//
// Problem: as conv_depthwise.h, of bytes less their zero point; there each byte becomes a float, in three instructions,
// before a tap takes one. Method: four neighbouring voxels of a row are a vector of bytes. One permutation (VPERMB; two
// without AVX512_VBMI) puts the four bytes of each channel into one lane, and a product of quads (int8_quads.h)
// multiplies them with up to four taps of the row. A register tile is up to ten outputs of a row, each with a vector of
// its own. Signed bytes count 128 more. The zero point's products are taken off at the begin of a row of outputs: they
// are the sum of the weights of those kernel rows that lie inside the input. Voxels outside of an input row read the
// zero point: only the first and last outputs of a tile can meet these, and only they load by masks.
//
// Limits: with AVX2, and without VNNI, it is slower than by floats. Bound by: loads of 64 bytes; three in four of them
// cross a cache line, then by products; with few taps by the epilogue.
#pragma once

#include "kernels/cpu/conv/conv_depthwise_rows.h"
#include "kernels/cpu/conv/window.h"
#include "kernels/cpu/conv_int8/conv_depthwise_int8_geometry.h"
#include "kernels/cpu/vector/int8_quads.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace detail {

// An order of the bytes of a vector.
struct ByteOrder {
  typedef char Bytes __attribute__((vector_size(4 * lanes)));
  alignas(4 * lanes) char places[4 * lanes];

  // For four vectors of channels, or for 16 bytes of them: byte `part` of channel i stands at 4 * i + part.
  explicit constexpr ByteOrder(int channels) : places{} {
    for (int i = 0; i < 4 * lanes; ++i) places[i] = static_cast<char>(i % 4 * channels + i % (4 * channels) / 4);
  }
  [[gnu::always_inline]] Bytes load() const { return load_bits<Bytes>(places); }
};
inline constexpr ByteOrder order_of_all(lanes), order_of_parts(4);

// For four voxels one after another, each `lanes` bytes: the four bytes of each channel in its lane.
[[gnu::always_inline]] inline vec_int32 quads_of_voxels(vec_int32 voxels) {
  using Bytes = ByteOrder::Bytes;
#if defined(__AVX512VBMI__)
  return __builtin_bit_cast(vec_int32,
                            __builtin_ia32_permvarqi512(__builtin_bit_cast(Bytes, voxels), order_of_all.load()));
#else
  // First four channels of each voxel to one part of 16 bytes, then within the parts.
  const vec_mask lane = lane_indices();
  const Bytes parts =
      __builtin_bit_cast(Bytes, permute(__builtin_bit_cast(vec, voxels), (lane & 3) * (lanes / 4) + (lane >> 2)));
#if defined(__AVX512F__)
  return __builtin_bit_cast(vec_int32, __builtin_ia32_pshufb512(parts, order_of_parts.load()));
#else
  return __builtin_bit_cast(vec_int32, __builtin_ia32_pshufb256(parts, order_of_parts.load()));
#endif
#endif
}

// Which of four voxels of a row lie inside it.
struct VoxelsInside {
  int64_t begin, end;

  [[gnu::always_inline]] VoxelsInside(int64_t column, int64_t width)
      : begin(clamped(-column)), end(clamped(width - column)) {}

 private:
  [[gnu::always_inline]] static int64_t clamped(int64_t voxel) { return smaller(larger(voxel, 0), 4); }
};

// Four voxels; those outside are `outside`, and their memory is not touched.
template <class T>
[[gnu::always_inline]] inline vec_int32 load_voxels(const T* source, const VoxelsInside& inside, T outside) {
  typedef char bytes __attribute__((vector_size(4 * lanes)));
  const bytes padding = bytes{} + static_cast<char>(outside);
#if defined(__AVX512F__)
  const auto below = [](int64_t voxel) { return voxel == 4 ? ~uint64_t{0} : (uint64_t{1} << (voxel * lanes)) - 1; };
  return __builtin_bit_cast(vec_int32, __builtin_ia32_loaddquqi512_mask(reinterpret_cast<const bytes*>(source), padding,
                                                                        below(inside.end) & ~below(inside.begin)));
#else
  bytes voxels = padding;
  for (int64_t i = inside.begin * lanes; i < inside.end * lanes; ++i) voxels[i] = static_cast<char>(source[i]);
  return __builtin_bit_cast(vec_int32, voxels);
#endif
}

}  // namespace detail

template <ConvShape shape, class Input, class Output, class Epilogue>
class DepthwiseInt8Convolution {
 public:
  using Arguments = ByteConvArguments<Input, Output>;  // the weights are DepthwiseInt8Packing's
  static_assert(depthwise_int8_supports(shape), "not depthwise, or taps of a row that do not lie side by side");

  static KernelWork work(const ConvSizes& sizes) { return depthwise_geometry_at_run_time(shape, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    for_each_depthwise_row<shape>(
        arguments.sizes, task_begin, task_end,
        [&](int64_t batch, int64_t block, int64_t d, int64_t h) { run_row(arguments, epilogue, batch, block, d, h); });
  }

 private:
  static constexpr DepthwiseInt8Packing packing{shape, lanes};
  static constexpr int64_t quads = packing.quads();
  // Columns at each end of a tile that may lie outside the row.
  static constexpr int64_t edge_columns = (shape.kernel.w - 1) / 2;

  // One row of outputs: what it reads, the same for all of its tiles.
  struct Row {
    TapRange kd, kh;      // inside the input
    const Input* input;   // of the first tap of output 0
    const char* weights;  // of the block
    vec_int32 start;      // of each sum
  };

  static void run_row(const Arguments& arguments, const Epilogue& epilogue, int64_t batch, int64_t block, int64_t d,
                      int64_t h) {
    const Row row = row_of(arguments, batch, block, d, h);
    for_each_depthwise_tile<true, 1>(
        arguments.sizes.output.w, [&]<int outputs, int>(int64_t column) __attribute__((always_inline)) {
          return run_tile<outputs>(arguments, epilogue, row, {batch, block, d, h, column, 0});
        });
  }

  static Row row_of(const Arguments& arguments, int64_t batch, int64_t block, int64_t d, int64_t h) {
    const BlockedView& view = arguments.input_view;
    const Axes &pads = arguments.sizes.begin_pads, &size = arguments.sizes.input;
    const Axes origin{d * shape.stride.d - pads.d, h * shape.stride.h - pads.h, -pads.w};
    Row row{taps_between(origin.d, shape.kernel.d, shape.dilation.d, 0, size.d),
            taps_between(origin.h, shape.kernel.h, shape.dilation.h, 0, size.h),
            arguments.input + batch * view.batch_stride + block * view.channel_block_stride + origin.d * view.d_stride +
                origin.h * view.h_stride + origin.w * lanes,
            reinterpret_cast<const char*>(arguments.weights) + block * packing.block_bytes(),
            {}};
    for (int64_t i = row.kd.begin; i < row.kd.end; ++i)
      for (int64_t j = row.kh.begin; j < row.kh.end; ++j) row.start = add(row.start, load_words(taps_of(row, i, j)));
    row.start = multiply(row.start, splat(-int32_t{as_unsigned(arguments.zero_point)}));
    return row;
  }

  static const char* taps_of(const Row& row, int64_t kd, int64_t kh) {
    return row.weights + (kd * shape.kernel.h + kh) * packing.row_bytes();
  }

  // Input columns that a tile's taps meet, from the first of its first output on.
  template <int outputs>
  static constexpr int64_t columns = (outputs - 1) * shape.stride.w + shape.kernel.w;

  // Returns how many outputs it has computed: if too many columns lie outside the row, those of a smaller tile.
  template <int outputs>
  [[gnu::always_inline]] static int64_t run_tile(const Arguments& arguments, const Epilogue& epilogue, const Row& row,
                                                 const Position& first) {
    const int64_t origin = first.w * shape.stride.w - arguments.sizes.begin_pads.w;
    const int64_t width = arguments.sizes.input.w;
    if (origin >= -edge_columns && origin + columns<outputs> <= width + edge_columns) {
      compute_tile<outputs, edge_columns>(arguments, epilogue, row, first);
      return outputs;
    }
    constexpr int fewer = outputs >= 4 ? 4 : 1;
    run_at_any_edge<fewer>(arguments, epilogue, row, first);
    return fewer;
  }

  static constexpr int64_t any_column = -1;

  template <int outputs>
  [[gnu::noinline]] static void run_at_any_edge(const Arguments& arguments, const Epilogue& epilogue, const Row& row,
                                                const Position& first) {
    compute_tile<outputs, any_column>(arguments, epilogue, row, first);
  }

  // Whether a quad of an output may reach out of the row, if the tile's first and last `edge` columns may.
  template <int outputs, int64_t edge>
  static constexpr bool may_be_outside(int64_t output, int64_t quad) {
    const int64_t first = output * shape.stride.w + 4 * quad;
    return edge == any_column || first < edge || first + 4 > columns<outputs> - edge;
  }

  template <int outputs, int64_t edge>
  [[gnu::always_inline]] static void compute_tile(const Arguments& arguments, const Epilogue& epilogue, const Row& row,
                                                  const Position& first) {
    const BlockedView& view = arguments.input_view;
    const int64_t width = arguments.sizes.input.w;
    const int64_t origin = first.w * shape.stride.w - arguments.sizes.begin_pads.w;
    vec_int32 sums[outputs];
    for (vec_int32& sum : sums) sum = row.start;
    for (int64_t i = row.kd.begin; i < row.kd.end; ++i)
#pragma clang loop unroll(disable)
      for (int64_t j = row.kh.begin; j < row.kh.end; ++j) {
        const Input* voxels = row.input + i * shape.dilation.d * view.d_stride + j * shape.dilation.h * view.h_stride +
                              first.w * shape.stride.w * lanes;
        const char* taps = taps_of(row, i, j) + packing.vector_bytes();
        hide_origin(voxels, taps);
#pragma clang loop unroll(full)
        for (int64_t quad = 0; quad < quads; ++quad) {
          const vec_int32 weights = load_words(taps + quad * packing.vector_bytes());
#pragma clang loop unroll(full)
          for (int output = 0; output < outputs; ++output) {
            const int64_t column = output * shape.stride.w + 4 * quad;
            const Input* const source = voxels + column * lanes;
            const vec_int32 bytes = may_be_outside<outputs, edge>(output, quad)
                                        ? detail::load_voxels(source, {origin + column, width}, arguments.zero_point)
                                        : load_words(source);
            vec_int32 x = detail::quads_of_voxels(bytes);
            if constexpr (sign_flip<Input> != 0) x ^= splat(static_cast<int32_t>(0x80808080));
            sums[output] = add_quads(sums[output], x, weights);
          }
        }
      }
    finish_depthwise_tile<shape>(arguments, epilogue, first, sums);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
