// Matrix products, softmax and attention.
#include <cstring>

#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/matmul/matmul.h"
#include "kernels/cpu/matmul/matmul_packing.h"
#include "kernels/cpu/matmul_int8/matmul_int8.h"
#include "kernels/cpu/matmul_tiles/matmul_tiles.h"
#include "kernels/cpu/memory_bound/softmax.h"
#include "measurement.h"

namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA {
namespace {

using namespace kernels;

struct Product {
  int64_t batch, rows, depth, columns;
};

// A constant b is packed; otherwise it stands as rows, or is read transposed, as attention reads its keys.
enum class RightOperand { packed, rows, transposed };

template <Product product, RightOperand right>
void matmul(benchmark::State& state) {
  constexpr bool is_packed = right == RightOperand::packed;
  using Kernel = MatrixProduct<float, float, float, NoMatrixEpilogue, is_packed>;
  const MatmulSizes sizes{{1, 1, 1, product.batch}, product.rows, product.columns, product.depth};
  const int64_t a_size = product.rows * product.depth, b_size = product.depth * product.columns,
                output_size = product.rows * product.columns;
  const Floats a = Floats::random(product.batch * a_size);
  const Floats b =
      Floats::random(is_packed ? MatmulPacking{product.depth, product.columns, lanes}.size() : product.batch * b_size);
  Floats output = Floats::not_a_number(product.batch * output_size);
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f);
  constexpr bool is_transposed = right == RightOperand::transposed;
  const MatmulArguments<float, float, float> arguments{
      a.data(),
      b.data(),
      output.data(),
      sizes,
      {{0, 0, 0, a_size}, product.depth, 1},
      {{0, 0, 0, is_packed ? 0 : b_size}, is_transposed ? 1 : product.columns, is_transposed ? product.depth : 1},
      {{0, 0, 0, output_size}, product.columns, 1}};
  const double operations = 2.0 * static_cast<double>(product.batch * product.rows) * static_cast<double>(b_size);
  // One row: each element of b serves a single multiply-add, so that memory is the measure.
  const Amount amount =
      product.rows == 1 ? Amount{.bytes = 4.0 * static_cast<double>(b_size)} : Amount{.operations = operations};
  measure(state, output, amount, [&] { Kernel::run(arguments, {}, 0, work.tasks, scratch.data()); });
}

// As the compiler makes it of a product between DequantizeLinear and QuantizeLinear.
struct ScaleAndRound {
  [[gnu::always_inline]] vec_int32 operator()(vec_int32 sum, const MatrixPosition&) const {
    return saturated<uint8_t>(to_float(sum) * splat(0.001f));
  }
};

template <Product product>
void matmul_int8(benchmark::State& state) {
  using Kernel = ByteMatrixProduct<uint8_t, uint8_t, ScaleAndRound>;
  const auto [batch, rows, depth, columns] = product;
  const MatmulSizes sizes{{1, 1, 1, batch}, rows, columns, depth};
  const std::vector<int8_t> ones(static_cast<size_t>(depth * columns), 1);
  const std::vector<uint8_t> packed =
      pack_int8_weights(byte_matrix_packing(depth, columns, lanes).shape, lanes, 1, ones);
  const KernelWork work = Kernel::work(sizes);
  Floats a(batch * rows * depth / 4 + 1, 1.0f), b(std::ssize(packed) / 4 + 1, 0.0f),
      output(batch * rows * columns / 4 + 1, 0.0f), scratch(work.scratch_bytes / 4 + 1, 0.0f);
  std::memcpy(b.data(), packed.data(), packed.size());
  const typename Kernel::Arguments arguments{reinterpret_cast<const uint8_t*>(a.data()),
                                             reinterpret_cast<const uint8_t*>(b.data()),
                                             reinterpret_cast<uint8_t*>(output.data()),
                                             sizes,
                                             {{0, 0, 0, rows * depth}, depth, 1},
                                             {{0, 0, 0, rows * columns}, columns, 1},
                                             128};
  measure(state, output, {.operations = 2.0 * static_cast<double>(batch * rows * depth) * static_cast<double>(columns)},
          [&] { Kernel::run(arguments, {}, 0, work.tasks, scratch.data()); });
}

template <Product product>
void matmul_tiles(benchmark::State& state) {
  using Kernel = TilesMatrixProduct<float, float, NoMatrixEpilogue, TilesOfBfloat16>;
  const auto [batch, rows, depth, columns] = product;
  const MatmulSizes sizes{{1, 1, 1, batch}, rows, columns, depth};
  const TilesPacking packing = tiles_matrix_packing(depth, columns, TilesKind::bfloat16);
  const Floats a = Floats::random(batch * rows * depth), weights = Floats::random(depth * columns);
  const std::vector<uint16_t> packed =
      pack_tiles_weights(packing.shape, std::span(weights.data(), static_cast<size_t>(weights.size())));
  Floats b(packing.size() / 4, 0.0f), output = Floats::not_a_number(batch * rows * columns);
  std::memcpy(b.data(), packed.data(), packed.size() * sizeof(uint16_t));
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / 4 + 1, 0.0f);
  const typename Kernel::Arguments arguments{
      a.data(), reinterpret_cast<const bfloat16_t*>(b.data()), output.data(),
      sizes,    {{0, 0, 0, rows * depth}, depth, 1},           {{0, 0, 0, rows * columns}, columns, 1},
      0};
  measure(state, output, {.operations = 2.0 * static_cast<double>(batch * rows * depth) * static_cast<double>(columns)},
          [&] { Kernel::run(arguments, {}, 0, work.tasks, scratch.data()); });
}

template <int64_t rows, int64_t columns>
void softmax(benchmark::State& state) {
  using Kernel = RowSoftmax<float, float, false>;
  const SoftmaxSizes sizes{{1, 1, 1, 1, rows}, columns};
  const Floats input = Floats::random(rows * columns);
  Floats output = Floats::not_a_number(rows * columns);
  const int64_t tasks = Kernel::work(sizes).tasks;
  measure(state, output, {.bytes = 8.0 * static_cast<double>(rows * columns)}, [&] {
    Kernel::run({input.data(), output.data(), sizes, {0, 0, 0, 0, columns}, {0, 0, 0, 0, columns}}, 0, tasks, nullptr);
  });
}

// Scores are scaled and a bias is added, as everywhere.
struct ScaleAndBias {
  const float* bias;
  int64_t keys;
  [[gnu::always_inline]] vec operator()(vec score, const MatrixPosition& p) const {
    return fma(score, splat(0.25f), load_partial(bias + p.row * keys + p.column, p.count));
  }
};

// `features` of each query, key and value of a head.
template <int64_t heads, int64_t tokens, int64_t features>
void attention(benchmark::State& state) {
  constexpr int64_t narrow = 2 * features <= lanes ? features : 0;
  using Kernel = Attention<narrow, float, float, TwoEpilogues<ScaleAndBias, NoMatrixEpilogue>>;
  const AttentionSizes sizes{{1, 1, 1, heads}, tokens, tokens, features, features};
  const int64_t size = tokens * features;
  const Floats queries = Floats::random(heads * size), keys = Floats::random(heads * size),
               values = Floats::random(heads * size), bias = Floats::random(tokens * tokens);
  Floats output = Floats::not_a_number(heads * size);
  const KernelWork work = Kernel::work(sizes);
  Floats scratch(work.scratch_bytes / static_cast<int64_t>(sizeof(float)) + 1, 0.0f);
  const MatrixView rows{{0, 0, 0, size}, features, 1}, transposed{{0, 0, 0, size}, 1, features};
  const AttentionArguments<float, float> arguments{queries.data(), keys.data(), values.data(), output.data(), sizes,
                                                   rows,           transposed,  rows,          rows};
  const double scores = static_cast<double>(heads * tokens * tokens);
  measure(state, output, {.operations = scores * static_cast<double>(4 * features + 5)},
          [&] { Kernel::run(arguments, {{bias.data(), tokens}, {}}, 0, work.tasks, scratch.data()); });
}

void add_products() {
  using enum RightOperand;
  add("matmul/C3D fc7 1x4096->4096", matmul<{1, 1, 4096, 4096}, packed>);
  add("matmul/UNETR 216x768->3072", matmul<{1, 216, 768, 3072}, packed>);
  add("matmul/SwinUNETR 343x48->144, 8 windows", matmul<{1, 8 * 343, 48, 144}, packed>);
  add("matmul/SwinUNETR scores 343x16x343, 24 heads", matmul<{24, 343, 16, 343}, transposed>);
  add("matmul/SwinUNETR values 343x343x16, 24 heads", matmul<{24, 343, 343, 16}, rows>);
  add("matmul_int8/UNETR 216x768->3072", matmul_int8<{1, 216, 768, 3072}>);
  add("matmul_int8/ViT 24x768->192", matmul_int8<{1, 24, 768, 192}>);
  if (ONNXC_HAS_TILES)
    add("matmul_tiles/UNETR 216x768->3072", matmul_tiles<{1, 216, 768, 3072}>);
  else
    add("matmul_tiles emulated/ViT 24x768->192", matmul_tiles<{1, 24, 768, 192}>);
  add("softmax/SwinUNETR 343, 24 heads", softmax<24 * 343, 343>);
  add("softmax/UNETR 216, 12 heads", softmax<12 * 216, 216>);
  add("attention/SwinUNETR 343x4, 24 heads", attention<24, 343, 4>);
  add("attention/SwinUNETR 343x16, 24 heads", attention<24, 343, 16>);
  add("attention/UNETR 216x64, 12 heads", attention<12, 216, 64>);
}

[[maybe_unused]] const bool rows_added = (add_products(), true);

}  // namespace
}  // namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA
