// Discrete Fourier transforms of lines along one axis.
//
// Problem: y[o, k, i] = sum over n of x[o, n, i] e^(-2 pi i k n / length), of any length that a run gives; the inverse
// with a plus sign and divided by the length. Elements past `extent` count as 0. y may be the first bins only, or the
// real parts of an inverse whose x is the half of a real signal's spectrum.
//
// Method: a length of factors 2, 3 and 5 takes a pass for each 4, 2, 5 or 3 (Stockham: no reordering of bits). Any
// other length is a convolution with a chirp (Bluestein, 1970), made of three transforms of such a length. Lines stand
// side by side, one a lane, so that every pass runs through contiguous vectors; of a single line the first passes are
// shuffled. The inverse exchanges real and imaginary parts. All in double: errors are those of rounding x and y. A root
// of unity is the product of two, whose angles are reduced in integers.
//
// Bound by: reading and writing elements one by one, then arithmetic; for long lines the second cache. 64 lines of 512
// take 0.09 ms on one thread with AVX-512 and numpy's transforms of complex doubles 0.08, 64 of 4096 0.73 and 0.80, 64
// of 127 0.04 and 0.07. Limits: real signals cost as much as complex ones; a line is one thread's.
#pragma once

#include "kernels/cpu/signal/fourier_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace fourier {

inline constexpr int64_t double_lanes = lanes / 2;

// An array of complex numbers.
struct Complex {
  double* real;
  double* imaginary;
  Complex exchanged() const { return {imaginary, real}; }
};

struct Plan {
  FourierGeometry geometry;
  Complex roots;   // of the passes
  Complex chirp;   // e^(-pi i n^2 / length)
  Complex filter;  // the transform of its conjugate, divided by the passes' length
  Complex first, second;
};

// Compiled with the runtime: fourier_instances.cpp.
Plan make_plan(const FourierGeometry& geometry, double* scratch);
// Transforms the elements in `plan.first`, so many lines side by side, and returns the place of the result.
Complex transform(const Plan& plan, int64_t side_by_side);

}  // namespace fourier

template <class T>
struct FourierArguments {
  const T* input;
  T* output;
  FourierSizes sizes;
  bool is_inverse, gives_real;
};

template <class T>
class Fourier {
 public:
  using Arguments = FourierArguments<T>;

  static KernelWork work(const FourierSizes& sizes) { return fourier_geometry(fourier::double_lanes, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks.
  static void run(const Arguments& arguments, int64_t task_begin, int64_t task_end, void* scratch) {
    const FourierSizes& sizes = arguments.sizes;
    const FourierGeometry geometry = fourier_geometry(fourier::double_lanes, sizes);
    const fourier::Plan plan = fourier::make_plan(geometry, static_cast<double*>(scratch));
    const int64_t lines = sizes.outer * sizes.inner;
    const int64_t end = smaller(task_end * geometry.task_lines, lines);
    for (int64_t line = task_begin * geometry.task_lines; line < end; line += geometry.side_by_side)
      transform_lines(arguments, plan, line, smaller(geometry.side_by_side, end - line));
  }

 private:
  // So many neighbours from one on.
  static void transform_lines(const Arguments& arguments, const fourier::Plan& plan, int64_t line, int64_t count) {
    const int64_t side_by_side = plan.geometry.side_by_side;
    const fourier::Complex x = arguments.is_inverse ? plan.first.exchanged() : plan.first;
    for (int64_t i = 0; i < side_by_side; ++i)
      load(arguments, line + i, i < count, {x.real + i, x.imaginary + i}, side_by_side);
    const fourier::Complex y = fourier::transform(plan, side_by_side);
    for (int64_t i = 0; i < count; ++i) {
      const fourier::Complex one{y.real + i, y.imaginary + i};
      store(arguments, line + i, arguments.is_inverse ? one.exchanged() : one, side_by_side);
    }
  }

  // A line into every `stride`-th element of an array; zeros if there is none.
  static void load(const Arguments& arguments, int64_t line, bool exists, fourier::Complex x, int64_t stride) {
    const FourierSizes& sizes = arguments.sizes;
    const int64_t most = arguments.gives_real ? sizes.length / 2 + 1 : sizes.length;
    const int64_t used = exists ? smaller(sizes.extent, most) : 0, step = sizes.inner * sizes.parts;
    const T* const source =
        arguments.input + (line / sizes.inner * sizes.extent * sizes.inner + line % sizes.inner) * sizes.parts;
    for (int64_t n = 0; n < used; ++n) x.real[n * stride] = static_cast<double>(source[n * step]);
    if (sizes.parts == 2)
      for (int64_t n = 0; n < used; ++n) x.imaginary[n * stride] = static_cast<double>(source[n * step + 1]);
    else
      for (int64_t n = 0; n < used; ++n) x.imaginary[n * stride] = 0;
    for (int64_t n = used; n < sizes.length; ++n) x.real[n * stride] = x.imaginary[n * stride] = 0;
    if (arguments.gives_real) mirror(sizes.length, x, stride);
  }

  // The second half of a real signal's spectrum.
  static void mirror(int64_t length, fourier::Complex x, int64_t stride) {
    x.imaginary[0] = 0;
    if (length % 2 == 0) x.imaginary[length / 2 * stride] = 0;
    for (int64_t n = 1; 2 * n < length; ++n) {
      x.real[(length - n) * stride] = x.real[n * stride];
      x.imaginary[(length - n) * stride] = -x.imaginary[n * stride];
    }
  }

  static void store(const Arguments& arguments, int64_t line, fourier::Complex y, int64_t stride) {
    const FourierSizes& sizes = arguments.sizes;
    const int64_t parts = arguments.gives_real ? 1 : 2, step = sizes.inner * parts;
    const double factor = arguments.is_inverse ? 1.0 / static_cast<double>(sizes.length) : 1.0;
    T* const target = arguments.output + (line / sizes.inner * sizes.bins * sizes.inner + line % sizes.inner) * parts;
    for (int64_t k = 0; k < sizes.bins; ++k) target[k * step] = rounded(y.real[k * stride] * factor);
    if (parts == 2)
      for (int64_t k = 0; k < sizes.bins; ++k) target[k * step + 1] = rounded(y.imaginary[k * stride] * factor);
  }

  static T rounded(double value) {
    if constexpr (sizeof(T) == sizeof(double)) return value;
    return static_cast<T>(static_cast<float>(value));
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
