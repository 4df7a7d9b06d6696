// The parts of fourier.h that no model changes, compiled with the runtime.
#include "kernels/cpu/signal/fourier.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {
namespace fourier {
namespace {

typedef double Vector __attribute__((ext_vector_type(double_lanes)));

template <class V>
[[gnu::always_inline]] inline V get(const double* source) {
  V value;
  __builtin_memcpy(&value, source, sizeof value);
  return value;
}
template <class V>
[[gnu::always_inline]] inline void put(double* target, V value) {
  __builtin_memcpy(target, &value, sizeof value);
}

// ------------------------------------------------------------------------------------------------ roots of unity

struct Number {
  double real, imaginary;
};

[[gnu::always_inline]] inline Number get(Complex x, int64_t i) { return {x.real[i], x.imaginary[i]}; }
[[gnu::always_inline]] inline void set(Complex x, int64_t i, Number value) {
  x.real[i] = value.real;
  x.imaginary[i] = value.imaginary;
}

[[gnu::always_inline]] inline Number times(Number a, Number b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

// e^(-2 pi i turn / turns), 0 <= turn < turns. The angle is reduced to an eighth of a turn before it is rounded.
Number root_of_unity(int64_t turn, int64_t turns) {
  constexpr double eighth = 0.78539816339744830962;  // of a full turn
  const int64_t octant = 8 * turn / turns, rest = 8 * turn - octant * turns;
  const int64_t within = octant % 2 == 0 ? rest : turns - rest;
  const double angle = eighth * (static_cast<double>(within) / static_cast<double>(turns));
  const double c = __builtin_cos(angle), s = __builtin_sin(angle);
  const bool exchanges = (octant + 1) / 2 % 2 != 0;
  const double x = exchanges ? s : c, y = exchanges ? c : s;
  return {octant >= 2 && octant < 6 ? -x : x, octant >= 4 ? y : -y};
}

// The roots for all turns: coarse_roots fine ones, and as many coarse ones as there must be.
class Roots {
 public:
  Roots(int64_t turns, Complex seeds) : seeds_(seeds) {
    const int64_t step = FourierGeometry::coarse_roots;
    for (int64_t i = 0; i < smaller(step, turns); ++i) set(seeds, i, root_of_unity(i, turns));
    for (int64_t i = 0; i * step < turns; ++i) set(seeds, step + i, root_of_unity(i * step, turns));
  }
  Number operator()(int64_t turn) const {
    const int64_t step = FourierGeometry::coarse_roots;
    return times(get(seeds_, turn % step), get(seeds_, step + turn / step));
  }

 private:
  Complex seeds_;
};

// --------------------------------------------------------------------------------------------------------- passes

template <class V>
struct Values {
  V real, imaginary;
};
template <class V>
[[gnu::always_inline]] inline Values<V> operator+(Values<V> a, Values<V> b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}
template <class V>
[[gnu::always_inline]] inline Values<V> operator-(Values<V> a, Values<V> b) {
  return {a.real - b.real, a.imaginary - b.imaginary};
}
template <class V>
[[gnu::always_inline]] inline Values<V> operator*(Values<V> a, Values<V> b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
template <class V>
[[gnu::always_inline]] inline Values<V> scaled(Values<V> a, double factor) {
  return {a.real * V(factor), a.imaginary * V(factor)};
}
// Times -i.
template <class V>
[[gnu::always_inline]] inline Values<V> turned(Values<V> a) {
  return {a.imaginary, -a.real};
}

// Transforms of so many values, in place.
template <class V>
[[gnu::always_inline]] inline void butterfly(Values<V> (&x)[2]) {
  const Values<V> sum = x[0] + x[1];
  x[1] = x[0] - x[1];
  x[0] = sum;
}
template <class V>
[[gnu::always_inline]] inline void butterfly(Values<V> (&x)[3]) {
  constexpr double sine = 0.86602540378443864676;  // of 2 pi / 3
  const Values<V> sum = x[1] + x[2], middle = x[0] - scaled(sum, 0.5), side = turned(scaled(x[1] - x[2], sine));
  x[0] = x[0] + sum;
  x[1] = middle + side;
  x[2] = middle - side;
}
template <class V>
[[gnu::always_inline]] inline void butterfly(Values<V> (&x)[4]) {
  const Values<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}
template <class V>
[[gnu::always_inline]] inline void butterfly(Values<V> (&x)[5]) {
  // Cosines and sines of 2 pi / 5 and 4 pi / 5.
  constexpr double cosine1 = 0.30901699437494742410, cosine2 = -0.80901699437494742410;
  constexpr double sine1 = 0.95105651629515357212, sine2 = 0.58778525229247312917;
  const Values<V> near = x[1] + x[4], far = x[2] + x[3], d1 = x[1] - x[4], d2 = x[2] - x[3];
  const Values<V> m1 = x[0] + scaled(near, cosine1) + scaled(far, cosine2);
  const Values<V> m2 = x[0] + scaled(near, cosine2) + scaled(far, cosine1);
  const Values<V> s1 = turned(scaled(d1, sine1) + scaled(d2, sine2));
  const Values<V> s2 = turned(scaled(d1, sine2) - scaled(d2, sine1));
  x[0] = x[0] + near + far;
  x[1] = m1 + s1;
  x[2] = m2 + s2;
  x[3] = m2 - s2;
  x[4] = m1 - s1;
}

// One pass: groups [radix][count / radix] of `width` neighbours become [count / radix][radix] of them.
struct Pass {
  Complex from, to, roots;
  int64_t width, quotient;  // quotient: count / radix
  int64_t root_step;        // between the roots of unity of this pass's turns

  template <int radix, class V>
  [[gnu::always_inline]] void compute(int64_t source, const Values<V> (&twiddles)[radix], Values<V> (&x)[radix]) const {
#pragma clang loop unroll(full)
    for (int k = 0; k < radix; ++k) {
      const int64_t at = source + k * quotient * width;
      x[k] = {get<V>(from.real + at), get<V>(from.imaginary + at)};
    }
    butterfly(x);
#pragma clang loop unroll(full)
    for (int k = 1; k < radix; ++k) x[k] = x[k] * twiddles[k];
  }

  template <int radix, class V>
  [[gnu::always_inline]] void run_neighbours(int64_t source, int64_t target, const Values<V> (&twiddles)[radix]) const {
    Values<V> x[radix];
    compute<radix, V>(source, twiddles, x);
#pragma clang loop unroll(full)
    for (int k = 0; k < radix; ++k) {
      put(to.real + target + k * width, x[k].real);
      put(to.imaginary + target + k * width, x[k].imaginary);
    }
  }

  // For neighbours that fill vectors.
  template <int radix>
  void run_wide() const {
    for (int64_t p = 0; p < quotient; ++p) {
      Values<double> one[radix];
      Values<Vector> all[radix];
      for (int k = 1; k < radix; ++k) {
        one[k] = {roots.real[p * k * root_step], roots.imaginary[p * k * root_step]};
        all[k] = {Vector(one[k].real), Vector(one[k].imaginary)};
      }
      const int64_t source = p * width, target = p * radix * width;
      int64_t q = 0;
      for (; q + double_lanes <= width; q += double_lanes) run_neighbours<radix>(source + q, target + q, all);
      for (; q < width; ++q) run_neighbours<radix>(source + q, target + q, one);
    }
  }

  // For fewer neighbours: a vector goes through several groups.
  template <int radix>
  void run_narrow() const {
    const int64_t count = quotient * width;
    int64_t i = 0;
    for (; i + double_lanes <= count; i += double_lanes) run_groups<radix, Vector>(i);
    for (; i < count; ++i) run_groups<radix, double>(i);
  }

  template <int radix, class V>
  [[gnu::always_inline]] void run_groups(int64_t first) const {
    constexpr int64_t count = sizeof(V) / sizeof(double);
    alignas(64) double real[radix][count], imaginary[radix][count];
    int64_t targets[count];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t p = (first + i) / width;
      targets[i] = p * radix * width + (first + i) % width;
      for (int k = 1; k < radix; ++k) {
        real[k][i] = roots.real[p * k * root_step];
        imaginary[k][i] = roots.imaginary[p * k * root_step];
      }
    }
    Values<V> twiddles[radix], x[radix];
    for (int k = 1; k < radix; ++k) twiddles[k] = {get<V>(real[k]), get<V>(imaginary[k])};
    compute<radix, V>(first, twiddles, x);
    for (int k = 0; k < radix; ++k) {
      put(real[k], x[k].real);
      put(imaginary[k], x[k].imaginary);
    }
    for (int64_t i = 0; i < count; ++i)
      for (int k = 0; k < radix; ++k) {
        to.real[targets[i] + k * width] = real[k][i];
        to.imaginary[targets[i] + k * width] = imaginary[k][i];
      }
  }

  template <int radix>
  void run() const {
    if (width >= double_lanes)
      run_wide<radix>();
    else
      run_narrow<radix>();
  }
};

// Transforms of the passes' length of the elements in x, in turns with y; returns the place of the result.
Complex run_passes(const Plan& plan, Complex x, Complex y, int64_t side_by_side) {
  const int64_t length = plan.geometry.passes;
  for (int64_t done = 1; done < length;) {
    const int64_t left = length / done;
    const int64_t radix = left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : left % 5 == 0 ? 5 : 3;
    const Pass pass{x, y, plan.roots, done * side_by_side, left / radix, done};
    if (radix == 4)
      pass.run<4>();
    else if (radix == 2)
      pass.run<2>();
    else if (radix == 5)
      pass.run<5>();
    else
      pass.run<3>();
    done *= radix;
    const Complex result = y;
    y = x;
    x = result;
  }
  return x;
}

// x[n] = x[n] * factors[n], for lines side by side.
void multiply(Complex x, Complex factors, int64_t count, int64_t side_by_side) {
  for (int64_t n = 0; n < count; ++n) {
    const Number factor{factors.real[n], factors.imaginary[n]};
    double* const real = x.real + n * side_by_side;
    double* const imaginary = x.imaginary + n * side_by_side;
    for (int64_t i = 0; i < side_by_side; ++i) {
      const Number product = times({real[i], imaginary[i]}, factor);
      real[i] = product.real;
      imaginary[i] = product.imaginary;
    }
  }
}

void clear(Complex x, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) x.real[i] = x.imaginary[i] = 0;
}

// The chirp and its filter: kn = (k^2 + n^2 - (k - n)^2) / 2 makes the transform a convolution.
void make_chirp(const Plan& plan, Complex seeds) {
  const int64_t length = plan.geometry.length, passes = plan.geometry.passes;
  const Roots roots(2 * length, seeds);
  const Complex filter = plan.first;
  const double factor = 1.0 / static_cast<double>(passes);
  clear(filter, 0, passes);
  for (int64_t n = 0, square = 0; n < length; ++n) {
    const Number root = roots(square);
    set(plan.chirp, n, root);
    const Number conjugate{root.real * factor, -root.imaginary * factor};
    set(filter, n, conjugate);
    set(filter, n == 0 ? 0 : passes - n, conjugate);
    square = (square + 2 * n + 1) % (2 * length);
  }
  const Complex spectrum = run_passes(plan, filter, plan.second, 1);
  for (int64_t i = 0; i < passes; ++i) set(plan.filter, i, get(spectrum, i));
}

}  // namespace

Plan make_plan(const FourierGeometry& geometry, double* scratch) {
  const auto take = [&](int64_t size) {
    const Complex result{scratch, scratch + size / 2};
    scratch += size;
    return result;
  };
  Plan plan{geometry, {}, {}, {}, {}, {}};
  const Complex seeds = take(geometry.table(geometry.seeds()));
  plan.roots = take(geometry.table(geometry.passes));
  if (geometry.convolves()) {
    plan.chirp = take(geometry.table(geometry.length));
    plan.filter = take(geometry.table(geometry.passes));
  }
  plan.first = take(geometry.array());
  plan.second = take(geometry.array());
  const Roots roots(geometry.passes, seeds);
  for (int64_t i = 0; i < geometry.passes; ++i) set(plan.roots, i, roots(i));
  if (geometry.convolves()) make_chirp(plan, seeds);
  return plan;
}

Complex transform(const Plan& plan, int64_t side_by_side) {
  const FourierGeometry& geometry = plan.geometry;
  if (!geometry.convolves()) return run_passes(plan, plan.first, plan.second, side_by_side);
  multiply(plan.first, plan.chirp, geometry.length, side_by_side);
  clear(plan.first, geometry.length * side_by_side, geometry.passes * side_by_side);
  const Complex spectrum = run_passes(plan, plan.first, plan.second, side_by_side);
  multiply(spectrum, plan.filter, geometry.passes, side_by_side);
  // An inverse transform exchanges real and imaginary parts before and after.
  const Complex other = spectrum.real == plan.first.real ? plan.second : plan.first;
  const Complex result = run_passes(plan, spectrum.exchanged(), other.exchanged(), side_by_side).exchanged();
  multiply(result, plan.chirp, geometry.length, side_by_side);
  return result;
}

}  // namespace fourier
}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
