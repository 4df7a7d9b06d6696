// Attention's products and softmax on AMD's matrix unit, MFMA.
//
// Method: a wavefront has 32 queries. Keys are the matrix unit's first operand and queries the second, so a lane holds
// the scores of one query and half of the keys; the lane 32 further has the other half. A softmax folds values of one
// lane, but for one exchange. The exponentials are the second operand of the product with the values without being
// moved.
//
// If the inner epilogue reads tensors, lanes that are queries would each read a cache line of their own. There the
// operands are exchanged, so that a lane holds the scores of one key, and the wavefront moves the results to the lanes
// of their queries through LDS.
//
// Bound by: in float32 the matrix unit and the vector unit, which exclude each other; in 16 bits the vector unit, with
// one exponential for each score.
#pragma once

#include "kernels/hip/attention/attention_operands.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <FlashAttentionPlan plan, class T, class Output>
class MfmaAttention : public AttentionOperands<MfmaAttention<plan, T, Output>, plan, T, Output> {
  using Operands = AttentionOperands<MfmaAttention, plan, T, Output>;
  using Operands::tile, Operands::depth, Operands::columns, Operands::pairs, Operands::column_tiles,
      Operands::chunk_elements, Operands::value_row_bytes, Operands::arguments_, Operands::shared_, Operands::image_,
      Operands::group_, Operands::first_query_, Operands::last_query_, Operands::zero, Operands::power_of_e;
  using typename Operands::ChunkValues;

 public:
  static constexpr auto score_row = static_cast<int>(FlashAttentionPlan::score_row_floats);
  using Tile = MfmaTileProduct<plan.products, GemmTile{128, 32}>;
  using typename Operands::Shared;

  __device__ MfmaAttention(const FlashAttentionArguments<T, Output>& arguments, Shared& shared)
      : Operands(arguments, shared), lane_(thread_index() % tile), half_(thread_index() % wave_lanes / tile) {}

  __device__ static int first_query() { return quarter_index() * tile; }
  __device__ static Chunk as_factors(Chunk chunk) { return chunk; }
  // A chunk of the values has the keys that a chunk of exponentials has.
  __device__ static constexpr int key_of(int chunk, int e) { return row_of(chunk / 2 * chunk_elements + e, chunk % 2); }

  // This lane's chunks of its query, as MfmaTileProduct reads a row: one half of the wavefront has the even ones.
  __device__ void load_queries() {
    const FlashAttentionView& view = arguments_.query_view;
    const int64_t query = smaller(first_query_ + lane_, last_query_);
    const T* const row = arguments_.queries + image_ * view.batch + group_ * view.group + query * view.row;
#pragma clang loop unroll(full)
    for (int i = 0; i < pairs; ++i) {
      ChunkValues values;
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e) {
        const int at = (i * 2 + half_) * chunk_elements + e;
        values.elements[e] = at < depth ? row[at * view.element] : zero();
      }
      queries_[i] = __builtin_bit_cast(Chunk, values);
    }
  }

  __device__ void clear_sums() {
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i) sums_[i] = Float16(0.0f);
  }

  template <class Inner>
  __device__ void add(int32_t first, const Inner& inner) {
    Float16 scores = scores_of(first, inner);
    const auto rest = static_cast<int32_t>(arguments_.sizes.keys) - first;
    if (rest < tile) {
#pragma clang loop unroll(full)
      for (int r = 0; r < 16; ++r) scores[r] = row_of(r) < rest ? scores[r] : -__builtin_inff();
    }
    float largest = scores[0];
#pragma clang loop unroll(full)
    for (int r = 1; r < 16; ++r) largest = __builtin_fmaxf(largest, scores[r]);
    largest = __builtin_fmaxf(largest_, __builtin_fmaxf(largest, exchange<32, false>(largest)));
    const float reference = largest == -__builtin_inff() ? 0.0f : largest;
    float total = 0.0f;
#pragma clang loop unroll(full)
    for (int r = 0; r < 16; ++r) {
      scores[r] = power_of_e(scores[r] - reference);
      total += scores[r];
    }
    total += exchange<32, false>(total);
    const float factor = largest == largest_ ? 1.0f : power_of_e(largest_ - reference);
    total_ = total_ * factor + total;
    largest_ = largest;
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i) sums_[i] *= factor;
    add_values(scores);
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
      for (int r = 0; r < 16; ++r) {
        const int column = i * tile + row_of(r);
        if (column < columns)
          row[column * view.element] =
              static_cast<Output>(epilogue(sums_[i][r] * factor, image_, group_, column, 0, 0, query));
      }
  }

 private:
  // The row of a product's tile that a register of this lane holds.
  __device__ static constexpr int row_of(int r, int half) { return r / 4 * 8 + half * 4 + r % 4; }
  __device__ int row_of(int r) const { return row_of(r, half_); }

  // A register has a key of this lane's query.
  template <class Inner>
  __device__ Float16 scores_of(int32_t first, const Inner& inner) {
    Float16 scores = Float16(0.0f);
#pragma clang loop unroll(full)
    for (int i = 0; i < pairs; ++i) {
      const Chunk key = *reinterpret_cast<const Chunk*>(shared_.keys + i / 2 * tile * lds_row_bytes +
                                                        lds_place(lane_, i % 2 * 2 + half_));
#pragma clang loop unroll(full)
      for (int part = 0; part < Tile::parts; ++part)
        scores = plan.scores_change_lanes(own_gpu) ? Tile::add_part(queries_[i], key, part, scores)
                                                   : Tile::add_part(key, queries_[i], part, scores);
    }
    // Past the last key and the last query the epilogue reads as for the last one: that memory exists.
    const auto last_key = static_cast<int32_t>(arguments_.sizes.keys) - 1;
    if constexpr (!plan.scores_change_lanes(own_gpu)) {
#pragma clang loop unroll(full)
      for (int r = 0; r < 16; ++r)
        scores[r] = inner(scores[r], image_, group_, smaller(first + row_of(r), last_key), 0, 0,
                          smaller(first_query_ + lane_, last_query_));
      return scores;
    } else {
      Float16 by_key;
      // The offsets of 16 queries would take up to 64 registers, kept from step to step.
      int32_t first_query = first_query_ + half_ * 4;
      if constexpr (pairs + 4 * column_tiles > 8) forget_origin(first_query);
      float* const own = shared_.scores[quarter_index()];
      const auto key = smaller(first + lane_, last_key);
#pragma clang loop unroll(full)
      for (int r = 0; r < 16; ++r) {
        const int32_t query = first_query + row_of(r, 0);
        by_key[r] = inner(scores[r], image_, group_, key, 0, 0, smaller(query, last_query_));
      }
      // 16 queries at a time.
#pragma clang loop unroll(full)
      for (int part = 0; part < 2; ++part) {
#pragma clang loop unroll(full)
        for (int r = 0; r < 8; ++r) own[row_of(r) * score_row + lane_] = by_key[part * 8 + r];
        wave_barrier();
        if (lane_ / 16 == part) {
#pragma clang loop unroll(full)
          for (int r = 0; r < 16; r += 4) {
            const Float4 four = *reinterpret_cast<const Float4*>(own + lane_ % 16 * score_row + row_of(r));
#pragma clang loop unroll(full)
            for (int i = 0; i < 4; ++i) scores[r + i] = four[i];
          }
        }
        wave_barrier();
      }
      return scores;
    }
  }

  // A chunk of exponentials has those of 4 registers, in 16 bits of 8: keys of the lane's own half.
  __device__ void add_values(const Float16& powers) {
#pragma clang loop unroll(full)
    for (int quad = 0; quad < 16; quad += chunk_elements) {
      ChunkValues rounded;
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e) rounded.elements[e] = static_cast<T>(powers[quad + e]);
      const Chunk second = __builtin_bit_cast(Chunk, rounded);
#pragma clang loop unroll(full)
      for (int i = 0; i < column_tiles; ++i) {
        const Chunk value = *reinterpret_cast<const Chunk*>(shared_.values + (i * tile + lane_) * value_row_bytes +
                                                            (quad / chunk_elements * 2 + half_) * chunk_bytes);
#pragma clang loop unroll(full)
        for (int part = 0; part < Tile::parts; ++part) sums_[i] = Tile::add_part(value, second, part, sums_[i]);
      }
    }
  }

  int lane_, half_;
  Chunk queries_[pairs];
  Float16 sums_[column_tiles];
  float largest_ = -__builtin_inff(), total_ = 0.0f;
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
