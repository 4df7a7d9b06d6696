// A convolution and the normalisation of its result by channel or group of channels, if a block does not hold a
// channel's voxels. It takes two launches in place of three (three if the parts are folded), and one read of the result
// less.
//
// Method: a block of the first kernel has a tile of voxels in registers when its reduction is done. It stores them in
// the place of the normalised ones, and for each channel the mean and the sum of the squares of the differences from
// it: a part of the statistics, as normalized_chunks.h has them. The kernels after it are those there, in place. A tile
// is a part, so that large images have thousands of them, which are folded first.
//
// Limits: a convolution in one part and one group of channels, channels in blocks; lines of whole chunks, so that no
// thread of the second kernel reads what another one stores.
#pragma once

#include "kernels/hip/fused/product_moments_geometry.h"
#include "kernels/hip/gemm/implicit_gemm.h"
#include "kernels/hip/memory_bound/normalized_chunks.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <GemmPlan plan, class Input, class Weight, class Output>
struct ProductMoments : GemmOf<plan, Input, Weight, Output> {
  using Gemm = GemmOf<plan, Input, Weight, Output>;
  using Gemm::arguments, Gemm::first_column, Gemm::first_row, Gemm::image, Gemm::place_of, Gemm::product, Gemm::shared;
  using Gemm::Gemm;
  using typename Gemm::Product;
  static_assert(plan.shape.groups == 1 && !plan.transposed && plan.output_lanes == block_channels);

  static constexpr int columns = plan.tile.columns, own_columns = 4 * Product::fours_a_row;
  static constexpr int partial_sums = Product::partial_sums;
  // In the LDS of the operands.
  struct Exchanged {
    alignas(16) float differences[partial_sums][columns], squares[partial_sums][columns], means[columns];
  };
  static_assert(sizeof(Exchanged) <= sizeof(typename Gemm::Shared));
  __device__ Exchanged& exchanged() const { return reinterpret_cast<Exchanged&>(shared); }

  // Rows of the tile that are inside.
  __device__ int32_t rows() const {
    const auto left = static_cast<int32_t>(arguments.launch.rows - first_row);
    return left < static_cast<int32_t>(plan.tile.rows) ? left : static_cast<int32_t>(plan.tile.rows);
  }
  __device__ bool is_row(int r) const { return Product::row_at(r) < rows(); }

  // The product's epilogue, in the registers.
  template <class Epilogue>
  __device__ void apply(const Epilogue& epilogue) {
#pragma clang loop unroll(full)
    for (int r = 0; r < Product::rows_a_thread; ++r) {
      const RowPlace place = place_of(Product::row_at(r));
      if (!place.is_inside) continue;
      const auto voxel = this->voxel_of(place);
#pragma clang loop unroll(full)
      for (int k = 0; k < own_columns; ++k) {
        // Columns of padding compute what the last one does: without a branch no load waits for another.
        constexpr auto last = static_cast<int>(plan.shape.output_channels) - 1;
        const int column = first_column + column_of(k), channel = column < last ? column : last;
        const float value = epilogue(product.four(r, k / 4)[k % 4], image, 0, channel, voxel.d, voxel.h, voxel.w);
        product.set(r, k / 4, k % 4, column <= last ? value : 0.0f);
      }
    }
  }

  // The column of the tile of each of a lane's.
  __device__ static int column_of(int own) { return Product::column_at(own / 4) + Product::lane_column() + own % 4; }
  // The sums of each column over the rows of some lanes; term(value, which of the lane's columns).
  template <class Term>
  __device__ void sum_columns(float (&sums)[partial_sums][columns], const Term& term) const {
    float own[own_columns];
#pragma clang loop unroll(full)
    for (int k = 0; k < own_columns; ++k) {
      own[k] = 0.0f;
#pragma clang loop unroll(full)
      for (int r = 0; r < Product::rows_a_thread; ++r)
        own[k] += is_row(r) ? term(product.four(r, k / 4)[k % 4], k) : 0.0f;
    }
    Product::sum_rows(own, [&](int k, float sum) { sums[Product::partial_sum()][column_of(k)] = sum; });
  }
  __device__ static float sum_of(const float (&sums)[partial_sums][columns], int column) {
    float sum = sums[0][column];
#pragma clang loop unroll(full)
    for (int i = 1; i < partial_sums; ++i) sum += sums[i][column];
    return sum;
  }

  __device__ void store_moments(float* partial, int32_t parts) const {
    Exchanged& lds = exchanged();
    const int own = thread_index();
    const auto count = static_cast<float>(rows());
    barrier();  // the product is done with LDS
    sum_columns(lds.differences, [](float value, int) { return value; });
    barrier();
    if (own < columns) lds.means[own] = sum_of(lds.differences, own) / count;
    barrier();
    // Means are read when they are needed: registers for all of them would be too many beside the sums.
    auto difference = [&](float value, int k) { return value - lds.means[column_of(k)]; };
    sum_columns(lds.differences, difference);
    barrier();
    sum_columns(lds.squares, [&](float value, int k) { return difference(value, k) * difference(value, k); });
    barrier();
    const int channel = first_column + own;
    if ((own >= columns) | (channel >= plan.group_columns())) return;
    constexpr auto lanes = static_cast<int>(block_channels),
                   blocks = static_cast<int>(plan.group_columns() / block_channels);
    const auto part = static_cast<int32_t>(first_row / static_cast<uint32_t>(plan.tile.rows));
    float* const own_partial =
        partial + ((image * blocks + channel / lanes) * parts + part) * partial_values * lanes + channel % lanes;
    const float differences = sum_of(lds.differences, own);
    own_partial[0] = lds.means[own];
    own_partial[lanes] = differences / count;
    own_partial[2 * lanes] = less_squares(sum_of(lds.squares, own), differences * differences / count);
  }
};

template <GemmPlan plan, class Input, class Weight, class Output, class Inner, class Epilogue>
__device__ inline void product_moments(const ProductMomentsArguments<Input, Weight, Output>& arguments,
                                       const Inner& inner, const Epilogue& /*epilogue*/) {
  using Gemm = ProductMoments<plan, Input, Weight, Output>;
  __shared__ typename Gemm::DeclaredShared shared;
  Gemm gemm(arguments.product,
            block_of_xcd(static_cast<uint32_t>(block_index()), arguments.product.launch.tiles, own_gpu.xcds),
            Gemm::shared_in(shared));
  gemm.reduce();
  gemm.apply(inner);
  gemm.store_sums(gemm.product, [](float sum, auto...) { return sum; }, 0);
  gemm.store_moments(arguments.lines.partial, static_cast<int32_t>(arguments.lines.lines.launch.parts.divisor));
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
