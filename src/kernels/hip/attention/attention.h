// Attention in one kernel: queries times keys, a softmax, and the product with the values; the scores stay on the chip.
//
// Problem: y[q] = sum over keys k of softmax_k(score(q, k)) * v[k], score(q, k) = inner epilogue(q . k): a scale,
// biases and masks. Three kernels would store and load the scores (queries times keys of them) twice.
//
// Method: a wavefront has 32 queries, a block of threads 128. The block loops over blocks of 32 keys; its threads load
// one into LDS while the one before is computed with. Keys are the matrix unit's first operand and queries the second,
// so a lane holds the scores of one query and half of the keys; the lane 32 further has the other half. A softmax folds
// values of one lane, but for one exchange. The exponentials are the second operand of the product with the values
// without being moved: any order of keys over the steps will do, as long as the values use the same. When the maximum
// grows, the sums and results so far are scaled (online softmax). A row with NaN or +inf, or of only -inf, is NaN.
//
// If the inner epilogue reads tensors, lanes that are queries would each read a cache line of their own. There the
// operands are exchanged, so that a lane holds the scores of one key, and the wavefront moves the results to the lanes
// of their queries through LDS.
//
// Limits: depth at most 64 (128 in 16 bits), 128 columns; a depth that is not a multiple of 8 (16 in 16 bits) is padded
// with zeros, columns to a multiple of 32. Bound by: in float32 the matrix unit and the vector unit, which exclude each
// other; in 16 bits the vector unit, with one exponential for each score.
#pragma once

#include "kernels/hip/attention/attention_geometry.h"
#include "kernels/hip/gemm/tile_product.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <FlashAttentionPlan plan, class T, class Output>
class Attention {
 public:
  static constexpr int tile = 32;
  static constexpr auto depth = static_cast<int>(plan.depth), columns = static_cast<int>(plan.columns),
                        pairs = static_cast<int>(plan.depth_pairs()),
                        column_tiles = static_cast<int>(plan.column_tiles()),
                        chunk_elements = static_cast<int>(plan.chunk_elements()),
                        value_row_bytes = static_cast<int>(plan.value_row_bytes()),
                        score_row = static_cast<int>(FlashAttentionPlan::score_row_floats);
  using Tile = MfmaTileProduct<plan.products, GemmTile{128, 32}>;
  static_assert(own_gpu.matrix_unit == machine::MatrixUnit::mfma);
  using ChunkValues = ChunkOf<T>;

  struct Shared {
    alignas(16) char keys[plan.key_bytes()];
    alignas(16) char values[plan.value_bytes()];
    alignas(16) float scores[4][plan.score_floats()];
  };

  // Chunks of keys and of values that the threads bring.
  static constexpr int key_chunks = pairs * 2 * tile, key_loads = (key_chunks + nest_threads - 1) / nest_threads;
  static constexpr int column_lanes = (columns + 7) / 8 * 8;  // stores of eight lanes keep to one chunk
  static constexpr int value_chunks = column_lanes * (tile / chunk_elements),
                       value_loads = (value_chunks + nest_threads - 1) / nest_threads;

  __device__ Attention(const FlashAttentionArguments<T, Output>& arguments, Shared& shared)
      : arguments_(arguments), shared_(shared) {
    const auto block = static_cast<uint32_t>(block_index());
    const uint32_t place = arguments.query_tiles.quotient(block);
    image_ = arguments.groups.quotient(place);
    group_ = arguments.groups.remainder(place);
    first_query_ = static_cast<int32_t>(arguments.query_tiles.remainder(block)) * 128 + quarter_index() * tile;
    lane_ = thread_index() % tile;
    half_ = thread_index() % wave_lanes / tile;
    last_query_ = static_cast<int32_t>(arguments.sizes.queries) - 1;
    keys_ = arguments.keys + image_ * arguments.key_view.batch + group_ * arguments.key_view.group;
    values_ = arguments.values + image_ * arguments.value_view.batch + group_ * arguments.value_view.group;
  }

  template <class Inner>
  __device__ void run(const Inner& inner) {
    load_queries();
    clear();
    const auto keys = static_cast<int32_t>(arguments_.sizes.keys);
    fetch(0);
#pragma clang loop unroll(disable)
    for (int32_t first = 0; first < keys; first += tile) {
      barrier();  // the products of the keys before are done with LDS
      store_to_lds(keys - first);
      barrier();
      fetch(first + tile < keys ? first + tile : first);
      scheduling_barrier();
      if (first_query_ <= last_query_) add(first, inner);
    }
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

  __device__ static T zero() { return static_cast<T>(0.0f); }
  // With an offset of 32 bits a uniform address needs no arithmetic of the vector unit.
  __device__ static T load(const T* first, uint32_t offset) { return first[offset]; }

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

  // Columns of padding are computed and not stored.
  __device__ void clear() {
#pragma clang loop unroll(full)
    for (int i = 0; i < column_tiles; ++i) sums_[i] = Float16(0.0f);
    constexpr int words = value_row_bytes / 4;
    for (int i = columns * words + thread_index(); i < column_tiles * tile * words; i += nest_threads)
      reinterpret_cast<uint32_t*>(shared_.values)[i] = 0;
  }

  // A key and a chunk of its elements; a column and a chunk of the keys. Neighbouring lanes load what lies next to each
  // other.
  struct Place {
    int row, chunk;
  };
  __device__ static Place key_place(int number) { return {number % tile, number / tile}; }
  __device__ static Place value_place(int number) { return {number % column_lanes, number / column_lanes}; }
  // A chunk of the values has the keys that a chunk of exponentials has.
  __device__ static constexpr int key_of(int chunk, int e) { return row_of(chunk / 2 * chunk_elements + e, chunk % 2); }

  // Loads have no branches: padding is loaded from the first element, and replaced by zero on the way to LDS.
  __device__ void fetch(int32_t first) {
    const auto rest = static_cast<int32_t>(arguments_.sizes.keys) - first;
    const FlashAttentionView &key_view = arguments_.key_view, &value_view = arguments_.value_view;
    const T* const first_key = keys_ + first * key_view.row;
#pragma clang loop unroll(full)
    for (int i = 0; i < key_loads; ++i) {
      const Place at = key_place(thread_index() + i * nest_threads);
      const int element = at.chunk * chunk_elements;
      const auto row = static_cast<uint32_t>(at.row < rest ? at.row * static_cast<int32_t>(key_view.row) : 0);
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e) {
        if (e >= depth) continue;
        const auto offset = static_cast<uint32_t>(element * static_cast<int32_t>(key_view.element));
        fetched_keys_[i].elements[e] = load(first_key + e * key_view.element, row + (element + e < depth ? offset : 0));
      }
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < value_loads; ++i) {
      const Place at = value_place(thread_index() + i * nest_threads);
      const int key = key_of(at.chunk, 0);
      const auto column =
          static_cast<uint32_t>((at.row < columns ? at.row : 0) * static_cast<int32_t>(value_view.element));
      const auto offset = static_cast<uint32_t>(key * static_cast<int32_t>(value_view.row));
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e) {
        const int next = key_of(0, e);
        const T* const first_value = values_ + (first + (next < rest ? next : 0)) * value_view.row;
        fetched_values_[i].elements[e] = load(first_value, column + (key + next < rest ? offset : 0));
      }
    }
  }

  __device__ void store_to_lds(int32_t rest) {
#pragma clang loop unroll(full)
    for (int i = 0; i < key_loads; ++i) {
      const int number = thread_index() + i * nest_threads;
      if ((i + 1) * nest_threads > key_chunks && number >= key_chunks) continue;
      const Place at = key_place(number);
      ChunkValues values;
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e)
        values.elements[e] = e < depth && at.chunk * chunk_elements + e < depth ? fetched_keys_[i].elements[e] : zero();
      *reinterpret_cast<Chunk*>(shared_.keys + at.chunk / 4 * tile * lds_row_bytes + lds_place(at.row, at.chunk % 4)) =
          __builtin_bit_cast(Chunk, values);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < value_loads; ++i) {
      const int number = thread_index() + i * nest_threads;
      const Place at = value_place(number);
      if (at.row >= columns) continue;
      if ((i + 1) * nest_threads > value_chunks && number >= value_chunks) continue;
      ChunkValues values;
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e)
        values.elements[e] = key_of(at.chunk, e) < rest ? fetched_values_[i].elements[e] : zero();
      *reinterpret_cast<Chunk*>(shared_.values + at.row * value_row_bytes + at.chunk * chunk_bytes) =
          __builtin_bit_cast(Chunk, values);
    }
  }

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
        scores = plan.scores_change_lanes ? Tile::add_part(queries_[i], key, part, scores)
                                          : Tile::add_part(key, queries_[i], part, scores);
    }
    // Past the last key and the last query the epilogue reads as for the last one: that memory exists.
    const auto last_key = static_cast<int32_t>(arguments_.sizes.keys) - 1;
    if constexpr (!plan.scores_change_lanes) {
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

  // The exponential of a difference that is at most 0: its rounding is below what counts in a sum with 1.
  __device__ static float power_of_e(float difference) {
    constexpr float log2_of_e = 0x1.715476p+0f;
    return fast_power_of_two(difference * log2_of_e);
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

  const FlashAttentionArguments<T, Output>& arguments_;
  Shared& shared_;
  int64_t image_, group_;
  int32_t first_query_, last_query_;
  int lane_, half_;
  const T *keys_, *values_;
  Chunk queries_[pairs];
  ChunkValues fetched_keys_[key_loads], fetched_values_[value_loads];
  Float16 sums_[column_tiles];
  float largest_ = -__builtin_inff(), total_ = 0.0f;
};

template <FlashAttentionPlan plan, class T, class Output, class Inner, class Epilogue>
__device__ inline void attention(const FlashAttentionArguments<T, Output>& arguments, const Inner& inner,
                                 const Epilogue& epilogue) {
  using A = Attention<plan, T, Output>;
  __shared__ typename A::Shared shared;
  static_assert(sizeof shared == plan.lds_bytes());
  A attention(arguments, shared);
  attention.run(inner);
  attention.store(epilogue);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
