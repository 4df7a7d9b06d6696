// Softmax and LogSoftmax over rows.
//
// Problem: y[r, c] = e[c] / sum of e, e[c] = exp(x[r, c] - the maximum of row r); or the logarithm of that. A NaN or
// +inf in a row, or a row of -inf, gives NaN. Method: three passes over a row that stays in cache: its maximum; the
// exponentials, kept in the output where that is float, and their sum; the quotients. Several vectors of partial sums
// keep the error of a long row small. The number of columns alone fixes the order of each sum. Limits: a single row
// uses one thread. Bound by: the exponential.
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

// The sum of exp(x - largest); leaves the exponentials in the output where it is to keep them.
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
    for (int64_t row = task_begin * task_rows; row < smaller(task_end * task_rows, sizes.rows()); ++row) {
      const Input* input = arguments.input;
      Output* output = arguments.output;
      int64_t rest = row;
      for (int axis = SoftmaxSizes::row_axes - 1; axis >= 0; --axis) {
        const int64_t i = rest % sizes.extents[axis];
        rest /= sizes.extents[axis];
        input += i * arguments.input_strides[axis];
        output += i * arguments.output_strides[axis];
      }
      run_row(input, sizes.columns, output);
    }
  }

 private:
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

  // Of an element, or of its exponential where that is kept.
  [[gnu::always_inline]] static vec result(vec x, float largest, float sum, float reciprocal, float shift) {
    if constexpr (takes_logarithm) return x - splat(largest) - splat(shift);
    const vec numerator = keeps_exponentials ? x : exponential(x - splat(largest));
    // The quotient as a division would round it (Markstein), in a third of its time.
    const vec quotient = numerator * splat(reciprocal);
    return fma(fma(-quotient, splat(sum), numerator), splat(reciprocal), quotient);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
