// Attention on every matrix unit brings keys and values through the registers of a block's threads into LDS: a step of
// 32 keys while the one before is computed with.
//
// The wave that computes (attention_mfma.h, attention_wmma.h, attention_mma.h) derives from it. It has load_queries(),
// clear_sums() and add(first, inner), the step of the keys from `first` on. Its words are first_query(), of the
// block's; as_factors(), a chunk as the matrix unit multiplies it; and key_of(chunk, e), the key of an element of a
// column's chunk. Any order of keys will do, as long as the exponentials have the same.
#pragma once

#include "kernels/hip/attention/attention_geometry.h"
#include "kernels/hip/gemm/tile_product.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Wave, FlashAttentionPlan plan, class T, class Output>
class AttentionOperands {
 public:
  static constexpr int tile = 32;
  static constexpr auto depth = static_cast<int>(plan.depth), columns = static_cast<int>(plan.columns),
                        pairs = static_cast<int>(plan.depth_pairs()),
                        column_tiles = static_cast<int>(plan.column_tiles()),
                        chunk_elements = static_cast<int>(plan.chunk_elements()),
                        value_row_bytes = static_cast<int>(plan.value_row_bytes());
  using ChunkValues = ChunkOf<T>;

  struct Shared {
    alignas(16) char keys[plan.key_bytes()];
    alignas(16) char values[plan.value_bytes()];
    alignas(16) float scores[4][plan.score_floats(own_gpu)];
  };

  // Chunks of keys and of values that the threads bring.
  static constexpr int key_chunks = pairs * 2 * tile, key_loads = (key_chunks + nest_threads - 1) / nest_threads;
  static constexpr int column_lanes = (columns + 7) / 8 * 8;  // stores of eight lanes keep to one chunk
  static constexpr int value_chunks = column_lanes * (tile / chunk_elements),
                       value_loads = (value_chunks + nest_threads - 1) / nest_threads;

  __device__ AttentionOperands(const FlashAttentionArguments<T, Output>& arguments, Shared& shared)
      : arguments_(arguments), shared_(shared) {
    const auto block = static_cast<uint32_t>(block_index());
    const uint32_t place = arguments.query_tiles.quotient(block);
    image_ = arguments.groups.quotient(place);
    group_ = arguments.groups.remainder(place);
    first_query_ = static_cast<int32_t>(arguments.query_tiles.remainder(block)) * 128 + Wave::first_query();
    last_query_ = static_cast<int32_t>(arguments.sizes.queries) - 1;
    keys_ = arguments.keys + image_ * arguments.key_view.batch + group_ * arguments.key_view.group;
    values_ = arguments.values + image_ * arguments.value_view.batch + group_ * arguments.value_view.group;
  }

  template <class Inner>
  __device__ void run(const Inner& inner) {
    Wave& wave = static_cast<Wave&>(*this);
    wave.load_queries();
    wave.clear_sums();
    clear_padding();
    const auto keys = static_cast<int32_t>(arguments_.sizes.keys);
    fetch(0);
#pragma clang loop unroll(disable)
    for (int32_t first = 0; first < keys; first += tile) {
      barrier();  // the products of the keys before are done with LDS
      store_to_lds(keys - first);
      barrier();
      fetch(first + tile < keys ? first + tile : first);
      scheduling_barrier();
      if (first_query_ <= last_query_) wave.add(first, inner);
    }
  }

 protected:
  __device__ static T zero() { return static_cast<T>(0.0f); }
  // With an offset of 32 bits a uniform address needs no arithmetic of the vector unit.
  __device__ static T load(const T* first, uint32_t offset) { return first[offset]; }

  // Columns of padding are computed and not stored.
  __device__ void clear_padding() {
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

  // Loads do not branch: padding is loaded from the first element, and replaced by zero on the way to LDS.
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
      const int key = Wave::key_of(at.chunk, 0);
      const auto column =
          static_cast<uint32_t>((at.row < columns ? at.row : 0) * static_cast<int32_t>(value_view.element));
      const auto offset = static_cast<uint32_t>(key * static_cast<int32_t>(value_view.row));
#pragma clang loop unroll(full)
      for (int e = 0; e < chunk_elements; ++e) {
        const int next = Wave::key_of(0, e);
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
          Wave::as_factors(__builtin_bit_cast(Chunk, values));
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
        values.elements[e] = Wave::key_of(at.chunk, e) < rest ? fetched_values_[i].elements[e] : zero();
      *reinterpret_cast<Chunk*>(shared_.values + at.row * value_row_bytes + at.chunk * chunk_bytes) =
          Wave::as_factors(__builtin_bit_cast(Chunk, values));
    }
  }

  // The exponential of a difference that is at most 0: its rounding is below what counts in a sum with 1.
  __device__ static float power_of_e(float difference) {
    constexpr float log2_of_e = 0x1.715476p+0f;
    return fast_power_of_two(difference * log2_of_e);
  }

  const FlashAttentionArguments<T, Output>& arguments_;
  Shared& shared_;
  int64_t image_, group_;
  int32_t first_query_, last_query_;
  const T *keys_, *values_;
  ChunkValues fetched_keys_[key_loads], fetched_values_[value_loads];
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
