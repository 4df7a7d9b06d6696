// The contract of the compiler, the host and the kernels of normalised lines. Pure functions.
#pragma once

#include "kernels/hip/wave/divisor.h"
#include "kernels/hip/wave/launch.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// A line's statistics: its maximum and the sum of the exponentials; the mean and the variance; the mean of the squares.
enum class LineKind : uint8_t { softmax, log_softmax, moments, mean_square };

// A buffer of its own; part of another one in which a line lies as it would in its own; one in which each element is
// found by all strides.
enum class LineMemory : uint8_t { whole, part, cut };

// The axes of a tensor in the order that they have in memory; those missing at the end are 1.
struct LineSizes {
  static constexpr int most_axes = 6;

  int64_t extents[most_axes];
  int64_t channels;  // of a tensor in blocks of channels
};

// The strides of these axes in elements, of a part of another buffer.
struct LineView {
  int64_t strides[LineSizes::most_axes];
};

struct LineLaunch {
  int64_t outer, columns, inner;
  Divisor inner_tiles, chunks;
  Divisor parts;         // in which the statistics of a line in chunks are put together
  int64_t part_columns;  // of a part but the last
  Divisor extents[LineSizes::most_axes];

  // With parts of another length.
  constexpr LineLaunch in_parts(int64_t length) const {
    LineLaunch result = *this;
    result.parts = Divisor::of(divide_up(columns, length));
    result.part_columns = length;
    return result;
  }
};

// The values kept for a part of a line: the rounded mean, what the rounding lost, and the sum of the squares of the
// differences from the mean. A folded part also has the number of its elements.
inline constexpr int64_t partial_values = 3, folded_values = 4;
inline constexpr int64_t most_folds = 32;  // what the parts of a line are folded to
// The room that they take after a line's parts, in parts.
inline constexpr int64_t folded_parts = divide_up(most_folds * folded_values, partial_values);

// How a launch folds the parts of each line's statistics before every block of the last kernel puts them together.
struct MomentFolds {
  Divisor count;  // of a line
  int64_t parts;  // of a fold but the last; 0: the parts stay as they are
};

// A line runs along the axes that are normalised together; the outer axes in front of these and the inner ones after
// them count lines. A block of 256 threads has `lanes` adjacent lines along the inner axes, times as many along the
// outer axes as leave `threads` for each line. The template argument of the kernels.
struct LinePlan {
  LineKind kind;
  int outer_axes, line_axes;
  int64_t columns = 0;      // of a line; 0: only a run knows
  int64_t lanes = 1;        // a power of two; 1: lines are contiguous
  int64_t threads = 1;      // of a line; a power of two
  int64_t vector = 1;       // elements that a thread loads at once, of contiguous lines with known columns
  int64_t held = 1;         // loads of a thread that are kept in registers
  int64_t group_lanes = 1;  // neighbouring lines with common statistics
  // Blocks of 16 channels: the last of the outer axes counts blocks, the inner axis is the lanes of a block.
  bool is_blocked = false;
  LineMemory input = LineMemory::whole, output = LineMemory::whole;
  bool is_wide = false;  // a thread's offsets have 64 bits

  constexpr bool operator==(const LinePlan&) const = default;

  constexpr int64_t lines_a_block() const { return nest_threads / (lanes * threads); }  // along the outer axes
  // Elements of a line that a block holds at once.
  constexpr int64_t capacity() const { return threads * vector * held; }
  constexpr bool always_fits() const { return columns > 0 && columns <= capacity(); }
  // Wavefronts that share a line exchange two numbers for each thread.
  constexpr bool uses_lds(const GpuMachine& gpu) const { return threads > 1 && lanes * threads > gpu.wave_lanes; }
  constexpr int64_t lds_bytes(const GpuMachine& gpu) const { return uses_lds(gpu) ? 2 * nest_threads * 4 : 0; }

  static constexpr int64_t product(const LineSizes& sizes, int first, int end) {
    int64_t result = 1;
    for (int axis = first; axis < end; ++axis) result *= sizes.extents[axis];
    return result;
  }
  constexpr int64_t outer(const LineSizes& sizes) const { return product(sizes, 0, outer_axes); }
  constexpr int64_t line_columns(const LineSizes& sizes) const {
    return product(sizes, outer_axes, outer_axes + line_axes);
  }
  constexpr int64_t inner(const LineSizes& sizes) const {
    return product(sizes, outer_axes + line_axes, LineSizes::most_axes);
  }

  constexpr int64_t inner_tiles(const LineSizes& sizes) const { return divide_up(inner(sizes), lanes); }
  constexpr int64_t tiles(const LineSizes& sizes) const {
    return divide_up(outer(sizes), lines_a_block()) * inner_tiles(sizes);
  }
  constexpr int64_t chunks(const LineSizes& sizes) const { return divide_up(line_columns(sizes), capacity()); }
  // A line in chunks has its statistics in parts of some chunks each: every block puts all parts of its lines together.
  constexpr int64_t most_parts() const { return 8 * threads; }
  constexpr int64_t part_chunks(const LineSizes& sizes) const {
    return larger(divide_up(chunks(sizes), most_parts()), 1);
  }
  constexpr int64_t parts(const LineSizes& sizes) const { return divide_up(chunks(sizes), part_chunks(sizes)); }

  // Cycles of the busiest compute unit while each block of the last kernel reads so many parts: cache lines of L1; 16
  // channels fill a half of one with each value, and contiguous lines fill all of one with those of the next parts.
  constexpr double moment_cycles(const LineSizes& sizes, int64_t parts, int64_t values, const GpuMachine& gpu) const {
    const double bytes = static_cast<double>(values * smaller(cache_line_bytes, lanes * values * 4));
    const auto rounds = static_cast<double>(divide_up(tiles(sizes) * chunks(sizes), gpu.compute_units));
    return rounds * static_cast<double>(parts) * machine::cycles_for(bytes, gpu.l1_bytes_a_cycle);
  }
  // Whether that many parts, of all `lines` with common statistics, are worth a launch that folds them, and how. Its
  // blocks load eight parts a thread at once, from the second-level cache.
  constexpr MomentFolds moment_folds(const LineSizes& sizes, int64_t parts, int64_t lines,
                                     const GpuMachine& gpu) const {
    constexpr double load_cycles = 500;
    const double launch_cycles = launch_microseconds * gpu.clock_megahertz;
    if (is_empty(sizes) || !fits(sizes)) return {Divisor::of(1), 0};
    const int64_t all = parts * lines, length = divide_up(all, most_folds), count = divide_up(all, length);
    const double loads = static_cast<double>(divide_up(length, 8 * threads)) *
                         static_cast<double>(divide_up(tiles(sizes) * count, 8 * int64_t{gpu.compute_units}));
    const double folded = launch_cycles + loads * load_cycles + moment_cycles(sizes, most_folds, folded_values, gpu);
    const bool pays = moment_cycles(sizes, all, partial_values, gpu) > folded;
    return {Divisor::of(count), pays ? length : 0};
  }

  // Lines are counted in 31 bits.
  static constexpr int64_t most_counted = int64_t{1} << 30;
  // Whether 32 bits count the bytes from the first to the last of a block's lines, of so many columns each and so many
  // elements between two of them.
  constexpr bool is_narrow(int64_t line, int64_t behind) const {
    return line <= (most_counted / lines_a_block() - 1) / larger(behind, 1);
  }
  constexpr bool fits(const LineSizes& sizes) const {
    constexpr int64_t most = most_counted;
    const int64_t lines = line_columns(sizes), behind = inner(sizes), count = tiles(sizes);
    return outer(sizes) < most && lines < most && behind < most && (is_wide || is_narrow(lines, behind)) &&
           count <= most_launch_blocks && (count == 0 || chunks(sizes) <= most_launch_blocks / count);
  }
  constexpr bool is_empty(const LineSizes& sizes) const { return product(sizes, 0, LineSizes::most_axes) == 0; }
  // Not possible if the sizes do not fit.
  constexpr int64_t blocks(const LineSizes& sizes) const {
    if (is_empty(sizes)) return 0;
    return fits(sizes) ? tiles(sizes) : INT64_MAX;
  }
  // Those of the kernels of a line in parts and in chunks, one for each.
  constexpr int64_t part_blocks(const LineSizes& sizes) const {
    if (is_empty(sizes)) return 0;
    return fits(sizes) ? tiles(sizes) * parts(sizes) : INT64_MAX;
  }
  constexpr int64_t chunk_blocks(const LineSizes& sizes) const {
    if (is_empty(sizes)) return 0;
    return fits(sizes) ? tiles(sizes) * chunks(sizes) : INT64_MAX;
  }

  // For the last kernel, with lines whose parts were folded or not, and for the one that folds them.
  template <class Chunks>
  constexpr int64_t chunk_blocks(const Chunks& chunks, bool are_folded) const {
    return are_folded == (chunks.folds.parts > 0) ? chunk_blocks(chunks.lines.sizes) : 0;
  }
  template <class Chunks>
  constexpr int64_t fold_blocks(const Chunks& chunks) const {
    return chunks.folds.parts > 0 ? blocks(chunks.lines.sizes) * chunks.folds.count.divisor : 0;
  }

  // The share of an element in the statistics of so many lines.
  constexpr double share(const LineSizes& sizes, int64_t lines) const {
    return 1.0 / static_cast<double>(larger(lines * line_columns(sizes), 1));
  }

  constexpr LineLaunch launch(const LineSizes& sizes) const {
    LineLaunch result = {outer(sizes),
                         line_columns(sizes),
                         inner(sizes),
                         Divisor::of(inner_tiles(sizes)),
                         Divisor::of(chunks(sizes)),
                         Divisor::of(parts(sizes)),
                         part_chunks(sizes) * capacity(),
                         {}};
    for (int axis = 0; axis < LineSizes::most_axes; ++axis) result.extents[axis] = Divisor::of(sizes.extents[axis]);
    return result;
  }
};

template <class Input, class Output>
struct LineArguments {
  const Input* input;
  Output* output;
  float epsilon;  // is added to the variance, or to the mean of the squares
  LineSizes sizes;
  LineLaunch launch;
  LineView input_view, output_view;
};

// For lines in chunks.
template <class Input, class Output>
struct ChunkArguments {
  LineArguments<Input, Output> lines;
  float* partial;  // [outer][part][value][lane], then [outer][fold][value][lane]
  double share;    // of an element in its line's statistics
  MomentFolds folds;
};

}  // namespace onnxc::kernels
