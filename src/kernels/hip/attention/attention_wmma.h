// Attention's products and softmax on the matrix unit of AMD's RDNA, WMMA.
//
// Method: a wavefront has 16 queries. Keys are the matrix unit's first operand and queries the second, so a lane holds
// the scores of one query and half of the keys; the lane 16 further has the other half. A softmax folds values of one
// lane, but for one exchange. The exponentials are the second operand of the product with the values: on RDNA4 as they
// are, on RDNA3 with those of the lane 16 further.
//
// Bound by: the vector unit, with some ten instructions for each score and those that bring the operands, element by
// element, and LDS, whose keys and values each wavefront reads for its 16 queries.
#pragma once

#include "kernels/hip/attention/attention_operands.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <FlashAttentionPlan plan, class T, class Output>
class WmmaAttention : public AttentionOperands<WmmaAttention<plan, T, Output>, plan, T, Output> {
  using Operands = AttentionOperands<WmmaAttention, plan, T, Output>;
  using Operands::tile, Operands::depth, Operands::columns, Operands::pairs, Operands::chunk_elements,
      Operands::value_row_bytes, Operands::arguments_, Operands::shared_, Operands::image_, Operands::group_,
      Operands::first_query_, Operands::last_query_, Operands::zero, Operands::power_of_e;
  using typename Operands::ChunkValues;

 public:
  using Unit = WmmaUnit<plan.products>;
  using Operand = typename Unit::Operand;
  using Scores = typename Unit::Sums;
  using typename Operands::Shared;
  static constexpr int side = Unit::Accumulator::side, results = Unit::Accumulator::sums;
  static constexpr int key_tiles = tile / side, column_tiles = (columns + side - 1) / side;
  // Chunks of a pair that a lane has.
  static constexpr int chunks = sizeof(Operand) / chunk_bytes;
  using Chunks = OperandParts<Chunk, chunks>;

  __device__ WmmaAttention(const FlashAttentionArguments<T, Output>& arguments, Shared& shared)
      : Operands(arguments, shared), lane_(thread_index() % side), half_(thread_index() % wave_lanes / side) {}

  __device__ static int first_query() { return thread_index() / wave_lanes * side; }
  __device__ static Chunk as_factors(Chunk chunk) { return chunk; }
  // A chunk of the values has the keys that half of a wavefront has scores of.
  __device__ static constexpr int key_of(int chunk, int e) { return chunk / 2 * side + result_row(e, chunk % 2); }

  __device__ void load_queries() {
    const FlashAttentionView& view = arguments_.query_view;
    const int64_t query = smaller(first_query_ + lane_, last_query_);
    const T* const row = arguments_.queries + image_ * view.batch + group_ * view.group + query * view.row;
#pragma clang loop unroll(full)
    for (int i = 0; i < pairs; ++i) {
      Chunks words;
#pragma clang loop unroll(full)
      for (int c = 0; c < chunks; ++c) {
        ChunkValues values;
#pragma clang loop unroll(full)
        for (int e = 0; e < chunk_elements; ++e) {
          const int at = (i * 2 + chunk_at(c)) * chunk_elements + e;
          values.elements[e] = at < depth ? row[at * view.element] : zero();
        }
        words.words[c] = __builtin_bit_cast(Chunk, values);
      }
      queries_[i] = __builtin_bit_cast(Operand, words);
    }
  }

  __device__ void clear_sums() {
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i) sums_[i] = Scores{};
  }

  template <class Inner>
  __device__ void add(int32_t first, const Inner& inner) {
    Scores scores[key_tiles];
    const auto rest = static_cast<int32_t>(arguments_.sizes.keys) - first;
    float largest = -__builtin_inff();
#pragma clang loop unroll(full)
    for (int t = 0; t < key_tiles; ++t) {
      scores[t] = scores_of(t, first, inner);
#pragma clang loop unroll(full)
      for (int r = 0; r < results; ++r) {
        scores[t][r] = key_at(t, r) < rest ? scores[t][r] : -__builtin_inff();
        largest = __builtin_fmaxf(largest, scores[t][r]);
      }
    }
    largest = __builtin_fmaxf(largest_, __builtin_fmaxf(largest, exchange<side, false>(largest)));
    const float reference = largest == -__builtin_inff() ? 0.0f : largest;
    float total = 0.0f;
#pragma clang loop unroll(full)
    for (int t = 0; t < key_tiles; ++t)
#pragma clang loop unroll(full)
      for (int r = 0; r < results; ++r) {
        scores[t][r] = power_of_e(scores[t][r] - reference);
        total += scores[t][r];
      }
    total += exchange<side, false>(total);
    const float factor = largest == largest_ ? 1.0f : power_of_e(largest_ - reference);
    total_ = total_ * factor + total;
    largest_ = largest;
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i) sums_[i] *= factor;
#pragma clang loop unroll(full)
    for (int t = 0; t < key_tiles; ++t) add_values(t, scores[t]);
  }

  template <class Epilogue>
  __device__ void store(const Epilogue& epilogue) const {
    const int32_t query = first_query_ + lane_;
    if (query > last_query_) return;
    const float factor = 1.0f / total_;
    const FlashAttentionView& view = arguments_.output_view;
    Output* const row = arguments_.output + image_ * view.batch + group_ * view.group + query * view.row;
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i)
#pragma clang loop unroll(full)
      for (int r = 0; r < results; ++r) {
        const int column = i * side + result_row(r, half_);
        if (column < columns)
          row[column * view.element] =
              static_cast<Output>(epilogue(sums_[i][r] * factor, image_, group_, column, 0, 0, query));
      }
  }

 private:
  // The row of the first operand whose result a register has.
  __device__ static constexpr int result_row(int r, int half) {
    return Unit::is_whole ? 2 * r + half : results * half + r;
  }
  __device__ int key_at(int key_tile, int r) const { return key_tile * side + result_row(r, half_); }
  // The chunk of a pair that an operand of this lane has.
  __device__ int chunk_at(int c) const { return chunks == 1 ? half_ : c; }

  template <class Place>
  __device__ static Operand read(const Place& place_of) {
    Chunks words;
#pragma clang loop unroll(full)
    for (int c = 0; c < chunks; ++c) words.words[c] = *reinterpret_cast<const Chunk*>(place_of(c));
    return __builtin_bit_cast(Operand, words);
  }

  // A register has a key of this lane's query.
  template <class Inner>
  __device__ Scores scores_of(int key_tile, int32_t first, const Inner& inner) {
    Scores scores = Scores{};
#pragma clang loop unroll(full)
    for (int i = 0; i < pairs; ++i) {
      const Operand keys = read([&](int c) {
        return shared_.keys + i / 2 * tile * lds_row_bytes +
               lds_place(key_tile * side + lane_, i % 2 * 2 + chunk_at(c));
      });
      scores = Unit::add_part(keys, queries_[i], 0, scores);
    }
    // Past the last key and the last query the epilogue reads as for the last one: that memory exists.
    const auto last_key = static_cast<int32_t>(arguments_.sizes.keys) - 1;
#pragma clang loop unroll(full)
    for (int r = 0; r < results; ++r)
      scores[r] = inner(scores[r], image_, group_, smaller(first + key_at(key_tile, r), last_key), 0, 0,
                        smaller(first_query_ + lane_, last_query_));
    return scores;
  }

  // This lane's exponentials in 16 bits, and on RDNA3 those of the lane 16 further: the even keys are first.
  __device__ Operand factors_of(const Scores& powers) const {
    ChunkValues rounded;
#pragma clang loop unroll(full)
    for (int e = 0; e < chunk_elements; ++e) rounded.elements[e] = static_cast<T>(powers[e]);
    const Chunk own = __builtin_bit_cast(Chunk, rounded);
    Chunks words;
    words.words[0] = own;
    if constexpr (chunks == 2)
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i) {
        const auto other = static_cast<uint32_t>(exchange_bits<side, false>(static_cast<int>(own[i])));
        words.words[0][i] = half_ == 0 ? own[i] : other;
        words.words[1][i] = half_ == 0 ? other : own[i];
      }
    return __builtin_bit_cast(Operand, words);
  }
  __device__ void add_values(int key_tile, const Scores& powers) {
    const Operand factors = factors_of(powers);
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i) {
      const Operand values = read([&](int c) {
        return shared_.values + (i * side + lane_) * value_row_bytes +
               (key_tile * 2 + chunk_at(c)) * static_cast<int>(chunk_bytes);
      });
      sums_[i] = Unit::add_part(values, factors, 0, sums_[i]);
    }
  }

  int lane_, half_;
  Operand queries_[pairs];
  Scores sums_[column_tiles];
  float largest_ = -__builtin_inff(), total_ = 0.0f;
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
