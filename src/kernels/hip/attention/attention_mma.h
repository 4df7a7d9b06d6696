// Attention's products and softmax on the matrix unit of NVIDIA's GPUs, mma.sync.
//
// Method: a warp has 16 queries, the matrix unit's rows, and all keys of a step, its columns. A thread holds two
// adjacent keys of every eight, of two queries; four threads share a query, so that a softmax folds the values of a
// thread and of four. The sums of one product are laid out as the rows of the next: exponentials are never moved. In 16
// bits a product has the keys of two tiles of scores. In tf32 it has those of one, the even keys in its first chunk,
// and the values stand in LDS in that order.
//
// Four threads read 8 adjacent keys of a row of biases: what the inner epilogue reads needs no other order.
//
// Bound by: LDS, whose keys and values each warp reads for its 16 queries, and the vector unit, with some ten
// instructions for each score and those that bring the operands, element by element.
#pragma once

#include "kernels/hip/attention/attention_operands.h"
#include "kernels/hip/nvidia/matrix_words.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <FlashAttentionPlan plan, class T, class Output>
class MmaAttention : public AttentionOperands<MmaAttention<plan, T, Output>, plan, T, Output> {
  using Operands = AttentionOperands<MmaAttention, plan, T, Output>;
  using Operands::tile, Operands::depth, Operands::columns, Operands::pairs, Operands::chunk_elements,
      Operands::value_row_bytes, Operands::arguments_, Operands::image_, Operands::group_, Operands::first_query_,
      Operands::last_query_, Operands::zero, Operands::power_of_e;

 public:
  static_assert(machine::multiplies_by_mma(own_gpu));
  using Tile = MmaTileProduct<plan.products, GemmTile{64, 64}>;
  using typename Operands::Shared;
  // Tiles of scores have 8 keys, tiles of results 8 columns; they are read from LDS in pairs.
  static constexpr int key_tiles = tile / 8, column_pairs = (columns + 15) / 16;
  // A lane has words of each chunk.
  static constexpr int word_elements = chunk_elements / 4;
  static constexpr bool is_tf32 = plan.products == Products::xf32;

  __device__ MmaAttention(const FlashAttentionArguments<T, Output>& arguments, Shared& shared)
      : Operands(arguments, shared), keys_place_(lds_address(shared.keys)), values_place_(lds_address(shared.values)) {}

  __device__ static int lane() { return thread_index() % 32; }
  __device__ static int first_query() { return thread_index() / 32 * 16; }
  __device__ static Chunk as_factors(Chunk chunk) {
    if constexpr (is_tf32)
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i) chunk[i] = rounded_to_tf32(chunk[i]);
    return chunk;
  }
  __device__ static constexpr int key_of(int chunk, int e) {
    return is_tf32 ? chunk / 2 * 8 + 2 * e + chunk % 2 : chunk * 8 + e;
  }

  // The words of this thread's rows that a product of two chunks takes: of either row in the first, then in the second.
  __device__ void load_queries() {
    const FlashAttentionView& view = arguments_.query_view;
    const T* const first = arguments_.queries + image_ * view.batch + group_ * view.group;
    struct Words {
      T elements[4][word_elements];
    };
#pragma clang loop unroll(full)
    for (int i = 0; i < pairs; ++i) {
      Words words;
#pragma clang loop unroll(full)
      for (int w = 0; w < 4; ++w)
#pragma clang loop unroll(full)
        for (int e = 0; e < word_elements; ++e) {
          const int at = (i * 2 + w / 2) * chunk_elements + lane() % 4 * word_elements + e;
          const T* const row = first + int64_t{real_query_at(w % 2)} * view.row;
          words.elements[w][e] = at < depth ? row[at * view.element] : zero();
        }
      queries_[i] = as_factors(__builtin_bit_cast(Chunk, words));
    }
  }

  __device__ void clear_sums() {
#pragma clang loop unroll(full)
    for (int i = 0; i < 2 * column_pairs; ++i)
#pragma clang loop unroll(full)
      for (int e = 0; e < 4; ++e) sums_[i][e] = 0.0f;
  }

  template <class Inner>
  __device__ void add(int32_t first, const Inner& inner) {
    float scores[key_tiles][4];
    multiply_keys(scores);
    finish_scores(scores, first, inner);
#pragma clang loop unroll(full)
    for (int r = 0; r < 2; ++r) fold(scores, r);
    add_values(scores);
  }

  template <class Epilogue>
  __device__ void store(const Epilogue& epilogue) const {
    const FlashAttentionView& view = arguments_.output_view;
    Output* const first = arguments_.output + image_ * view.batch + group_ * view.group;
#pragma clang loop unroll(full)
    for (int r = 0; r < 2; ++r) {
      const int32_t query = query_at(r);
      if (query > last_query_) continue;
      const float factor = 1.0f / total_[r];
      Output* const row = first + query * view.row;
#pragma clang loop unroll(full)
      for (int i = 0; i < 2 * column_pairs; ++i)
#pragma clang loop unroll(full)
        for (int e = 0; e < 2; ++e) {
          const int column = column_of(i, e);
          if (column < columns)
            row[column * view.element] =
                static_cast<Output>(epilogue(sums_[i][2 * r + e] * factor, image_, group_, column, 0, 0, query));
        }
    }
  }

 private:
  __device__ int32_t query_at(int r) const { return first_query_ + lane() / 4 + r * 8; }
  __device__ int32_t real_query_at(int r) const {
    const int32_t query = query_at(r);
    return query < last_query_ ? query : last_query_;
  }
  // The column of a result's, or the key of a score's, tile of 8.
  __device__ static int column_of(int number, int e) { return number * 8 + lane() % 4 * 2 + e; }
  // This lane's address of a row of matrices: those of 16 rows of LDS, each in two chunks.
  __device__ static int matrix_row() { return lane() / 16 * 8 + lane() % 8; }
  __device__ static int matrix_chunk() { return lane() / 8 % 2; }

  __device__ void multiply_keys(float (&scores)[key_tiles][4]) const {
#pragma clang loop unroll(full)
    for (int j = 0; j < key_tiles; ++j)
#pragma clang loop unroll(full)
      for (int e = 0; e < 4; ++e) scores[j][e] = 0.0f;
    constexpr auto row_bytes = static_cast<int>(lds_row_bytes);
#pragma clang loop unroll(full)
    for (int i = 0; i < pairs; ++i) {
      const LdsAddress place =
          keys_place_ + i / 2 * tile * row_bytes + lds_place(matrix_row(), i % 2 * 2 + matrix_chunk());
#pragma clang loop unroll(full)
      for (int j = 0; j < key_tiles / 2; ++j) {
        const Chunk keys = load_matrices(place + j * 16 * row_bytes);
        Tile::add_products(scores[2 * j], queries_[i], keys.x, keys.y);
        Tile::add_products(scores[2 * j + 1], queries_[i], keys.z, keys.w);
      }
    }
  }

  // Past the last key and the last query the epilogue reads as for the last one: that memory exists.
  template <class Inner>
  __device__ void finish_scores(float (&scores)[key_tiles][4], int32_t first, const Inner& inner) const {
    const auto keys = static_cast<int32_t>(arguments_.sizes.keys);
    // The compiler would keep from step to step, in registers that are not there, offsets that the epilogue has.
    int32_t query[2] = {real_query_at(0), real_query_at(1)};
    forget_origin(query[0]);
    forget_origin(query[1]);
#pragma clang loop unroll(full)
    for (int j = 0; j < key_tiles; ++j)
#pragma clang loop unroll(full)
      for (int e = 0; e < 4; ++e) {
        const int32_t key = first + column_of(j, e % 2);
        const float score = inner(scores[j][e], image_, group_, smaller(key, keys - 1), 0, 0, query[e / 2]);
        scores[j][e] = key < keys ? score : -__builtin_inff();
      }
  }

  // One of this thread's rows: its scores become exponentials.
  __device__ void fold(float (&scores)[key_tiles][4], int r) {
    float largest = largest_[r];
#pragma clang loop unroll(full)
    for (int j = 0; j < key_tiles; ++j)
#pragma clang loop unroll(full)
      for (int e = 0; e < 2; ++e) largest = __builtin_fmaxf(largest, scores[j][2 * r + e]);
    largest = fold_lanes<1, 4>(largest, [](float a, float b) { return __builtin_fmaxf(a, b); });
    const float reference = largest == -__builtin_inff() ? 0.0f : largest;
    float total = 0.0f;
#pragma clang loop unroll(full)
    for (int j = 0; j < key_tiles; ++j)
#pragma clang loop unroll(full)
      for (int e = 0; e < 2; ++e) {
        float& score = scores[j][2 * r + e];
        score = power_of_e(score - reference);
        total += score;
      }
    total = fold_lanes<1, 4>(total, [](float a, float b) { return a + b; });
    const float factor = largest == largest_[r] ? 1.0f : power_of_e(largest_[r] - reference);
    total_[r] = total_[r] * factor + total;
    largest_[r] = largest;
#pragma clang loop unroll(full)
    for (int i = 0; i < 2 * column_pairs; ++i)
#pragma clang loop unroll(full)
      for (int e = 0; e < 2; ++e) sums_[i][2 * r + e] *= factor;
  }

  // Exponentials as the rows of the product of two chunks of keys.
  static constexpr int key_steps = tile / (2 * chunk_elements);
  __device__ static Chunk rows_of(const float (&powers)[key_tiles][4], int step) {
    if constexpr (is_tf32) {
      const float(&own)[4] = powers[step];
      return as_factors(__builtin_bit_cast(Chunk, Float4{own[0], own[2], own[1], own[3]}));
    } else {
      struct Words {
        T elements[4][2];
      } words;
#pragma clang loop unroll(full)
      for (int w = 0; w < 4; ++w)
#pragma clang loop unroll(full)
        for (int e = 0; e < 2; ++e) words.elements[w][e] = static_cast<T>(powers[2 * step + w / 2][w % 2 * 2 + e]);
      return __builtin_bit_cast(Chunk, words);
    }
  }
  __device__ void add_values(const float (&powers)[key_tiles][4]) {
    const LdsAddress place =
        values_place_ + matrix_row() * value_row_bytes + matrix_chunk() * static_cast<int>(chunk_bytes);
#pragma clang loop unroll(full)
    for (int step = 0; step < key_steps; ++step) {
      const Chunk rows = rows_of(powers, step);
#pragma clang loop unroll(full)
      for (int i = 0; i < column_pairs; ++i) {
        const Chunk values = load_matrices(place + i * 16 * value_row_bytes + step * 2 * static_cast<int>(chunk_bytes));
        Tile::add_products(sums_[2 * i], rows, values.x, values.y);
        Tile::add_products(sums_[2 * i + 1], rows, values.z, values.w);
      }
    }
  }

  LdsAddress keys_place_, values_place_;
  Chunk queries_[pairs];
  float sums_[2 * column_pairs][4];
  float largest_[2] = {-__builtin_inff(), -__builtin_inff()}, total_[2] = {0.0f, 0.0f};
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
