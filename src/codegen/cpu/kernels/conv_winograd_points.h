// Winograd's matrices, in one place for the compiler's packer and the kernel.
//
// F(m, 3) computes m neighbouring outputs y of a three-tap filter g from m + 2 inputs d by m + 2 products, where a
// direct sum takes 3 m: y = A (G g * B d) (Winograd 1980; Lavin and Gray 2016). It is the product of two polynomials by
// their values at m + 1 points and at infinity: the row of B at a point p is the product of (x - q) over all other
// points q, the row of G is 1, p, p^2 over that product's value at p, and the column of A is 1, p, p^2, ...
//
// F(2) takes 0, 1, -1, where all but G is additions. F(4) takes 0, +-3/4, +-3/2: the error of its products is a third
// of that with the usual 0, +-1, +-2, since the entries of A and B stay near 1 and close to each other in magnitude,
// and all of A and B are exact in float.
#pragma once

#include "codegen/cpu/kernels/conv_geometry.h"

namespace onnxc::kernels {

struct WinogradPoint {
  static constexpr int most_inputs = 4, most_outputs = 4;

  // The row of B: inputs of the tile, and their factors. The first factor is 1; what is left over has the factor 0.
  int position[most_inputs];
  float factor[most_inputs];
  double filter[3];            // the row of G
  float output[most_outputs];  // the column of A; 0: does not reach this output
};

namespace detail {

struct WinogradFour {
  WinogradPoint points[6];
};

constexpr WinogradFour winograd_four() {
  constexpr double a = 0.75, b = 1.5;
  // 0 and infinity: (x^2 - a^2) (x^2 - b^2), the latter times x.
  constexpr auto even = static_cast<float>(-a * a - b * b), constant = static_cast<float>(a * a * b * b);
  // p: x (x + p) (x^2 - q^2), where +-q is the other pair.
  const auto point = [](double p, double q) {
    const double scale = 1.0 / (2 * p * p * (p * p - q * q));
    return WinogradPoint{{4, 3, 2, 1},
                         {1.0f, static_cast<float>(p), static_cast<float>(-q * q), static_cast<float>(-p * q * q)},
                         {scale, scale * p, scale * p * p},
                         {1.0f, static_cast<float>(p), static_cast<float>(p * p), static_cast<float>(p * p * p)}};
  };
  return {{{{4, 2, 0, 0}, {1.0f, even, constant, 0.0f}, {1.0 / (a * a * b * b), 0, 0}, {1, 0, 0, 0}},
           point(a, b),
           point(-a, b),
           point(b, a),
           point(-b, a),
           {{5, 3, 1, 1}, {1.0f, even, constant, 0.0f}, {0, 0, 1}, {0, 0, 0, 1}}}};
}

inline constexpr WinogradPoint winograd_one[1] = {{{0, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0}, {1, 0, 0, 0}}};
inline constexpr WinogradPoint winograd_two[4] = {{{0, 2, 0, 0}, {1, -1, 0, 0}, {1, 0, 0}, {1, 0, 0, 0}},
                                                  {{1, 2, 0, 0}, {1, 1, 0, 0}, {0.5, 0.5, 0.5}, {1, 1, 0, 0}},
                                                  {{2, 1, 0, 0}, {1, -1, 0, 0}, {0.5, -0.5, 0.5}, {1, -1, 0, 0}},
                                                  {{1, 3, 0, 0}, {1, -1, 0, 0}, {0, 0, 1}, {0, -1, 0, 0}}};
inline constexpr WinogradFour winograd_four_points = winograd_four();

}  // namespace detail

// Of an axis of three taps with a tile of 2 or 4 outputs; a tile of 1 stands for one tap, which is passed through.
constexpr int64_t winograd_point_count(int64_t outputs) { return outputs == 1 ? 1 : outputs + 2; }
constexpr const WinogradPoint* winograd_points(int64_t outputs) {
  return outputs == 1   ? detail::winograd_one
         : outputs == 2 ? detail::winograd_two
                        : detail::winograd_four_points.points;
}
// The most inputs that a point takes, as many as the tile has outputs.
constexpr int winograd_point_inputs(int64_t outputs) { return static_cast<int>(outputs); }
// The first point, in their order, that reaches an output.
constexpr int winograd_first_point(int output) { return output == 0 ? 0 : 1; }

}  // namespace onnxc::kernels
