// InstanceNormalization and GroupNormalization of few long rows, which a block for each would leave most compute units
// idle with.
//
// Method: rows are cut into chunks that a block holds. A first kernel stores the mean of each part of a row, of one
// chunk or of several, and the sum of the squares of its differences from it. In a second one each block puts together
// those of its rows, in double and always in the same order, and normalises a chunk, which is still in the caches. That
// every block puts them together again costs less than a launch would.
//
// Bound by: memory, two reads and one store of each element. Limits: those of rows.
#pragma once

#include "kernels/hip/memory_bound/normalized_rows.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Which part of a row a block has, and its elements.
struct PartOfRow {
  int32_t number, begin, end;

  __device__ PartOfRow(const RowLaunch& launch, int32_t columns, uint32_t block)
      : number(static_cast<int32_t>(launch.parts.remainder(block))) {
    const auto size = static_cast<int32_t>(launch.part_columns);
    begin = number * size;
    end = columns - begin < size ? columns : begin + size;
  }
};

template <class R>
__device__ inline void store_moments(const R& row, const PartOfRow& part,
                                     const RowStatistics<RowKind::moments>& statistics, const RowLaunch& launch,
                                     float* partial) {
  if (!((row.thread_of_row() == 0) & row.is_real)) return;
  const int64_t place = row.outer * static_cast<int64_t>(launch.parts.divisor) + part.number;
  partial += place * partial_values * R::lanes + row.inner;
  const auto mean = static_cast<float>(statistics.whole_mean);
  partial[0] = mean;
  partial[R::lanes] = static_cast<float>(statistics.whole_mean - static_cast<double>(mean));
  partial[2 * R::lanes] = static_cast<float>(statistics.squares);
}

template <RowPlan plan, class Input, class Output, class Epilogue>
__device__ inline void partial_moments(const ChunkArguments<Input, Output>& arguments, const Epilogue& /*epilogue*/) {
  using R = Row<plan, Input>;
  const RowLaunch& launch = arguments.rows.launch;
  const auto block = static_cast<uint32_t>(block_index());
  const R row(arguments.rows, launch.parts.quotient(block));
  const PartOfRow part(launch, row.columns, block);
  RowStatistics<RowKind::moments> statistics;
  float values[R::count];
#pragma clang loop unroll(disable)
  for (int32_t begin = part.begin; begin < part.end; begin += R::capacity) {
    row.load(begin, values);
    statistics.add(row, begin, values, 0.0f);
  }
  store_moments(row, part, statistics, launch, arguments.partial);
}

// The statistics of a thread's row, put together by the threads of the row. `rows`: as many neighbouring rows have
// these statistics in blocks of channels.
template <RowPlan plan, int64_t rows, class Input, class Output>
struct CombinedMoments {
  using R = Row<plan, Input>;
  static_assert(plan.group_lanes == 1 && plan.lanes * plan.threads == nest_threads);

  struct Part {
    float mean, residue, squares;
    int32_t elements;
  };

  const R& row;
  const RowLaunch& launch;
  const float* partial;  // of the row, or of the image's first where several rows have these statistics
  int32_t parts, lane;   // of a row; of the first of these rows, counted through the image's blocks of channels

  __device__ CombinedMoments(const R& row_, const ChunkArguments<Input, Output>& arguments)
      : row(row_), launch(arguments.rows.launch), parts(static_cast<int32_t>(launch.parts.divisor)), lane(row_.inner) {
    int64_t first = row.outer;
    if constexpr (rows > 1) {
      const Divisor& blocks = launch.extents[plan.outer_axes - 1];
      const auto block = static_cast<int32_t>(blocks.remainder(static_cast<uint32_t>(row.outer)));
      // Lanes that pad the last block have the statistics of the last channel.
      const int32_t own = block * R::lanes + row.inner, last = static_cast<int32_t>(arguments.rows.sizes.channels) - 1;
      lane = (own < last ? own : last) / static_cast<int32_t>(rows) * static_cast<int32_t>(rows);
      first -= block;
    }
    partial = arguments.partial + first * parts * block_values();
  }
  // Of a part of all lanes.
  __device__ int32_t block_values() const { return static_cast<int32_t>(partial_values) * R::lanes; }

  // The part with this number of all rows' parts.
  __device__ Part part(int32_t number) const {
    const auto of_row = rows == 1 ? 0 : static_cast<int32_t>(launch.parts.quotient(static_cast<uint32_t>(number)));
    const int32_t which = number - of_row * parts, at = lane + of_row;
    const float* const values = partial +
                                (static_cast<int64_t>(rows == 1 ? 0 : at / R::lanes) * parts + which) * block_values() +
                                (rows == 1 ? lane : at % R::lanes);
    const int32_t size = static_cast<int32_t>(launch.part_columns), rest = row.columns - which * size;
    return {values[0], values[R::lanes], values[2 * R::lanes], rest < size ? rest : size};
  }

  // In the order of the threads, so that each of them has the same.
  __device__ double sum_of_row(double value) const {
    if constexpr (R::lanes == 1) {
      return fold_block(value, [](double a, double b) { return a + b; });
    } else {
      __shared__ double sums[nest_threads];
      static_assert(sizeof sums == plan.lds_bytes());
      barrier();  // the block may still be reading those of an earlier call
      sums[thread_index()] = value;
      barrier();
      double sum = 0.0;
#pragma clang loop unroll(full)
      for (int thread = 0; thread < R::threads; ++thread) sum += sums[thread * R::lanes + thread_index() % R::lanes];
      return sum;
    }
  }

  // `share`: of an element of a row in the statistics.
  __device__ RowStatistics<RowKind::moments> statistics(double share, float epsilon) const {
    // Sums of the differences from a number near the mean: a thread's few in float32, where they lose nothing to speak
    // of.
    const float reference = part(0).mean;
    float differences = 0.0f, squares = 0.0f;
    constexpr int at_once = 8;
    const int32_t count = static_cast<int32_t>(rows) * parts;
#pragma clang loop unroll(disable)
    for (int32_t i = row.thread_of_row(); i < count; i += at_once * R::threads) {
      // Without a branch, in front of which the loads would be waited for one after the other: behind the last part the
      // first one counts nothing.
      Part loaded[at_once];
#pragma clang loop unroll(full)
      for (int j = 0; j < at_once; ++j) loaded[j] = part(i + j * R::threads < count ? i + j * R::threads : 0);
#pragma clang loop unroll(full)
      for (int j = 0; j < at_once; ++j) {
        const Part& one = loaded[j];
        // A product with 0 would not do: squares overflow.
        const bool counts = i + j * R::threads < count;
        const float shift = (one.mean - reference) + one.residue, moved = static_cast<float>(one.elements) * shift;
        differences += counts ? moved : 0.0f;
        squares += counts ? one.squares + moved * shift : 0.0f;
      }
    }
    const double mean_shift = sum_of_row(static_cast<double>(differences)) * share,
                 variance = sum_of_row(static_cast<double>(squares)) * share - mean_shift * mean_shift;
    RowStatistics<RowKind::moments> result;
    // The compiler would subtract it from the row's elements above, and wait for these before it loads the parts.
    float mean = reference;
    asm volatile("" : "+v"(mean));
    result.mean = mean;
    result.residue = static_cast<float>(mean_shift);
    // Equal elements have no variance, where rounding might leave one below zero.
    result.factor = 1.0f / square_root(static_cast<float>(variance < 0.0 ? 0.0 : variance) + epsilon);
    return result;
  }
};

template <RowPlan plan, int64_t rows, class Input, class Output, class Epilogue>
__device__ inline void normalized_chunks(const ChunkArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using R = Row<plan, Input>;
  const RowLaunch& launch = arguments.rows.launch;
  const auto block = static_cast<uint32_t>(block_index());
  const R row(arguments.rows, launch.chunks.quotient(block));
  const int32_t begin = static_cast<int32_t>(launch.chunks.remainder(block)) * R::capacity;
  float values[R::count];
  row.load(begin, values);
  const auto statistics =
      CombinedMoments<plan, rows, Input, Output>(row, arguments).statistics(arguments.share, arguments.rows.epsilon);
#pragma clang loop unroll(full)
  for (float& value : values) value = statistics.normalized(value);
  RowStore<plan, Input, Output, Epilogue>(row, arguments.rows, epilogue).store(begin, values);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
