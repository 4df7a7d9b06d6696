// InstanceNormalization and GroupNormalization of few long rows, which a block for each would leave most compute units
// idle with.
//
// Method: rows are cut into chunks that a block holds. A first kernel stores the mean of each part of a row, of one
// chunk or of several, and the sum of the squares of its differences from it. In a last one each block puts together
// those of its rows, in double and always in the same order, and normalises a chunk, which is still in the caches. To
// put them together again in every block costs less than a launch, while they are few: the reads are blocks times
// parts. If they are many, a kernel in between folds the parts of each row to 32 at most (RowPlan::moment_folds).
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

// For a part of a row, or for the parts of all rows that have its statistics.
struct PartialMoments {
  float mean, residue, squares, elements;
};

// The parts of a thread's row. `rows`: as many neighbouring rows have common statistics in blocks of channels.
template <RowPlan plan, int64_t rows, class Input, class Output>
struct PartsOfRows {
  using R = Row<plan, Input>;
  // For a part of all lanes.
  static constexpr auto part_values = static_cast<int32_t>(partial_values) * R::lanes;

  const float* partial;  // of the row, or of the image's first if several rows have these statistics
  int32_t parts, lane;   // of a row; of the first of these rows, counted through the image's blocks of channels
  int32_t columns, part_columns;
  const Divisor& by_row;

  __device__ PartsOfRows(const R& row, const ChunkArguments<Input, Output>& arguments)
      : parts(static_cast<int32_t>(arguments.rows.launch.parts.divisor)),
        lane(row.inner),
        columns(row.columns),
        part_columns(static_cast<int32_t>(arguments.rows.launch.part_columns)),
        by_row(arguments.rows.launch.parts) {
    int64_t first = row.outer;
    if constexpr (rows > 1) {
      const Divisor& blocks = arguments.rows.launch.extents[plan.outer_axes - 1];
      const auto block = static_cast<int32_t>(blocks.remainder(static_cast<uint32_t>(row.outer)));
      // Lanes that pad the last block have the statistics of the last channel.
      const int32_t own = block * R::lanes + row.inner, last = static_cast<int32_t>(arguments.rows.sizes.channels) - 1;
      lane = (own < last ? own : last) / static_cast<int32_t>(rows) * static_cast<int32_t>(rows);
      first -= block;
    }
    partial = arguments.partial + first * parts * part_values;
  }
  __device__ int32_t count() const { return static_cast<int32_t>(rows) * parts; }

  // The part with this number of all rows' parts.
  __device__ PartialMoments operator()(int32_t number) const {
    const auto of_row = rows == 1 ? 0 : static_cast<int32_t>(by_row.quotient(static_cast<uint32_t>(number)));
    const int32_t which = number - of_row * parts, at = lane + of_row;
    const float* const values = partial +
                                (static_cast<int64_t>(rows == 1 ? 0 : at / R::lanes) * parts + which) * part_values +
                                (rows == 1 ? lane : at % R::lanes);
    const int32_t rest = columns - which * part_columns;
    return {values[0], values[R::lanes], values[2 * R::lanes],
            static_cast<float>(rest < part_columns ? rest : part_columns)};
  }
};

// The parts that fold_moments leaves: for each row those that it shares with others as well.
template <RowPlan plan, class Input, class Output>
struct FoldedParts {
  using R = Row<plan, Input>;
  static constexpr auto part_values = static_cast<int32_t>(folded_values) * R::lanes;

  float* folded;  // of the row
  int32_t folds;

  __device__ FoldedParts(const R& row, const ChunkArguments<Input, Output>& arguments)
      : folds(static_cast<int32_t>(arguments.folds.count.divisor)) {
    const RowLaunch& launch = arguments.rows.launch;
    const int64_t parts = launch.outer * static_cast<int64_t>(launch.parts.divisor);
    folded =
        arguments.partial + parts * partial_values * R::lanes + int64_t{row.outer} * folds * part_values + row.inner;
  }
  __device__ int32_t count() const { return folds; }

  __device__ PartialMoments operator()(int32_t number) const {
    const float* const values = folded + number * part_values;
    return {values[0], values[R::lanes], values[2 * R::lanes], values[3 * R::lanes]};
  }
  __device__ void store(int32_t number, const PartialMoments& moments) const {
    float* const values = folded + number * part_values;
    values[0] = moments.mean;
    values[R::lanes] = moments.residue;
    values[2 * R::lanes] = moments.squares;
    values[3 * R::lanes] = moments.elements;
  }
};

// Sums of the differences from a number near the mean: a thread's few in float32, in which they lose nothing to speak
// of.
template <RowPlan plan, class Input>
struct MomentSums {
  using R = Row<plan, Input>;
  static_assert(plan.group_lanes == 1 && plan.lanes * plan.threads == nest_threads);

  const R& row;
  float elements = 0.0f, differences = 0.0f, squares = 0.0f;

  // Adds the thread's share of the parts from `begin` to `end`.
  template <int at_once, class Parts>
  __device__ void add(const Parts& parts, int32_t begin, int32_t end, float reference) {
#pragma clang loop unroll(disable)
    for (int32_t i = begin + row.thread_of_row(); i < end; i += at_once * R::threads) {
      // Branch-free, or the compiler waits for each load. Past the last part, part 0 is added with weight 0.
      PartialMoments loaded[at_once];
#pragma clang loop unroll(full)
      for (int j = 0; j < at_once; ++j) loaded[j] = parts(i + j * R::threads < end ? i + j * R::threads : begin);
#pragma clang loop unroll(full)
      for (int j = 0; j < at_once; ++j) {
        const PartialMoments& one = loaded[j];
        // A product with 0 would not do: squares overflow.
        const bool counts = i + j * R::threads < end;
        const float shift = (one.mean - reference) + one.residue, moved = one.elements * shift;
        elements += counts ? one.elements : 0.0f;
        differences += counts ? moved : 0.0f;
        squares += counts ? one.squares + moved * shift : 0.0f;
      }
    }
  }

  // The sum over all threads of the row, in their order, so that each of them has the same.
  __device__ double of_row(float value) const {
    const auto own = static_cast<double>(value);
    if constexpr (R::lanes == 1) {
      return fold_block(own, [](double a, double b) { return a + b; });
    } else {
      __shared__ double sums[nest_threads];
      static_assert(sizeof sums == plan.lds_bytes(own_gpu));
      barrier();  // the block may still be reading those of an earlier call
      sums[thread_index()] = own;
      barrier();
      double sum = 0.0;
#pragma clang loop unroll(full)
      for (int thread = 0; thread < R::threads; ++thread) sum += sums[thread * R::lanes + thread_index() % R::lanes];
      return sum;
    }
  }
};

// `share`: of an element of a row in the statistics.
template <int at_once, RowPlan plan, class Input, class Parts>
__device__ inline RowStatistics<RowKind::moments> combined_moments(const Row<plan, Input>& row, const Parts& parts,
                                                                   double share, float epsilon) {
  const float reference = parts(0).mean;
  MomentSums<plan, Input> sums{row};
  sums.template add<at_once>(parts, 0, parts.count(), reference);
  const double mean_shift = sums.of_row(sums.differences) * share,
               variance = sums.of_row(sums.squares) * share - mean_shift * mean_shift;
  RowStatistics<RowKind::moments> result;
  // The compiler would subtract it from the row's elements above, and wait for these before it loads the parts.
  float mean = reference;
  asm volatile("" : "+v"(mean));
  result.mean = mean;
  result.residue = static_cast<float>(mean_shift);
  // Equal elements have no variance, although rounding might leave one below zero.
  result.factor = 1.0f / square_root(static_cast<float>(variance < 0.0 ? 0.0 : variance) + epsilon);
  return result;
}

// A block folds some parts of its rows to one.
template <RowPlan plan, int64_t rows, class Input, class Output, class Epilogue>
__device__ inline void fold_moments(const ChunkArguments<Input, Output>& arguments, const Epilogue& /*epilogue*/) {
  const auto block = static_cast<uint32_t>(block_index());
  const Row<plan, Input> row(arguments.rows, arguments.folds.count.quotient(block));
  const PartsOfRows<plan, rows, Input, Output> parts(row, arguments);
  const auto fold = static_cast<int32_t>(arguments.folds.count.remainder(block)),
             length = static_cast<int32_t>(arguments.folds.parts), begin = fold * length,
             end = parts.count() - begin < length ? parts.count() : begin + length;
  const float reference = parts(begin).mean;
  MomentSums<plan, Input> sums{row};
  sums.template add<8>(parts, begin, end, reference);
  const double elements = sums.of_row(sums.elements), differences = sums.of_row(sums.differences),
               squares = sums.of_row(sums.squares), shift = differences / elements,
               mean = static_cast<double>(reference) + shift;
  if (!((row.thread_of_row() == 0) & row.is_real)) return;
  const auto rounded = static_cast<float>(mean);
  FoldedParts<plan, Input, Output>(row, arguments)
      .store(fold, {rounded, static_cast<float>(mean - static_cast<double>(rounded)),
                    static_cast<float>(squares - differences * shift), static_cast<float>(elements)});
}

template <RowPlan plan, int64_t rows, bool are_folded, class Input, class Output, class Epilogue>
__device__ inline void normalized_chunks(const ChunkArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using R = Row<plan, Input>;
  const RowLaunch& launch = arguments.rows.launch;
  const auto block = static_cast<uint32_t>(block_index());
  const R row(arguments.rows, launch.chunks.quotient(block));
  const int32_t begin = static_cast<int32_t>(launch.chunks.remainder(block)) * R::capacity;
  float values[R::count];
  row.load(begin, values);
  const auto combined = [&] {
    if constexpr (are_folded) {
      constexpr int at_once = static_cast<int>(larger(most_folds / plan.threads, 1));
      return combined_moments<at_once>(row, FoldedParts<plan, Input, Output>(row, arguments), arguments.share,
                                       arguments.rows.epsilon);
    } else {
      return combined_moments<8>(row, PartsOfRows<plan, rows, Input, Output>(row, arguments), arguments.share,
                                 arguments.rows.epsilon);
    }
  };
  const auto statistics = combined();
#pragma clang loop unroll(full)
  for (float& value : values) value = statistics.normalized(value);
  RowStore<plan, Input, Output, Epilogue>(row, arguments.rows, epilogue).store(begin, values);
}

// The same two after a product, whose epilogue is the inner one.
template <RowPlan plan, int64_t rows, class Arguments, class Inner, class Epilogue>
__device__ inline void fold_moments(const Arguments& arguments, const Inner& /*inner*/, const Epilogue& epilogue) {
  fold_moments<plan, rows>(arguments.rows, epilogue);
}
template <RowPlan plan, int64_t rows, bool are_folded, class Arguments, class Inner, class Epilogue>
__device__ inline void normalized_chunks(const Arguments& arguments, const Inner& /*inner*/, const Epilogue& epilogue) {
  normalized_chunks<plan, rows, are_folded>(arguments.rows, epilogue);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
