// Winograd's matrices, in one place for the compiler's packer and the kernel.
//
// F(m, 3) computes m neighbouring outputs y of a three-tap filter g from m + 2 inputs d by m + 2 products, instead of a
// direct sum's 3 m. y = A (G g * B d) (Winograd 1980; Lavin and Gray 2016). It multiplies two polynomials by their
// values at m + 1 points and at infinity. The row of B at a point p is the product of (x - q) over all other points q;
// the row of G is 1, p, p^2, divided by that product's value at p; the column of A is 1, p, p^2, ...
//
// F(2) uses the points 0, 1, -1; only G is more than additions. F(4) uses 0, +-3/4, +-3/2: the error of its products is
// a third of that with the usual 0, +-1, +-2. The reason is that the entries of A and B stay near 1 and close to each
// other in magnitude, and all of A and B are exact in float. At the same six points F(2, 5) computes two outputs of
// five taps: B is the same, and G and A have as many powers of p as there are taps and outputs.
//
// With a stride of two the first and last tap are a two-tap filter over every other input, and the middle tap is a
// filter of its own over the others. F(2, 2) takes 3 products at 0, 1 and infinity, the middle tap 2 plain ones: 5 for
// two outputs; a direct sum takes 6. Without a tile, each tap a point, an axis is summed directly.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

struct WinogradPoint {
  static constexpr int most_inputs = 4, most_outputs = 4, most_taps = 5;

  // The row of B: inputs of the tile, and their factors; the first is 1.
  int inputs;
  int position[most_inputs];
  float factor[most_inputs];
  double filter[most_taps];    // the row of G
  float output[most_outputs];  // the column of A; 0: does not reach this output
};

namespace detail {

struct WinogradSix {
  WinogradPoint points[6];
};

// F(4, 3) or F(2, 5).
constexpr WinogradSix winograd_six(int taps) {
  const int outputs = 6 - taps + 1;
  constexpr double a = 0.75, b = 1.5;
  // 0 and infinity: (x^2 - a^2) (x^2 - b^2), the latter times x.
  constexpr auto even = static_cast<float>(-a * a - b * b), constant = static_cast<float>(a * a * b * b);
  // p: x (x + p) (x^2 - q^2); +-q is the other pair.
  const auto point = [&](double p, double q) {
    WinogradPoint result{4,
                         {4, 3, 2, 1},
                         {1.0f, static_cast<float>(p), static_cast<float>(-q * q), static_cast<float>(-p * q * q)},
                         {},
                         {}};
    double power = 1.0 / (2 * p * p * (p * p - q * q));
    for (int i = 0; i < taps; ++i, power *= p) result.filter[i] = power;
    power = 1.0;
    for (int i = 0; i < outputs; ++i, power *= p) result.output[i] = static_cast<float>(power);
    return result;
  };
  WinogradPoint infinity{3, {5, 3, 1, 1}, {1.0f, even, constant, 0.0f}, {}, {}};
  infinity.filter[taps - 1] = 1.0;
  infinity.output[outputs - 1] = 1.0f;
  return {{{3, {4, 2, 0, 0}, {1.0f, even, constant, 0.0f}, {1.0 / (a * a * b * b)}, {1}},
           point(a, b),
           point(-a, b),
           point(b, a),
           point(-b, a),
           infinity}};
}

inline constexpr WinogradPoint winograd_taps[5] = {{1, {0}, {1}, {1, 0, 0, 0, 0}, {1}},
                                                   {1, {1}, {1}, {0, 1, 0, 0, 0}, {1}},
                                                   {1, {2}, {1}, {0, 0, 1, 0, 0}, {1}},
                                                   {1, {3}, {1}, {0, 0, 0, 1, 0}, {1}},
                                                   {1, {4}, {1}, {0, 0, 0, 0, 1}, {1}}};
inline constexpr WinogradPoint winograd_two[4] = {{2, {0, 2}, {1, -1}, {1, 0, 0}, {1, 0}},
                                                  {2, {1, 2}, {1, 1}, {0.5, 0.5, 0.5}, {1, 1}},
                                                  {2, {2, 1}, {1, -1}, {0.5, -0.5, 0.5}, {1, -1}},
                                                  {2, {1, 3}, {1, -1}, {0, 0, 1}, {0, -1}}};
inline constexpr WinogradPoint winograd_strided_two[5] = {{2, {0, 2}, {1, -1}, {1, 0, 0}, {1, 0}},
                                                          {1, {2}, {1}, {1, 0, 1}, {1, 1}},
                                                          {2, {4, 2}, {1, -1}, {0, 0, 1}, {0, 1}},
                                                          {1, {1}, {1}, {0, 1, 0}, {1, 0}},
                                                          {1, {3}, {1}, {0, 1, 0}, {0, 1}}};
inline constexpr WinogradSix winograd_four = winograd_six(3), winograd_five_taps = winograd_six(5);

}  // namespace detail

// One axis of a convolution with a tile of so many outputs: one tap (not transformed), three or five.
struct WinogradAxis {
  int64_t taps, stride, outputs;
  int64_t dilation = 1;  // 1 if there is one tap
  constexpr bool operator==(const WinogradAxis&) const = default;

  constexpr bool is_supported() const {
    if (dilation != 1 && stride != 1) return false;
    if (taps == 1) return outputs == 1;
    if (taps == 5) return stride == 1 && outputs <= 2;
    return taps == 3 && (stride == 1 ? outputs == 2 || outputs == 4 : stride == 2 && outputs <= 2);
  }
  // The distance in inputs from one tile to the next.
  constexpr int64_t step() const { return stride * outputs; }
  // The number of a tile's inputs, which is also that of its points.
  constexpr int64_t points() const { return (outputs - 1) * stride + taps; }
  constexpr const WinogradPoint* table() const {
    if (outputs == 1) return detail::winograd_taps;
    if (stride == 2) return detail::winograd_strided_two;
    if (taps == 5) return detail::winograd_five_taps.points;
    return outputs == 2 ? detail::winograd_two : detail::winograd_four.points;
  }
  // F(4, 3) or F(2, 5): rounds what F(2, 3) keeps exact.
  constexpr bool has_six_points() const { return points() == 6; }
  // Whether the axis is read untransformed.
  constexpr bool is_passed() const { return taps == 1 && stride == 1; }
  // The first point at or after `from`, in their order, that reaches an output; points() if none does.
  constexpr int first_point(int64_t output, int from = 0) const {
    while (from < points() && table()[from].output[output] == 0.0f) ++from;
    return from;
  }
  // The most and the fewest inputs that a point takes.
  constexpr int most_inputs() const {
    int most = 0;
    for (int64_t i = 0; i < points(); ++i) most = table()[i].inputs > most ? table()[i].inputs : most;
    return most;
  }
  constexpr int fewest_inputs() const {
    int fewest = WinogradPoint::most_inputs;
    for (int64_t i = 0; i < points(); ++i) fewest = table()[i].inputs < fewest ? table()[i].inputs : fewest;
    return fewest;
  }
};

}  // namespace onnxc::kernels
