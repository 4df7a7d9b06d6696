// Softmax, LogSoftmax and normalisations by mean and variance or by the mean of squares, over rows that lie anywhere in
// a tensor; stored as float, float16 or bfloat16, computed in float32.
//
// Problem: a row's statistics depend on all its elements, and each element is then read again to be normalised: as loop
// nests this is two to four reads from memory and as many launches.
//
// Method: a block of threads holds its rows in registers, reads them once and stores them once, with the epilogue.
// Short rows share a wavefront, whose lanes exchange partial results; rows of more than a few hundred elements have
// several wavefronts, which exchange them through LDS. Where rows are not contiguous the lanes are neighbouring rows,
// so that each load is of whole cache lines: the 16 channels of a block, or the axes behind a softmax's. The mean comes
// first, then the differences from it, whose own mean corrects the first one's rounding, and their squares. A row
// longer than a block holds is read twice: chunk after chunk for its statistics, then backwards, since the last chunks
// are still in the caches.
//
// Few long rows would leave most compute units idle: there a first kernel reduces one chunk a block, a second kernel
// combines the chunks in order, in double, and loop nests do the rest (moments).
//
// Bound by: memory, one read and one store of each element; small tensors by the latency of loads and reductions.
// Limits: 2^30 rows, and as many elements a row.
#pragma once

#include "kernels/hip/memory_bound/row_geometry.h"
#include "kernels/hip/wave/nest.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Elements that are loaded or stored at once.
template <class T, int count>
struct alignas(sizeof(T) * count) ElementVector {
  T values[count];
};

template <RowPlan plan, class Input>
class Row {
 public:
  static constexpr auto lanes = static_cast<int>(plan.lanes), threads = static_cast<int>(plan.threads),
                        vector = static_cast<int>(plan.vector), held = static_cast<int>(plan.held);
  static constexpr int count = held * vector;
  static constexpr auto capacity = static_cast<int32_t>(plan.capacity());

  int32_t outer, inner;  // the row
  bool is_real;          // threads behind the last row compute that one once more
  int32_t columns;

  __device__ Row(const Input* input, const RowLaunch& launch, uint32_t tile) {
    const int thread = thread_index();
    lane_ = thread % lanes;
    first_ = thread / lanes % threads;
    columns = plan.columns > 0 ? static_cast<int32_t>(plan.columns) : static_cast<int32_t>(launch.columns);
    const auto behind = lanes == 1 ? 1 : plan.is_blocked ? lanes : static_cast<int32_t>(launch.inner);
    const int32_t first_outer =
        static_cast<int32_t>(launch.inner_tiles.quotient(tile)) * static_cast<int32_t>(plan.rows_a_block());
    // Those of the block, and of these the thread's.
    const int32_t rows = static_cast<int32_t>(launch.outer) - first_outer, row = thread / (lanes * threads);
    outer = row < rows ? row : rows - 1;
    inner = static_cast<int32_t>(launch.inner_tiles.remainder(tile)) * lanes + lane_;
    is_real = (row < rows) & (inner < behind);
    inner = inner < behind ? inner : behind - 1;
    stride_ = static_cast<uint32_t>(behind);
    block_ = static_cast<int64_t>(first_outer) * columns * behind;
    in_block_ = static_cast<uint32_t>(outer * columns * behind + inner);
    outer += first_outer;
    input_ = reinterpret_cast<const char*>(input + block_);
  }

  // The byte offset of an element from the block's first: the thread's own part of its address. Between two uses of a
  // set of offsets it is cheaper to compute them anew than to keep them in registers that the row needs: the compiler
  // must not see that they are the same.
  __device__ uint32_t offsets_from() const {
    uint32_t first = in_block_;
    asm volatile("" : "+v"(first));
    return first;
  }
  template <class T>
  __device__ uint32_t offset(uint32_t first, int32_t at) const {
    return (first + static_cast<uint32_t>(at) * stride_) * static_cast<uint32_t>(sizeof(T));
  }
  __device__ int64_t first_of_block() const { return block_; }
  // The first of the elements that a thread loads at once.
  __device__ int32_t column(int32_t begin, int load) const { return begin + (load * threads + first_) * vector; }
  __device__ bool is_inside(int32_t begin, int load) const { return column(begin, load) < columns; }
  __device__ bool is_first_thread() const { return first_ == 0; }

  // An element behind the end of the row is read from its end, so that no load needs a branch.
  __device__ void load(int32_t begin, float (&values)[count]) const {
    const uint32_t first = offsets_from();
#pragma clang loop unroll(full)
    for (int i = 0; i < held; ++i) {
      const int32_t at = column(begin, i), last = columns - vector;
      ElementVector<Input, vector> loaded;
      __builtin_memcpy(&loaded, input_ + offset<Input>(first, at < last ? at : last), sizeof loaded);
#pragma clang loop unroll(full)
      for (int j = 0; j < vector; ++j) values[i * vector + j] = static_cast<float>(loaded.values[j]);
    }
  }

  // Sets the elements behind the end.
  __device__ void pad(int32_t begin, float padding, float (&values)[count]) const {
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i) values[i] = is_inside(begin, i / vector) ? values[i] : padding;
  }

  template <class Term>
  __device__ static float sum(const float (&values)[count], const Term& term) {
    constexpr int chains = count < 4 ? count : 4;  // so that no sum waits for the last
    float sums[chains];
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; ++i) sums[i] = term(values[i]);
#pragma clang loop unroll(full)
    for (int i = chains; i < count; ++i) sums[i % chains] += term(values[i]);
    for (int i = 1; i < chains; ++i) sums[0] += sums[i];
    return sums[0];
  }
  __device__ static float sum(const float (&values)[count]) {
    return sum(values, [](float value) { return value; });
  }
  __device__ static float largest(const float (&values)[count]) {
    float result = values[0];
#pragma clang loop unroll(full)
    for (int i = 1; i < count; ++i) result = __builtin_fmaxf(result, values[i]);
    return result;
  }

  // Reduces the values of all threads of the row, and of the rows with common statistics, to one.
  template <int values_count, class Fold>
  __device__ void fold(float (&values)[values_count], const Fold& fold) const {
    constexpr int wave = 64, row_threads = lanes * threads;
#pragma clang loop unroll(full)
    for (float& value : values) {
      value = fold_lanes<1, static_cast<int>(plan.group_lanes)>(value, fold);
      value = fold_lanes < lanes, row_threads<wave ? row_threads : wave>(value, fold);
    }
    if constexpr (plan.uses_lds()) {
      float(&partial)[2][nest_threads] = exchanged();
      constexpr int part_threads = lanes < wave ? wave : lanes;
      const int thread = thread_index(), begin = thread / row_threads * row_threads + lane_;
      barrier();  // the block may still be reading what an earlier call left
#pragma clang loop unroll(full)
      for (int i = 0; i < values_count; ++i) partial[i][thread] = values[i];
      barrier();
#pragma clang loop unroll(full)
      for (int i = 0; i < values_count; ++i) {
        values[i] = partial[i][begin];
#pragma clang loop unroll(full)
        for (int part = 1; part < row_threads / part_threads; ++part)
          values[i] = fold(values[i], partial[i][begin + part * part_threads]);
      }
    }
  }
  __device__ float fold_sum(float value) const {
    float values[] = {value};
    fold(values, [](float a, float b) { return a + b; });
    return values[0];
  }
  __device__ float fold_largest(float value) const {
    float values[] = {value};
    fold(values, [](float a, float b) { return __builtin_fmaxf(a, b); });
    return values[0];
  }

  struct ChunkMoments {
    float mean, differences, squares;  // the last two are sums
  };
  // Leaves the differences from the mean in the values, and 0 behind the end; `elements` of the rows that have common
  // statistics count.
  __device__ ChunkMoments chunk_moments(int32_t begin, float elements, float (&values)[count]) const {
    pad(begin, 0.0f, values);
    const float mean = fold_sum(sum(values)) / elements;
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i) values[i] -= mean;
    pad(begin, 0.0f, values);
    float sums[] = {sum(values), sum(values, [](float value) { return value * value; })};
    fold(sums, [](float a, float b) { return a + b; });
    return {mean, sums[0], sums[1]};
  }
  // Elements of the rows that have common statistics.
  __device__ float elements(int32_t begin) const {
    const int32_t rest = columns - begin;
    return static_cast<float>((rest < capacity ? rest : capacity) * static_cast<int32_t>(plan.group_lanes));
  }

 private:
  // One place in LDS for every fold.
  __device__ static float (&exchanged())[2][nest_threads] {
    __shared__ float partial[2][nest_threads];
    static_assert(sizeof partial == plan.lds_bytes());
    return partial;
  }

  const char* input_;  // of the block
  int lane_, first_;
  int64_t block_;
  uint32_t in_block_, stride_;
};

// All of it, of a row that is held.
template <class Statistics, class R>
__device__ void add_and_normalize(Statistics& statistics, const R& row, float (&values)[R::count], float epsilon) {
  statistics.add(row, 0, values, epsilon);
  statistics.finish(epsilon);
#pragma clang loop unroll(full)
  for (int i = 0; i < R::count; ++i) values[i] = statistics.normalized(values[i]);
}

// The statistics of rows of a kind, accumulated chunk after chunk.
template <RowKind kind>
struct RowStatistics;

struct SoftmaxStatistics {
  float largest = -__builtin_inff(), sum = 0.0f;

  template <class R>
  __device__ void add(const R& row, int32_t begin, float (&values)[R::count], float /*epsilon*/) {
    row.pad(begin, -__builtin_inff(), values);
    const float chunk_largest = row.fold_largest(R::largest(values));
    const float now = __builtin_fmaxf(largest, chunk_largest);
    // Elements that are all -inf so far add nothing; a whole row of them ends as NaN.
    const float reference = now == -__builtin_inff() ? 0.0f : now;
    const float powers = row.fold_sum(R::sum(values, [&](float value) { return exponential(value - reference); }));
    sum = (largest == now ? sum : sum * exponential(largest - now)) + powers;
    largest = now;
  }
};

template <>
struct RowStatistics<RowKind::softmax> : SoftmaxStatistics {
  float factor;

  __device__ void finish(float /*epsilon*/) { factor = 1.0f / sum; }
  __device__ float normalized(float value) const { return exponential(value - largest) * factor; }

  template <class R>
  __device__ void normalize(const R& row, float (&values)[R::count], float /*epsilon*/) {
    row.pad(0, -__builtin_inff(), values);
    largest = row.fold_largest(R::largest(values));
#pragma clang loop unroll(full)
    for (int i = 0; i < R::count; ++i) values[i] = exponential(values[i] - largest);
    row.pad(0, 0.0f, values);
    const float inverse = 1.0f / row.fold_sum(R::sum(values));
#pragma clang loop unroll(full)
    for (int i = 0; i < R::count; ++i) values[i] *= inverse;
  }
};

template <>
struct RowStatistics<RowKind::log_softmax> : SoftmaxStatistics {
  float shift;

  __device__ void finish(float /*epsilon*/) { shift = logarithm(sum); }
  __device__ float normalized(float value) const { return value - largest - shift; }

  template <class R>
  __device__ void normalize(const R& row, float (&values)[R::count], float epsilon) {
    add_and_normalize(*this, row, values, epsilon);
  }
};

template <>
struct RowStatistics<RowKind::moments> {
  double count = 0.0, whole_mean = 0.0, squares = 0.0;
  float mean, residue, factor;

  template <class R>
  __device__ void add(const R& row, int32_t begin, float (&values)[R::count], float /*epsilon*/) {
    const float elements = row.elements(begin);
    const auto chunk = row.chunk_moments(begin, elements, values);
    const double more = static_cast<double>(elements), differences = static_cast<double>(chunk.differences),
                 shift = static_cast<double>(chunk.mean) + differences / more - whole_mean;
    squares += static_cast<double>(chunk.squares) - differences * differences / more +
               shift * shift * count * more / (count + more);
    count += more;
    whole_mean += shift * more / count;
  }
  __device__ void finish(float epsilon) {
    mean = static_cast<float>(whole_mean);
    residue = static_cast<float>(whole_mean - static_cast<double>(mean));
    factor = 1.0f / square_root(static_cast<float>(squares / count) + epsilon);
  }
  __device__ float normalized(float value) const { return ((value - mean) - residue) * factor; }

  template <class R>
  __device__ void normalize(const R& row, float (&values)[R::count], float epsilon) {
    const float elements = row.elements(0);
    const auto moments = row.chunk_moments(0, elements, values);
    residue = moments.differences / elements;
    factor = 1.0f / square_root(moments.squares / elements - residue * residue + epsilon);
#pragma clang loop unroll(full)
    for (int i = 0; i < R::count; ++i) values[i] = (values[i] - residue) * factor;
  }
};

template <>
struct RowStatistics<RowKind::mean_square> {
  float squares = 0.0f, count = 0.0f, factor;

  template <class R>
  __device__ void add(const R& row, int32_t begin, float (&values)[R::count], float /*epsilon*/) {
    row.pad(begin, 0.0f, values);
    squares += row.fold_sum(R::sum(values, [](float value) { return value * value; }));
    count += row.elements(begin);
  }
  __device__ void finish(float epsilon) { factor = 1.0f / square_root(squares / count + epsilon); }
  __device__ float normalized(float value) const { return value * factor; }

  template <class R>
  __device__ void normalize(const R& row, float (&values)[R::count], float epsilon) {
    add_and_normalize(*this, row, values, epsilon);
  }
};

// Stores normalised elements of a row with the epilogue.
template <RowPlan plan, class Input, class Output, class Epilogue>
class RowStore {
 public:
  using R = Row<plan, Input>;

  __device__ RowStore(const R& row, const RowArguments<Input, Output>& arguments, const Epilogue& epilogue)
      : row_(row),
        arguments_(arguments),
        epilogue_(epilogue),
        output_(reinterpret_cast<char*>(arguments.output + row.first_of_block())) {
    place<0, plan.outer_axes>(static_cast<uint32_t>(row.outer), at_);
    place<plan.outer_axes + plan.row_axes, RowSizes::most_axes>(static_cast<uint32_t>(row.inner), at_);
    if constexpr (plan.is_blocked) {
      // Lanes that pad the last block of channels compute what the last channel does, and store zeros.
      const int64_t left = arguments.sizes.channels - at_[plan.outer_axes - 1] * plan.lanes;
      is_channel_ = row.inner < left;
      at_[plan.outer_axes + plan.row_axes] = is_channel_ ? row.inner : left - 1;
    }
  }

  // All elements first, then the stores: behind a store the compiler would load again what the epilogue reads.
  __device__ void store(int32_t begin, float (&values)[R::count]) {
#pragma clang loop unroll(full)
    for (int i = 0; i < R::count; ++i) {
      const int32_t column = row_.column(begin, i / R::vector) + i % R::vector, last = row_.columns - 1;
      place<plan.outer_axes, plan.outer_axes + plan.row_axes>(static_cast<uint32_t>(column < last ? column : last),
                                                              at_);
      const float value = epilogue_(values[i], at_[0], at_[1], at_[2], at_[3], at_[4], at_[5]);
      values[i] = is_channel_ ? value : 0.0f;
    }
    const uint32_t first = row_.offsets_from();
#pragma clang loop unroll(full)
    for (int i = 0; i < R::held; ++i) {
      ElementVector<Output, R::vector> stored;
#pragma clang loop unroll(full)
      for (int j = 0; j < R::vector; ++j) stored.values[j] = static_cast<Output>(values[i * R::vector + j]);
      if (row_.is_real & row_.is_inside(begin, i))
        __builtin_memcpy(output_ + row_.template offset<Output>(first, row_.column(begin, i)), &stored, sizeof stored);
    }
  }

 private:
  // The indices along some axes of the element with this number.
  template <int first, int end>
  __device__ void place(uint32_t number, int64_t (&at)[RowSizes::most_axes]) const {
    if constexpr (first < end) {
#pragma clang loop unroll(full)
      for (int axis = end - 1; axis > first; --axis) {
        const uint32_t rest = arguments_.launch.extents[axis].quotient(number);
        at[axis] = number - rest * arguments_.launch.extents[axis].divisor;
        number = rest;
      }
      at[first] = number;
    }
  }

  const R& row_;
  const RowArguments<Input, Output>& arguments_;
  const Epilogue& epilogue_;
  char* const output_;  // of the block
  int64_t at_[RowSizes::most_axes] = {};
  bool is_channel_ = true;
};

template <RowPlan plan, class Input, class Output, class Epilogue>
__device__ inline void normalized_rows(const RowArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using R = Row<plan, Input>;
  const R row(arguments.input, arguments.launch, static_cast<uint32_t>(block_index()));
  RowStore<plan, Input, Output, Epilogue> output(row, arguments, epilogue);
  RowStatistics<plan.kind> statistics;
  float values[R::count];
  if (plan.always_fits() || row.columns <= R::capacity) {
    row.load(0, values);
    statistics.normalize(row, values, arguments.epsilon);
    output.store(0, values);
  } else if constexpr (!plan.always_fits()) {
    int32_t begin = 0;
#pragma clang loop unroll(disable)
    for (; begin < row.columns; begin += R::capacity) {
      row.load(begin, values);
      statistics.add(row, begin, values, arguments.epsilon);
    }
    statistics.finish(arguments.epsilon);
#pragma clang loop unroll(disable)
    while (begin > 0) {
      begin -= R::capacity;
      row.load(begin, values);
#pragma clang loop unroll(full)
      for (int i = 0; i < R::count; ++i) values[i] = statistics.normalized(values[i]);
      output.store(begin, values);
    }
  }
}

// ---- moments of few long rows

template <RowPlan plan, class Input, class Epilogue>
__device__ inline void partial_moments(const MomentsArguments<Input>& arguments, const Epilogue& /*epilogue*/) {
  using R = Row<plan, Input>;
  const RowLaunch& launch = arguments.launch;
  const auto block = static_cast<uint32_t>(block_index());
  const R row(arguments.input, launch, launch.chunks.quotient(block));
  const auto chunk = static_cast<int32_t>(launch.chunks.remainder(block));
  const int32_t begin = chunk * R::capacity;
  float values[R::count];
  row.load(begin, values);
  const auto moments = row.chunk_moments(begin, row.elements(begin), values);
  if (!(row.is_first_thread() & row.is_real)) return;
  const int64_t number = row.outer * static_cast<int64_t>(launch.chunks.divisor) + chunk;
  float* const partial = arguments.partial + number * partial_values * launch.inner + row.inner;
  partial[0] = moments.mean;
  partial[launch.inner] = moments.differences;
  partial[2 * launch.inner] = moments.squares;
}

// A block for each group of an image, which is a row, or in blocks of channels one or more of these.
template <RowPlan plan, class Input, class Epilogue>
__device__ inline void combine_moments(const MomentsArguments<Input>& arguments, const Epilogue& epilogue) {
  const RowLaunch& launch = arguments.launch;
  const int64_t place = block_index(), chunks = launch.chunks.divisor;
  const int64_t image = quotient(place, arguments.groups), group = place - image * arguments.groups;
  const int64_t rows = plan.is_blocked ? quotient(arguments.sizes.channels, arguments.groups) : 1;
  // visit(elements, mean, sum of differences, sum of squares) for each chunk of the thread's.
  auto for_each_chunk = [&](const auto& visit) {
    for (int64_t i = thread_index(); i < rows * chunks; i += nest_threads) {
      const auto which = static_cast<uint32_t>(i);
      const int64_t channel = group * rows + launch.chunks.quotient(which), chunk = launch.chunks.remainder(which);
      const int64_t outer =
          plan.is_blocked ? image * arguments.sizes.extents[plan.outer_axes - 1] + channel / plan.lanes : place;
      const float* const partial = arguments.partial + (outer * chunks + chunk) * partial_values * launch.inner +
                                   (plan.is_blocked ? channel % plan.lanes : 0);
      const int64_t rest = launch.columns - chunk * plan.capacity();
      visit(static_cast<double>(rest < plan.capacity() ? rest : plan.capacity()), static_cast<double>(partial[0]),
            static_cast<double>(partial[launch.inner]), static_cast<double>(partial[2 * launch.inner]));
    }
  };
  auto add = [](double a, double b) { return a + b; };
  const double count = static_cast<double>(rows * launch.columns);
  double sum = 0.0;
  for_each_chunk(
      [&](double elements, double mean, double differences, double) { sum += elements * mean + differences; });
  const double whole_mean = fold_block(sum, add) / count;
  double squares = 0.0;
  for_each_chunk([&](double elements, double mean, double differences, double chunk_squares) {
    const double shift = mean - whole_mean;
    squares += chunk_squares + shift * (2.0 * differences + elements * shift);
  });
  squares = fold_block(squares, add);
  if (thread_index() != 0) return;
  const auto rounded = static_cast<float>(whole_mean);
  const int64_t all = arguments.images * arguments.groups;
  arguments.moments[place] = epilogue(rounded, 0, image, group, 0, 0, 0);
  arguments.moments[all + place] =
      epilogue(static_cast<float>(whole_mean - static_cast<double>(rounded)), 1, image, group, 0, 0, 0);
  arguments.moments[2 * all + place] = epilogue(static_cast<float>(squares / count), 2, image, group, 0, 0, 0);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
