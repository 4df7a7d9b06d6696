// Softmax and LogSoftmax over rows.
//
// Problem: y[r, c] = e[c] / sum of e, e[c] = exp(x[r, c] - the maximum of row r); or the logarithm of that. A NaN or
// +inf in a row, or a row of -inf, gives NaN. Method: three passes over a row that stays in cache: its maximum; the
// exponentials, kept in the output if that is float, and their sum; the quotients. Several vectors of partial sums keep
// the error of a long row small. Rows of no more elements than a vector has lanes are taken a vector of rows at once, a
// row in each lane. A vector of one such row would be mostly empty, and its folds would be all the work. Only the
// number of columns fixes the order of each sum. Limits: a single row uses one thread. Bound by: the exponential; with
// short rows the moves between rows and lanes.
#pragma once

#include "kernels/cpu/memory_bound/softmax_geometry.h"

#include "kernels/cpu/vector/math.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Input, class Output>
struct SoftmaxArguments {
  const Input* input;
  Output* output;
  SoftmaxSizes sizes;
  int64_t input_strides[SoftmaxSizes::row_axes];  // from row to row along each axis, in elements
  int64_t output_strides[SoftmaxSizes::row_axes];
};

namespace detail {

// Exponentials at once, with a partial sum each: as many as fit the registers.
constexpr int softmax_sets = target_unit.has_many_registers() ? 4 : 1;

// The largest element; NaN if there is one.
template <class Input>
inline float largest_of(const Input* input, int64_t columns) {
  constexpr int sets = 4;  // so that no comparison waits for the last
  vec largest[sets];
  for (vec& each : largest) each = splat(-__builtin_inff());
  int64_t column = 0;
  for (; column + sets * lanes <= columns; column += sets * lanes)
#pragma clang loop unroll(full)
    for (int i = 0; i < sets; ++i) largest[i] = maximum(largest[i], load(input + column + i * lanes));
  for (; column < columns; column += lanes) {
    const int64_t count = smaller(lanes, columns - column);
    largest[0] = maximum(largest[0], select(first_lanes(count), load_partial(input + column, count), largest[0]));
  }
  float each[lanes];
  store(each, maximum(maximum(largest[0], largest[1]), maximum(largest[2], largest[3])));
  for (int width = lanes / 2; width > 0; width /= 2)
#pragma clang loop unroll(full)
    for (int i = 0; i < width; ++i) each[i] = maximum(each[i], each[i + width]);
  return each[0];
}

// The sum of exp(x - largest); leaves the exponentials in the output if it keeps them.
template <bool keeps_exponentials, class Input, class Output>
inline float sum_of_exponentials(const Input* input, int64_t columns, float largest, Output* output) {
  vec sums[softmax_sets] = {};
  int64_t column = 0;
  for (; column + softmax_sets * lanes <= columns; column += softmax_sets * lanes)
#pragma clang loop unroll(full)
    for (int i = 0; i < softmax_sets; ++i) {
      const vec value = exponential(load(input + column + i * lanes) - splat(largest));
      if constexpr (keeps_exponentials) store(output + column + i * lanes, value);
      sums[i] += value;
    }
  for (; column < columns; column += lanes) {
    const int64_t count = smaller(lanes, columns - column);
    const vec value = exponential(load_partial(input + column, count) - splat(largest));
    if constexpr (keeps_exponentials) store_partial(output + column, value, count);
    sums[0] += keep_lanes(first_lanes(count), value);
  }
  for (int distance = softmax_sets / 2; distance > 0; distance /= 2)
    for (int i = 0; i < distance; ++i) sums[i] += sums[i + distance];
  return sum_lanes(sums[0]);
}

// The places of rows one after another.
template <class Input, class Output>
class RowPlaces {
 public:
  RowPlaces(const SoftmaxArguments<Input, Output>& arguments, int64_t row)
      : arguments_(arguments), input_(arguments.input), output_(arguments.output) {
    for (int axis = SoftmaxSizes::row_axes - 1; axis >= 0; --axis) {
      index_[axis] = row % arguments.sizes.extents[axis];
      row /= arguments.sizes.extents[axis];
      input_ += index_[axis] * arguments.input_strides[axis];
      output_ += index_[axis] * arguments.output_strides[axis];
    }
  }
  const Input* input() const { return input_; }
  Output* output() const { return output_; }

  void next() {
    for (int axis = SoftmaxSizes::row_axes - 1; axis >= 0; --axis) {
      input_ += arguments_.input_strides[axis];
      output_ += arguments_.output_strides[axis];
      if (++index_[axis] < arguments_.sizes.extents[axis]) return;
      input_ -= index_[axis] * arguments_.input_strides[axis];
      output_ -= index_[axis] * arguments_.output_strides[axis];
      index_[axis] = 0;
    }
  }

 private:
  const SoftmaxArguments<Input, Output>& arguments_;
  const Input* input_;
  Output* output_;
  int64_t index_[SoftmaxSizes::row_axes];
};

}  // namespace detail

template <class Input, class Output, bool takes_logarithm>
class RowSoftmax {
 public:
  using Arguments = SoftmaxArguments<Input, Output>;

  static KernelWork work(const SoftmaxSizes& sizes) { return softmax_geometry(sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* /*scratch*/) {
    const SoftmaxSizes& sizes = arguments.sizes;
    const int64_t task_rows = softmax_geometry(sizes).task_rows;
    const int64_t first = task_begin * task_rows, last = smaller(task_end * task_rows, sizes.rows());
    Places place(arguments, first);
    if (sizes.columns <= lanes) {
      for (int64_t row = first; row < last; row += lanes)
        run_short_rows(place, smaller(lanes, last - row), sizes.columns);
      return;
    }
    for (int64_t row = first; row < last; ++row, place.next()) run_row(place.input(), sizes.columns, place.output());
  }

 private:
  using Places = detail::RowPlaces<Input, Output>;

  // No more rows than lanes; a lane without a row computes zeros. Goes to the place after them.
  static void run_short_rows(Places& place, int64_t rows, int64_t columns) {
    alignas(sizeof(vec)) float tile[lanes][lanes] = {};
    Output* outputs[lanes];
    for (int64_t row = 0; row < rows; ++row, place.next()) {
      for (int64_t column = 0; column < columns; ++column)
        tile[column][row] = static_cast<float>(place.input()[column]);
      outputs[row] = place.output();
    }
    normalize_columns(tile, columns);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        outputs[row][column] = static_cast<Output>(tile[column][row]);
  }

  static void normalize_columns(float (&tile)[lanes][lanes], int64_t columns) {
    vec largest = load(tile[0]), sum = {};
    for (int64_t column = 1; column < columns; ++column) largest = maximum(largest, load(tile[column]));
    for (int64_t column = 0; column < columns; ++column) {
      const vec shifted = load(tile[column]) - largest, term = exponential(shifted);
      store(tile[column], takes_logarithm ? shifted : term);
      sum += term;
    }
    vec shift = {};
    if constexpr (takes_logarithm) shift = logarithm(sum);
    const vec reciprocal = splat(1.0f) / sum;
    for (int64_t column = 0; column < columns; ++column) {
      const vec x = load(tile[column]);
      store(tile[column], takes_logarithm ? x - shift : quotient(x, sum, reciprocal));
    }
  }

  static constexpr bool keeps_exponentials = !takes_logarithm && __is_same(Output, float);

  static void run_row(const Input* input, int64_t columns, Output* output) {
    const float largest = detail::largest_of(input, columns);
    const float sum = detail::sum_of_exponentials<keeps_exponentials>(input, columns, largest, output);
    const float shift = takes_logarithm ? logarithm(sum) : 0.0f;
    const float reciprocal = 1.0f / sum;
    const auto* const terms = terms_of(input, output);
    int64_t column = 0;
    for (; column + lanes <= columns; column += lanes)
      store(output + column, result(load(terms + column), largest, sum, reciprocal, shift));
    if (column == columns) return;
    const int64_t count = columns - column;
    const vec rest = load_partial(terms + column, count);
    store_partial(output + column, result(rest, largest, sum, reciprocal, shift), count);
  }

  static const auto* terms_of(const Input* input, const Output* output) {
    if constexpr (keeps_exponentials)
      return output;
    else
      return input;
  }

  // The result for an element, or for its exponential if that is kept.
  [[gnu::always_inline]] static vec result(vec x, float largest, float sum, float reciprocal, float shift) {
    if constexpr (takes_logarithm) return x - splat(largest) - splat(shift);
    const vec numerator = keeps_exponentials ? x : exponential(x - splat(largest));
    return quotient(numerator, splat(sum), splat(reciprocal));
  }

  // As a division would round it (Markstein), in a third of its time.
  [[gnu::always_inline]] static vec quotient(vec numerator, vec sum, vec reciprocal) {
    const vec near = numerator * reciprocal;
    return fma(fma(-near, sum, numerator), reciprocal, near);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
