// The block of a matrix product: its tile, its part of the reduction, and the place of its results.
#pragma once

#include "kernels/hip/gemm/tile_product.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// A tile row's position in the output, and whether it is inside.
struct RowPlace {
  int32_t d, h, w;
  int32_t is_inside;
};

// Four elements as one store.
template <size_t size>
struct FourBits;
template <>
struct FourBits<1> {
  using Element = uint8_t;
  typedef uint8_t Type __attribute__((ext_vector_type(4)));
};
template <>
struct FourBits<2> {
  using Element = uint16_t;
  typedef uint16_t Type __attribute__((ext_vector_type(4)));
};
template <>
struct FourBits<4> {
  using Element = uint32_t;
  using Type = Chunk;
};
template <class T, size_t alignment>
struct __attribute__((packed, aligned(alignment))) StoredFour {
  typename FourBits<sizeof(T)>::Type bits;
};

// `which` numbers the tiles, all tiles of one part of the reduction after those of another.
template <GemmPlan plan, class Input, class Weight, class Output>
struct GemmBlock {
  // References: a copy would become a constant in GPU memory, which the compiler does not see through.
  static constexpr const ConvShape& shape = plan.shape;
  static constexpr const GemmTile& tile = plan.tile;
  using Product = typename TileProducts<own_gpu.matrix_unit>::template Product<plan>;
  using Four = typename FourSums<is_bytes(plan.products)>::Type;

  const GemmArguments<Input, Weight, Output>& arguments;
  int64_t image;
  int group, first_column;
  int32_t part;
  Axes residue;
  uint32_t first_row;
  RowPlace first_place;

  __device__ GemmBlock(const GemmArguments<Input, Weight, Output>& arguments_, int64_t which) : arguments(arguments_) {
    // HIP counts the threads of a launch in 32 bits: blocks and the rows of a tile fit as well.
    auto rest = static_cast<uint32_t>(which);
    auto take = [&rest](const Divisor& count) {
      const uint32_t place = count.remainder(rest);
      rest = count.quotient(rest);
      return place;
    };
    first_column = static_cast<int>(take(Divisor::of(plan.column_tiles()))) * static_cast<int>(tile.columns);
    place_first_row(take(arguments.launch.row_tiles) * static_cast<uint32_t>(tile.rows));
    if constexpr (plan.transposed) {
      residue.w = take(Divisor::of(shape.stride.w));
      residue.h = take(Divisor::of(shape.stride.h));
      residue.d = take(Divisor::of(shape.stride.d));
    }
    group = static_cast<int>(take(Divisor::of(shape.groups)));
    image = plan.is_split ? take(arguments.launch.batch) : rest;
    part = plan.is_split ? static_cast<int32_t>(rest) : 0;
  }

  // The position of a tile row, given that of the tile's first row.
  __device__ void place_first_row(uint32_t row) {
    const Divisor &width = arguments.launch.width, &height = arguments.launch.height;
    first_row = row;
    if constexpr (plan.has_halo()) row /= static_cast<uint32_t>(tile.rows);
    const uint32_t line = width.quotient(row);
    first_place = {static_cast<int32_t>(height.quotient(line)), static_cast<int32_t>(height.remainder(line)),
                   static_cast<int32_t>(width.remainder(row)), 1};
    if constexpr (plan.has_halo()) {
      first_place.d *= static_cast<int32_t>(plan.brick.d);
      first_place.h *= static_cast<int32_t>(plan.brick.h);
      first_place.w *= static_cast<int32_t>(plan.brick.w);
    }
  }
  __device__ RowPlace place_of(int index) const {
    if constexpr (plan.has_halo()) return place_in_brick(static_cast<uint32_t>(index));
    const Divisor &width = arguments.launch.width, &height = arguments.launch.height;
    const uint32_t w = static_cast<uint32_t>(first_place.w + index);
    const uint32_t h = static_cast<uint32_t>(first_place.h) + width.quotient(w);
    RowPlace place = {first_place.d + static_cast<int32_t>(height.quotient(h)),
                      static_cast<int32_t>(height.remainder(h)), static_cast<int32_t>(width.remainder(w)),
                      first_row + static_cast<uint32_t>(index) < arguments.launch.rows};
    if constexpr (plan.transposed) {
      const Axes& output = arguments.sizes.output;
      place.is_inside &= place.d * shape.stride.d + residue.d < output.d &&
                         place.h * shape.stride.h + residue.h < output.h &&
                         place.w * shape.stride.w + residue.w < output.w;
    }
    return place;
  }

  __device__ RowPlace place_in_brick(uint32_t index) const {
    constexpr auto width = static_cast<uint32_t>(plan.brick.w), height = static_cast<uint32_t>(plan.brick.h);
    const Axes& output = arguments.sizes.output;
    RowPlace place = {first_place.d + static_cast<int32_t>(index / (width * height)),
                      first_place.h + static_cast<int32_t>(index / width % height),
                      first_place.w + static_cast<int32_t>(index % width), 1};
    place.is_inside = place.d < output.d && place.h < output.h && place.w < output.w;
    return place;
  }

  // An offset, as a sum of products of 32 bits each.
  __device__ static int64_t offset_of(int32_t d, int32_t h, int32_t w, const GemmView& view) {
    auto product = [](int32_t position, int64_t stride) { return int64_t{position} * static_cast<int32_t>(stride); };
    return product(d, view.d) + product(h, view.h) + product(w, view.w);
  }

  // The output offset of the row's channels; in NCHW, of those from the lane's first column on.
  struct Voxel {
    Output* channels;
    int64_t d, h, w;
  };
  __device__ Voxel voxel_of(const RowPlace& place) const {
    using Arguments = GemmArguments<Input, Weight, Output>;
    // In parts, a transposed convolution has no scalar registers to spare for these while it reduces. The arguments of
    // its kernels begin with these.
    constexpr bool is_late = plan.transposed && plan.is_split;
    const GemmView view =
        is_late ? late_argument(arguments.output_view, offsetof(Arguments, output_view)) : arguments.output_view;
    Output* const output = is_late ? late_argument(arguments.output, offsetof(Arguments, output)) : arguments.output;
    Voxel voxel = {nullptr, place.d, place.h, place.w};
    if constexpr (plan.transposed) {
      voxel.d = voxel.d * shape.stride.d + residue.d;
      voxel.h = voxel.h * shape.stride.h + residue.h;
      voxel.w = voxel.w * shape.stride.w + residue.w;
    }
    voxel.channels =
        output + image * view.batch + group * view.group +
        offset_of(static_cast<int32_t>(voxel.d), static_cast<int32_t>(voxel.h), static_cast<int32_t>(voxel.w), view);
    if constexpr (stores_planes) voxel.channels += Product::lane_columns(view.block);
    return voxel;
  }

  static constexpr bool stores_planes = plan.output_lanes == 1;
  __device__ Output* channel_at(const Voxel& voxel, int channel) const {
    constexpr auto lanes = static_cast<int>(plan.output_lanes);
    return voxel.channels + (channel / lanes * arguments.output_view.block + channel % lanes);
  }

  // Four columns of a row, from `wave_column + lane_column` of the group; wave_column is a multiple of the
  // lanes' columns and uniform in the wavefront. The padding of the last channel block is written too, with zeros.
  // Contiguous in memory are, in NCHW, the 32 rows of half a wavefront; in NCHWc, the four columns of a lane.
  template <class Epilogue>
  __device__ void store_four(const Epilogue& epilogue, const Voxel& voxel, int wave_column, Four sums) const {
    constexpr auto real_columns = static_cast<int>(shape.group_output_channels());
    const int columns = plan.output_lanes == 1                             ? real_columns
                        : plan.stores_fours() || group + 1 == shape.groups ? static_cast<int>(plan.group_columns())
                                                                           : real_columns;
    const int lane_column = Product::lane_column(), column = wave_column + lane_column;
    if (column >= columns) return;
    const int group_channel = plan.matrix_product ? 0 : group * real_columns;
    using Bits = FourBits<sizeof(Output)>;
    typename Bits::Type bits;
    // Columns of padding compute what the last one does: after a branch each load would wait for the one before.
    constexpr bool has_padding =
        real_columns % 4 != 0 || (plan.output_lanes != 1 && plan.group_columns() != real_columns);
#pragma clang loop unroll(full)
    for (int e = 0; e < 4; ++e) {
      const bool is_real = !has_padding || column + e < real_columns;
      const int channel = group_channel + (is_real ? column + e : real_columns - 1);
      const auto value = epilogue(sums[e], image, group, channel, voxel.d, voxel.h, voxel.w);
      bits[e] = __builtin_bit_cast(typename Bits::Element, static_cast<Output>(is_real ? value : decltype(value){}));
    }
    if constexpr (plan.stores_fours()) {
      // The lanes' columns are of one block.
      using Stored = StoredFour<Output, plan.matrix_product ? sizeof(Output) : 4 * sizeof(Output)>;
      reinterpret_cast<Stored*>(channel_at(voxel, group_channel + wave_column) + lane_column)->bits = bits;
    } else {
      // In NCHW the product with the channel stride is uniform in the wavefront.
      const int first = group_channel + (stores_planes ? wave_column : column);
#pragma clang loop unroll(full)
      for (int e = 0; e < 4; ++e)
        if (column + e < columns)
          *channel_at(voxel, first + e) = __builtin_bit_cast(Output, static_cast<typename Bits::Element>(bits[e]));
    }
  }

  // The column of the group at which a four begins in the wavefront's first lane.
  __device__ int wave_column(int c) const { return first_column + Product::column_at(c); }

  // The steps of this block, of so many of the reduction.
  struct Steps {
    int32_t first, count;
  };
  __device__ Steps steps_of_part(int32_t count) const {
    if constexpr (!plan.is_split) return {0, count};
    const auto parts = static_cast<int32_t>(arguments.launch.parts);
    const int32_t share = count / parts, more = count % parts;
    return {part * share + (part < more ? part : more), share + (part < more)};
  }

  // Stores the sums of this thread. `further`: elements from the output.
  template <class Epilogue>
  __device__ void store_sums(const Product& product, const Epilogue& epilogue, int64_t further) const {
#pragma clang loop unroll(full)
    for (int r = 0; r < Product::rows_a_thread; ++r) {
      const RowPlace place = place_of(Product::row_at(r));
      if (!place.is_inside) continue;
      auto voxel = voxel_of(place);
      voxel.channels += further;
#pragma clang loop unroll(full)
      for (int c = 0; c < Product::fours_a_row; ++c) store_four(epilogue, voxel, wave_column(c), product.four(r, c));
    }
  }
  __device__ void store_part(const Product& product, int64_t block) const {
#pragma clang loop unroll(full)
    for (int r = 0; r < Product::rows_a_thread; ++r)
#pragma clang loop unroll(full)
      for (int c = 0; c < Product::fours_a_row; ++c) partial(block, r * Product::fours_a_row + c) = product.four(r, c);
  }

  // Four sums of this thread in the workspace.
  __device__ Four& partial(int64_t tile_of_part, int four) const {
    auto* const workspace = reinterpret_cast<Four*>(arguments.workspace);
    return workspace[(tile_of_part * plan.fours_a_thread() + four) * nest_threads + thread_index()];
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
