// Softmax, LogSoftmax and normalisations by mean and variance or by the mean of squares, over lines that lie anywhere
// in a tensor; stored as float, float16 or bfloat16, computed in float32.
//
// Problem: a line's statistics depend on all its elements, and each element is then read again to be normalised: as
// loop nests this is two to four reads from memory and as many launches.
//
// Method: a block of threads holds its lines in registers, reads them once and stores them once, with the epilogue.
// Short lines share a wavefront, whose lanes exchange partial results; lines of more than a few hundred elements have
// several wavefronts, which exchange them through LDS. If lines are not contiguous the lanes are neighbouring lines, so
// that each load is of whole cache lines: the 16 channels of a block, or the axes after a softmax's. The mean comes
// first, then the differences from it, whose own mean corrects the first one's rounding, and their squares. A line
// longer than a block holds is read twice: chunk after chunk for its statistics, then backwards, since the last chunks
// are still in the caches.
//
// Few long lines would leave most compute units idle: normalized_chunks.h.
//
// Bound by: memory, one read and one store of each element; small tensors by the latency of loads and reductions.
// Limits: 2^30 lines, and as many elements a line.
//
// A thread's place is an offset from its block's first element: of 32 bits, or of 64 if the plan is wide. Then a load
// takes two more instructions of the vector unit, which memory leaves idle.
#pragma once

#include "kernels/hip/memory_bound/line_geometry.h"
#include "kernels/hip/wave/nest.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Elements that are loaded or stored at once. They lie at multiples of their size: lines are whole vectors, and a
// buffer begins at 16 bytes at least. A copy of bytes would not say so, and cost an access a byte on hardware that does
// not take any address.
template <class T, int count>
struct alignas(sizeof(T) * count) ElementVector {
  T values[count];
};

template <bool is_wide>
struct LineOffset {
  using Type = uint32_t;
};
template <>
struct LineOffset<true> {
  using Type = uint64_t;
};

template <LinePlan plan, class Input>
class Line {
 public:
  static constexpr auto lanes = static_cast<int>(plan.lanes), threads = static_cast<int>(plan.threads),
                        vector = static_cast<int>(plan.vector), held = static_cast<int>(plan.held);
  static constexpr int count = held * vector;
  using Offset = typename LineOffset<plan.is_wide>::Type;
  static constexpr auto capacity = static_cast<int32_t>(plan.capacity());

  int32_t outer, inner;  // the line
  bool is_real;          // threads past the last line compute that one once more
  int32_t columns;

  template <class Arguments>
  __device__ Line(const Arguments& arguments, uint32_t tile) : launch_(arguments.launch), view_(arguments.input_view) {
    const LineLaunch& launch = launch_;
    const int thread = thread_index();
    lane_ = thread % lanes;
    first_ = thread / lanes % threads;
    columns = plan.columns > 0 ? static_cast<int32_t>(plan.columns) : static_cast<int32_t>(launch.columns);
    const auto behind = lanes == 1 ? 1 : plan.is_blocked ? lanes : static_cast<int32_t>(launch.inner);
    const int32_t first_outer =
        static_cast<int32_t>(launch.inner_tiles.quotient(tile)) * static_cast<int32_t>(plan.lines_a_block());
    // Those of the block, and of these the thread's.
    const int32_t lines = static_cast<int32_t>(launch.outer) - first_outer, line = thread / (lanes * threads);
    outer = line < lines ? line : lines - 1;
    inner = static_cast<int32_t>(launch.inner_tiles.remainder(tile)) * lanes + lane_;
    is_real = (line < lines) & (inner < behind);
    inner = inner < behind ? inner : behind - 1;
    stride_ = static_cast<uint32_t>(behind);
    block_ = static_cast<int64_t>(first_outer) * columns * behind;
    in_block_ = static_cast<Offset>(outer) * static_cast<Offset>(columns) * static_cast<Offset>(behind) +
                static_cast<Offset>(inner);
    outer += first_outer;
    int64_t input = block_;
    if constexpr (plan.input != LineMemory::whole) {
      int64_t at[LineSizes::most_axes] = {};
      place_line(at);
      input = offset_of_line(at, view_);
    }
    input_ = reinterpret_cast<const char*>(arguments.input + input);
  }

  // The indices along some axes of the element with this number.
  template <int first, int end>
  __device__ void place(uint32_t number, int64_t (&at)[LineSizes::most_axes]) const {
    if constexpr (first < end) {
#pragma clang loop unroll(full)
      for (int axis = end - 1; axis > first; --axis) {
        const uint32_t rest = launch_.extents[axis].quotient(number);
        at[axis] = number - rest * launch_.extents[axis].divisor;
        number = rest;
      }
      at[first] = number;
    }
  }
  static constexpr int line_end = plan.outer_axes + plan.line_axes;
  // Those of the line itself, and those of one of its elements.
  __device__ void place_line(int64_t (&at)[LineSizes::most_axes]) const {
    place<0, plan.outer_axes>(static_cast<uint32_t>(outer), at);
    place<line_end, LineSizes::most_axes>(static_cast<uint32_t>(inner), at);
  }
  __device__ void place_column(int32_t column, int64_t (&at)[LineSizes::most_axes]) const {
    place<plan.outer_axes, line_end>(static_cast<uint32_t>(column), at);
  }
  // The offsets in a part of a buffer: of the line, and of an element from there.
  template <int first, int end>
  __device__ static int64_t offset_along(const int64_t (&at)[LineSizes::most_axes], const LineView& view) {
    int64_t offset = 0;
#pragma clang loop unroll(full)
    for (int axis = first; axis < end; ++axis) offset += at[axis] * view.strides[axis];
    return offset;
  }
  __device__ static int64_t offset_of_line(const int64_t (&at)[LineSizes::most_axes], const LineView& view) {
    return offset_along<0, plan.outer_axes>(at, view) + offset_along<line_end, LineSizes::most_axes>(at, view);
  }
  __device__ static int64_t offset_in_line(const int64_t (&at)[LineSizes::most_axes], const LineView& view) {
    return offset_along<plan.outer_axes, line_end>(at, view);
  }

  // The byte offset of an element from the block's first: the thread's own part of its address. Between two uses of a
  // set of offsets it is cheaper to compute them anew than to keep them in registers that the line needs: the compiler
  // must not see that they are the same.
  __device__ Offset offsets_from() const {
    Offset first = in_block_;
    forget_origin(first);
    return first;
  }
  template <class T>
  __device__ Offset offset(Offset first, int32_t at) const {
    return (first + static_cast<Offset>(static_cast<uint32_t>(at)) * stride_) * static_cast<Offset>(sizeof(T));
  }
  __device__ int64_t first_of_block() const { return block_; }
  // The first of the elements that a thread loads at once.
  __device__ int32_t column(int32_t begin, int load) const { return begin + (load * threads + first_) * vector; }
  __device__ bool is_inside(int32_t begin, int load) const { return column(begin, load) < columns; }
  // Which of the line's threads this is.
  __device__ int32_t thread_of_line() const { return first_; }

  // An element past the end of the line is read from its end, so that no load needs a branch.
  __device__ void load(int32_t begin, float (&values)[count]) const {
    const Offset first = offsets_from();
#pragma clang loop unroll(full)
    for (int i = 0; i < held; ++i) load_at(input_ + offset_of_load(first, begin, i), i, values);
  }
  // The sums of the elements of some tensors of the input's size that lie one after the other, added in their order; of
  // a line that is held, or of a whole chunk of one.
  __device__ void load_sums(int32_t begin, int32_t tensors, int64_t size, float (&values)[count]) const {
    static_assert(plan.input == LineMemory::whole);
    // So many tensors' loads are under way while those of one are added.
    constexpr int ahead = count < 8 ? 8 : count < 64 ? 64 / count : 1;
    // The common part of the threads' offsets is added to the tensor's place, in scalar registers.
    constexpr auto step = static_cast<int64_t>(threads * vector * lanes * sizeof(Input)),
                   loads = plan.always_fits() ? plan.columns / threads / vector : held;
    const Offset first = offsets_from();
    const auto own = static_cast<Offset>(offset_of_load(first, begin, 0)),
               last = static_cast<Offset>(offset_of_load(first, begin, held - 1));
    float loaded[ahead][count];
    // Past the last tensor, load the last one again, so that loads need no branch.
    const auto fetch = [&](int set, int32_t tensor) {
      const char* const input = input_ + (tensor < tensors ? tensor : tensors - 1) * size * int64_t{sizeof(Input)};
#pragma clang loop unroll(full)
      for (int i = 0; i < held; ++i) load_at(i < loads ? input + i * step + own : input + last, i, loaded[set]);
      scheduling_barrier();
    };
#pragma clang loop unroll(full)
    for (float& value : values) value = 0.0f;
#pragma clang loop unroll(full)
    for (int set = 0; set < ahead; ++set) fetch(set, set);
#pragma clang loop unroll(disable)
    for (int32_t tensor = 0; tensor < tensors; tensor += ahead)
#pragma clang loop unroll(full)
      for (int set = 0; set < ahead; ++set) {
        if (tensor + set < tensors)
#pragma clang loop unroll(full)
          for (int i = 0; i < count; ++i) values[i] += loaded[set][i];
        fetch(set, tensor + set + ahead);
      }
  }
  __device__ int64_t offset_of_load(Offset first, int32_t begin, int load) const {
    const int32_t at = column(begin, load), last = columns - vector;
    return offset_at<plan.input, Input>(first, at < last ? at : last, view_);
  }
  __device__ static void load_at(const char* place, int load, float (&values)[count]) {
    const auto loaded = *reinterpret_cast<const ElementVector<Input, vector>*>(place);
#pragma clang loop unroll(full)
    for (int j = 0; j < vector; ++j) values[load * vector + j] = static_cast<float>(loaded.values[j]);
  }

  // The byte offset of an element from where the line or, in a buffer of its own, the block begins.
  template <LineMemory place, class T>
  __device__ int64_t offset_at(Offset first, int32_t at, const LineView& view) const {
    if constexpr (place == LineMemory::whole) return offset<T>(first, at);
    if constexpr (place == LineMemory::part) return offset<T>(0, at);
    int64_t indices[LineSizes::most_axes] = {};
    place_column(at, indices);
    return offset_in_line(indices, view) * static_cast<int64_t>(sizeof(T));
  }

  // Sets the elements past the end.
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

  // Reduces the values of all threads of the line, and of the lines with common statistics, to one.
  template <int values_count, class Fold>
  __device__ void fold(float (&values)[values_count], const Fold& fold) const {
    constexpr int wave = wave_lanes, line_threads = lanes * threads;
#pragma clang loop unroll(full)
    for (float& value : values) {
      value = fold_lanes<1, static_cast<int>(plan.group_lanes)>(value, fold);
      value = fold_lanes < lanes, line_threads<wave ? line_threads : wave>(value, fold);
    }
    if constexpr (plan.uses_lds(own_gpu)) {
      float(&partial)[2][nest_threads] = exchanged();
      constexpr int part_threads = lanes < wave ? wave : lanes;
      const int thread = thread_index(), begin = thread / line_threads * line_threads + lane_;
      barrier();  // the block may still be reading what an earlier call left
#pragma clang loop unroll(full)
      for (int i = 0; i < values_count; ++i) partial[i][thread] = values[i];
      barrier();
#pragma clang loop unroll(full)
      for (int i = 0; i < values_count; ++i) {
        values[i] = partial[i][begin];
#pragma clang loop unroll(full)
        for (int part = 1; part < line_threads / part_threads; ++part)
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
  // Leaves the differences from the mean in the values, and 0 past the end; `elements` of the lines that have common
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
  // Elements of the lines that have common statistics.
  __device__ float elements(int32_t begin) const {
    const int32_t rest = columns - begin;
    return static_cast<float>((rest < capacity ? rest : capacity) * static_cast<int32_t>(plan.group_lanes));
  }

 private:
  // One place in LDS for every fold.
  __device__ static float (&exchanged())[2][nest_threads] {
    __shared__ float partial[2][nest_threads];
    static_assert(sizeof partial == plan.lds_bytes(own_gpu));
    return partial;
  }

  const char* input_;  // of the block, or in a part of another buffer of the line
  int lane_, first_;
  int64_t block_;
  Offset in_block_;
  uint32_t stride_;
  const LineLaunch& launch_;
  const LineView& view_;
};

// All of it, of a line that is held.
template <class Statistics, class L>
__device__ void add_and_normalize(Statistics& statistics, const L& line, float (&values)[L::count], float epsilon) {
  statistics.add(line, 0, values, epsilon);
  statistics.finish(epsilon);
#pragma clang loop unroll(full)
  for (int i = 0; i < L::count; ++i) values[i] = statistics.normalized(values[i]);
}

// Squares less a part of them. If both overflow, so does the result: infinity less infinity would be NaN.
__device__ inline float less_squares(float squares, float part) {
  constexpr float largest = 0x1.fffffep127f;
  return squares - (part < largest ? part : largest);
}

// The statistics of lines of a kind, accumulated chunk after chunk.
template <LineKind kind>
struct LineStatistics;

struct SoftmaxStatistics {
  float largest = -__builtin_inff(), sum = 0.0f;

  template <class L>
  __device__ void add(const L& line, int32_t begin, float (&values)[L::count], float /*epsilon*/) {
    line.pad(begin, -__builtin_inff(), values);
    const float chunk_largest = line.fold_largest(L::largest(values));
    const float now = __builtin_fmaxf(largest, chunk_largest);
    // Elements that are all -inf so far add nothing; a whole line of them ends as NaN.
    const float reference = now == -__builtin_inff() ? 0.0f : now;
    const float powers = line.fold_sum(L::sum(values, [&](float value) { return exponential(value - reference); }));
    sum = (largest == now ? sum : sum * exponential(largest - now)) + powers;
    largest = now;
  }
};

template <>
struct LineStatistics<LineKind::softmax> : SoftmaxStatistics {
  float factor;

  __device__ void finish(float /*epsilon*/) { factor = 1.0f / sum; }
  __device__ float normalized(float value) const { return exponential(value - largest) * factor; }

  template <class L>
  __device__ void normalize(const L& line, float (&values)[L::count], float /*epsilon*/) {
    line.pad(0, -__builtin_inff(), values);
    largest = line.fold_largest(L::largest(values));
#pragma clang loop unroll(full)
    for (int i = 0; i < L::count; ++i) values[i] = exponential(values[i] - largest);
    line.pad(0, 0.0f, values);
    const float inverse = 1.0f / line.fold_sum(L::sum(values));
#pragma clang loop unroll(full)
    for (int i = 0; i < L::count; ++i) values[i] *= inverse;
  }
};

template <>
struct LineStatistics<LineKind::log_softmax> : SoftmaxStatistics {
  float shift;

  __device__ void finish(float /*epsilon*/) { shift = logarithm(sum); }
  __device__ float normalized(float value) const { return value - largest - shift; }

  template <class L>
  __device__ void normalize(const L& line, float (&values)[L::count], float epsilon) {
    add_and_normalize(*this, line, values, epsilon);
  }
};

template <>
struct LineStatistics<LineKind::moments> {
  double count = 0.0, whole_mean = 0.0, squares = 0.0;
  float mean, residue, factor;

  template <class L>
  __device__ void add(const L& line, int32_t begin, float (&values)[L::count], float /*epsilon*/) {
    const float elements = line.elements(begin);
    const auto chunk = line.chunk_moments(begin, elements, values);
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

  template <class L>
  __device__ void normalize(const L& line, float (&values)[L::count], float epsilon) {
    const float elements = line.elements(0);
    const auto moments = line.chunk_moments(0, elements, values);
    residue = moments.differences / elements;
    factor = 1.0f / square_root(less_squares(moments.squares / elements, residue * residue) + epsilon);
#pragma clang loop unroll(full)
    for (int i = 0; i < L::count; ++i) values[i] = (values[i] - residue) * factor;
  }
};

template <>
struct LineStatistics<LineKind::mean_square> {
  float squares = 0.0f, count = 0.0f, factor;

  template <class L>
  __device__ void add(const L& line, int32_t begin, float (&values)[L::count], float /*epsilon*/) {
    line.pad(begin, 0.0f, values);
    squares += line.fold_sum(L::sum(values, [](float value) { return value * value; }));
    count += line.elements(begin);
  }
  __device__ void finish(float epsilon) { factor = 1.0f / square_root(squares / count + epsilon); }
  __device__ float normalized(float value) const { return value * factor; }

  template <class L>
  __device__ void normalize(const L& line, float (&values)[L::count], float epsilon) {
    add_and_normalize(*this, line, values, epsilon);
  }
};

// Stores normalised elements of a line with the epilogue.
template <LinePlan plan, class Input, class Output, class Epilogue>
class LineStore {
 public:
  using L = Line<plan, Input>;

  template <class Arguments>
  __device__ LineStore(const L& line, const Arguments& arguments, const Epilogue& epilogue)
      : line_(line), view_(arguments.output_view), epilogue_(epilogue) {
    line.place_line(at_);
    output_ = reinterpret_cast<char*>(
        arguments.output + (plan.output == LineMemory::whole ? line.first_of_block() : L::offset_of_line(at_, view_)));
    if constexpr (plan.is_blocked) {
      // Lanes that pad the last block of channels compute what the last channel does, and store zeros.
      const int64_t left = arguments.sizes.channels - at_[plan.outer_axes - 1] * plan.lanes;
      is_channel_ = line.inner < left;
      at_[plan.outer_axes + plan.line_axes] = is_channel_ ? line.inner : left - 1;
    }
  }

  // Makes of each value what an epilogue does.
  template <class Function>
  __device__ void apply(const Function& function, int32_t begin, float (&values)[L::count]) {
#pragma clang loop unroll(full)
    for (int i = 0; i < L::count; ++i) {
      const int32_t column = line_.column(begin, i / L::vector) + i % L::vector, last = line_.columns - 1;
      line_.place_column(column < last ? column : last, at_);
      values[i] = function(values[i], at_[0], at_[1], at_[2], at_[3], at_[4], at_[5]);
    }
  }

  // All elements first, then the stores: after a store the compiler would load again what the epilogue reads, or wait
  // for the store together with an earlier load.
  __device__ void store(int32_t begin, float (&values)[L::count]) {
    apply(epilogue_, begin, values);
#pragma clang loop unroll(full)
    for (float& value : values) value = is_channel_ ? value : 0.0f;
#pragma clang loop unroll(full)
    for (float& value : values) forget_origin(value);
    const typename L::Offset first = line_.offsets_from();
#pragma clang loop unroll(full)
    for (int i = 0; i < L::held; ++i) {
      ElementVector<Output, L::vector> stored;
#pragma clang loop unroll(full)
      for (int j = 0; j < L::vector; ++j) stored.values[j] = static_cast<Output>(values[i * L::vector + j]);
      char* const place = output_ + line_.template offset_at<plan.output, Output>(first, line_.column(begin, i), view_);
      if (line_.is_real & line_.is_inside(begin, i))
        *reinterpret_cast<ElementVector<Output, L::vector>*>(place) = stored;
    }
  }

 private:
  const L& line_;
  const LineView& view_;
  const Epilogue& epilogue_;
  char* output_;  // of the block; in a part of another buffer of the line
  int64_t at_[LineSizes::most_axes] = {};
  bool is_channel_ = true;
};

template <LinePlan plan, class Input, class Output, class Epilogue>
__device__ inline void normalized_lines(const LineArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using L = Line<plan, Input>;
  const L line(arguments, static_cast<uint32_t>(block_index()));
  LineStore<plan, Input, Output, Epilogue> output(line, arguments, epilogue);
  LineStatistics<plan.kind> statistics;
  float values[L::count];
  if (plan.always_fits() || line.columns <= L::capacity) {
    line.load(0, values);
    statistics.normalize(line, values, arguments.epsilon);
    output.store(0, values);
  } else if constexpr (!plan.always_fits()) {
    int32_t begin = 0;
#pragma clang loop unroll(disable)
    for (; begin < line.columns; begin += L::capacity) {
      line.load(begin, values);
      statistics.add(line, begin, values, arguments.epsilon);
    }
    statistics.finish(arguments.epsilon);
#pragma clang loop unroll(disable)
    while (begin > 0) {
      begin -= L::capacity;
      line.load(begin, values);
#pragma clang loop unroll(full)
      for (int i = 0; i < L::count; ++i) values[i] = statistics.normalized(values[i]);
      output.store(begin, values);
    }
  }
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
