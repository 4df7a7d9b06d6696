// InstanceNormalization and GroupNormalization of few long lines, which a block for each would leave most compute units
// idle with.
//
// Method: lines are cut into chunks that a block holds. A first kernel stores the mean of each part of a line, of one
// chunk or of several, and the sum of the squares of its differences from it. In a last one each block puts together
// those of its lines, in double and always in the same order, and normalises a chunk, which is still in the caches. To
// put them together again in every block costs less than a launch, while they are few: the reads are blocks times
// parts. If they are many, a kernel in between folds the parts of each line to 32 at most (LinePlan::moment_folds).
//
// Bound by: memory, two reads and one store of each element. Limits: those of lines.
#pragma once

#include "kernels/hip/memory_bound/normalized_lines.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Which part of a line a block has, and its elements.
struct PartOfLine {
  int32_t number, begin, end;

  __device__ PartOfLine(const LineLaunch& launch, int32_t columns, uint32_t block)
      : number(static_cast<int32_t>(launch.parts.remainder(block))) {
    const auto size = static_cast<int32_t>(launch.part_columns);
    begin = number * size;
    end = columns - begin < size ? columns : begin + size;
  }
};

template <class L>
__device__ inline void store_moments(const L& line, const PartOfLine& part,
                                     const LineStatistics<LineKind::moments>& statistics, const LineLaunch& launch,
                                     float* partial) {
  if (!((line.thread_of_line() == 0) & line.is_real)) return;
  const int64_t place = line.outer * static_cast<int64_t>(launch.parts.divisor) + part.number;
  partial += place * partial_values * L::lanes + line.inner;
  const auto mean = static_cast<float>(statistics.whole_mean);
  partial[0] = mean;
  partial[L::lanes] = static_cast<float>(statistics.whole_mean - static_cast<double>(mean));
  partial[2 * L::lanes] = static_cast<float>(statistics.squares);
}

template <LinePlan plan, class Input, class Output, class Epilogue>
__device__ inline void partial_moments(const ChunkArguments<Input, Output>& arguments, const Epilogue& /*epilogue*/) {
  using L = Line<plan, Input>;
  const LineLaunch& launch = arguments.lines.launch;
  const auto block = static_cast<uint32_t>(block_index());
  const L line(arguments.lines, launch.parts.quotient(block));
  const PartOfLine part(launch, line.columns, block);
  LineStatistics<LineKind::moments> statistics;
  float values[L::count];
#pragma clang loop unroll(disable)
  for (int32_t begin = part.begin; begin < part.end; begin += L::capacity) {
    line.load(begin, values);
    statistics.add(line, begin, values, 0.0f);
  }
  store_moments(line, part, statistics, launch, arguments.partial);
}

// For a part of a line, or for the parts of all lines that have its statistics.
struct PartialMoments {
  float mean, residue, squares, elements;
};

// The parts of a thread's line. `lines`: as many neighbouring lines have common statistics in blocks of channels.
template <LinePlan plan, int64_t lines, class Input, class Output>
struct PartsOfLines {
  using L = Line<plan, Input>;
  // For a part of all lanes.
  static constexpr auto part_values = static_cast<int32_t>(partial_values) * L::lanes;

  const float* partial;  // of the line, or of the image's first if several lines have these statistics
  int32_t parts, lane;   // of a line; of the first of these lines, counted through the image's blocks of channels
  int32_t columns, part_columns;
  const Divisor& by_line;

  __device__ PartsOfLines(const L& line, const ChunkArguments<Input, Output>& arguments)
      : parts(static_cast<int32_t>(arguments.lines.launch.parts.divisor)),
        lane(line.inner),
        columns(line.columns),
        part_columns(static_cast<int32_t>(arguments.lines.launch.part_columns)),
        by_line(arguments.lines.launch.parts) {
    int64_t first = line.outer;
    if constexpr (lines > 1) {
      const Divisor& blocks = arguments.lines.launch.extents[plan.outer_axes - 1];
      const auto block = static_cast<int32_t>(blocks.remainder(static_cast<uint32_t>(line.outer)));
      // Lanes that pad the last block have the statistics of the last channel.
      const int32_t own = block * L::lanes + line.inner,
                    last = static_cast<int32_t>(arguments.lines.sizes.channels) - 1;
      lane = (own < last ? own : last) / static_cast<int32_t>(lines) * static_cast<int32_t>(lines);
      first -= block;
    }
    partial = arguments.partial + first * parts * part_values;
  }
  __device__ int32_t count() const { return static_cast<int32_t>(lines) * parts; }

  // The part with this number of all lines' parts.
  __device__ PartialMoments operator()(int32_t number) const {
    const auto of_line = lines == 1 ? 0 : static_cast<int32_t>(by_line.quotient(static_cast<uint32_t>(number)));
    const int32_t which = number - of_line * parts, at = lane + of_line;
    const float* const values = partial +
                                (static_cast<int64_t>(lines == 1 ? 0 : at / L::lanes) * parts + which) * part_values +
                                (lines == 1 ? lane : at % L::lanes);
    const int32_t rest = columns - which * part_columns;
    return {values[0], values[L::lanes], values[2 * L::lanes],
            static_cast<float>(rest < part_columns ? rest : part_columns)};
  }
};

// The parts that fold_moments leaves: for each line those that it shares with others as well.
template <LinePlan plan, class Input, class Output>
struct FoldedParts {
  using L = Line<plan, Input>;
  static constexpr auto part_values = static_cast<int32_t>(folded_values) * L::lanes;

  float* folded;  // of the line
  int32_t folds;

  __device__ FoldedParts(const L& line, const ChunkArguments<Input, Output>& arguments)
      : folds(static_cast<int32_t>(arguments.folds.count.divisor)) {
    const LineLaunch& launch = arguments.lines.launch;
    const int64_t parts = launch.outer * static_cast<int64_t>(launch.parts.divisor);
    folded =
        arguments.partial + parts * partial_values * L::lanes + int64_t{line.outer} * folds * part_values + line.inner;
  }
  __device__ int32_t count() const { return folds; }

  __device__ PartialMoments operator()(int32_t number) const {
    const float* const values = folded + number * part_values;
    return {values[0], values[L::lanes], values[2 * L::lanes], values[3 * L::lanes]};
  }
  __device__ void store(int32_t number, const PartialMoments& moments) const {
    float* const values = folded + number * part_values;
    values[0] = moments.mean;
    values[L::lanes] = moments.residue;
    values[2 * L::lanes] = moments.squares;
    values[3 * L::lanes] = moments.elements;
  }
};

// Sums of the differences from a number near the mean: a thread's few in float32, in which they lose nothing to speak
// of.
template <LinePlan plan, class Input>
struct MomentSums {
  using L = Line<plan, Input>;
  static_assert(plan.group_lanes == 1 && plan.lanes * plan.threads == nest_threads);

  const L& line;
  float elements = 0.0f, differences = 0.0f, squares = 0.0f;

  // Adds the thread's share of the parts from `begin` to `end`.
  template <int at_once, class Parts>
  __device__ void add(const Parts& parts, int32_t begin, int32_t end, float reference) {
#pragma clang loop unroll(disable)
    for (int32_t i = begin + line.thread_of_line(); i < end; i += at_once * L::threads) {
      // Branch-free, or the compiler waits for each load. Past the last part, part 0 is added with weight 0.
      PartialMoments loaded[at_once];
#pragma clang loop unroll(full)
      for (int j = 0; j < at_once; ++j) loaded[j] = parts(i + j * L::threads < end ? i + j * L::threads : begin);
#pragma clang loop unroll(full)
      for (int j = 0; j < at_once; ++j) {
        const PartialMoments& one = loaded[j];
        // A product with 0 would not do: squares overflow.
        const bool counts = i + j * L::threads < end;
        const float shift = (one.mean - reference) + one.residue, moved = one.elements * shift;
        elements += counts ? one.elements : 0.0f;
        differences += counts ? moved : 0.0f;
        squares += counts ? one.squares + moved * shift : 0.0f;
      }
    }
  }

  // The sum over all threads of the line, in their order, so that each of them has the same.
  __device__ double of_line(float value) const {
    const auto own = static_cast<double>(value);
    if constexpr (L::lanes == 1) {
      return fold_block(own, [](double a, double b) { return a + b; });
    } else {
      __shared__ double sums[nest_threads];
      static_assert(sizeof sums == plan.lds_bytes(own_gpu));
      barrier();  // the block may still be reading those of an earlier call
      sums[thread_index()] = own;
      barrier();
      double sum = 0.0;
#pragma clang loop unroll(full)
      for (int thread = 0; thread < L::threads; ++thread) sum += sums[thread * L::lanes + thread_index() % L::lanes];
      return sum;
    }
  }
};

// `share`: of an element of a line in the statistics.
template <int at_once, LinePlan plan, class Input, class Parts>
__device__ inline LineStatistics<LineKind::moments> combined_moments(const Line<plan, Input>& line, const Parts& parts,
                                                                     double share, float epsilon) {
  const float reference = parts(0).mean;
  MomentSums<plan, Input> sums{line};
  sums.template add<at_once>(parts, 0, parts.count(), reference);
  const double mean_shift = sums.of_line(sums.differences) * share,
               variance = sums.of_line(sums.squares) * share - mean_shift * mean_shift;
  LineStatistics<LineKind::moments> result;
  // The compiler would subtract it from the line's elements above, and wait for these before it loads the parts.
  float mean = reference;
  forget_origin(mean);
  result.mean = mean;
  result.residue = static_cast<float>(mean_shift);
  // Equal elements have no variance, although rounding might leave one below zero.
  result.factor = 1.0f / square_root(static_cast<float>(variance < 0.0 ? 0.0 : variance) + epsilon);
  return result;
}

// A block folds some parts of its lines to one.
template <LinePlan plan, int64_t lines, class Input, class Output, class Epilogue>
__device__ inline void fold_moments(const ChunkArguments<Input, Output>& arguments, const Epilogue& /*epilogue*/) {
  const auto block = static_cast<uint32_t>(block_index());
  const Line<plan, Input> line(arguments.lines, arguments.folds.count.quotient(block));
  const PartsOfLines<plan, lines, Input, Output> parts(line, arguments);
  const auto fold = static_cast<int32_t>(arguments.folds.count.remainder(block)),
             length = static_cast<int32_t>(arguments.folds.parts), begin = fold * length,
             end = parts.count() - begin < length ? parts.count() : begin + length;
  const float reference = parts(begin).mean;
  MomentSums<plan, Input> sums{line};
  sums.template add<8>(parts, begin, end, reference);
  const double elements = sums.of_line(sums.elements), differences = sums.of_line(sums.differences),
               squares = sums.of_line(sums.squares), shift = differences / elements,
               mean = static_cast<double>(reference) + shift;
  if (!((line.thread_of_line() == 0) & line.is_real)) return;
  const auto rounded = static_cast<float>(mean);
  FoldedParts<plan, Input, Output>(line, arguments)
      .store(fold, {rounded, static_cast<float>(mean - static_cast<double>(rounded)),
                    static_cast<float>(squares - differences * shift), static_cast<float>(elements)});
}

template <LinePlan plan, int64_t lines, bool are_folded, class Input, class Output, class Epilogue>
__device__ inline void normalized_chunks(const ChunkArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using L = Line<plan, Input>;
  const LineLaunch& launch = arguments.lines.launch;
  const auto block = static_cast<uint32_t>(block_index());
  const L line(arguments.lines, launch.chunks.quotient(block));
  const int32_t begin = static_cast<int32_t>(launch.chunks.remainder(block)) * L::capacity;
  float values[L::count];
  line.load(begin, values);
  const auto combined = [&] {
    if constexpr (are_folded) {
      constexpr int at_once = static_cast<int>(larger(most_folds / plan.threads, 1));
      return combined_moments<at_once>(line, FoldedParts<plan, Input, Output>(line, arguments), arguments.share,
                                       arguments.lines.epsilon);
    } else {
      return combined_moments<8>(line, PartsOfLines<plan, lines, Input, Output>(line, arguments), arguments.share,
                                 arguments.lines.epsilon);
    }
  };
  const auto statistics = combined();
#pragma clang loop unroll(full)
  for (float& value : values) value = statistics.normalized(value);
  LineStore<plan, Input, Output, Epilogue>(line, arguments.lines, epilogue).store(begin, values);
}

// The same two after a product, whose epilogue is the inner one.
template <LinePlan plan, int64_t lines, class Arguments, class Inner, class Epilogue>
__device__ inline void fold_moments(const Arguments& arguments, const Inner& /*inner*/, const Epilogue& epilogue) {
  fold_moments<plan, lines>(arguments.lines, epilogue);
}
template <LinePlan plan, int64_t lines, bool are_folded, class Arguments, class Inner, class Epilogue>
__device__ inline void normalized_chunks(const Arguments& arguments, const Inner& /*inner*/, const Epilogue& epilogue) {
  normalized_chunks<plan, lines, are_folded>(arguments.lines, epilogue);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
