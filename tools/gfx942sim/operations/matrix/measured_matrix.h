// Sums of products of 8, 10 and 16 bits as the matrix unit of an MI300X makes them: the model of MMA-Sim (Microsoft,
// arXiv 2511.10909; its authors' package is PyPI's mmasim), which they validated bit for bit on that GPU.
//
// Products of a group of successive k are added in fixed point: each is cut to 24 bits after the point of the largest,
// towards zero. Then the addend joins them, both cut towards minus infinity, and the sum is rounded to float once.
// Groups follow one another. Sums of float32, float64 and integers are the chains that matrix.cpp has by default.
#pragma once

#include <array>
#include <cstdint>

namespace gfx942sim {

enum class MatrixArithmetic { chains, measured };

// GFX942SIM_MATRIX. Throws UserError for a value that is not known.
MatrixArithmetic matrix_arithmetic_from_environment();

// A format of the factors: what it has instead of a smaller exponent is denormal.
struct MeasuredFormat {
  int least_exponent;
};

// How the products of a format are grouped.
struct MeasuredGroups {
  int depth;                  // products at once
  bool is_in_halves = false;  // those of even and of odd k are summed apart
};

// The products of one instruction. Factors lie as [block][k][row or column], exact in float.
class MeasuredProduct {
 public:
  static constexpr int most_factors = 512, most_columns = 32, deepest_group = 16;
  struct Shape {
    int size, depth;
  };

  MeasuredProduct(Shape shape, MeasuredGroups groups, const float* a, MeasuredFormat format_a, const float* b,
                  MeasuredFormat format_b, int count);

  // Adds the products of a row of a block to its sums, one for each column.
  void add_row(float* sums, int block, int row) const;

 private:
  struct Factors {
    const float* values;
    std::array<int32_t, most_factors> significands, exponents;  // value = significand * 2^(exponent - 10)
    Factors(const float* of, MeasuredFormat format, int count);
  };
  struct Terms;
  void multiply(Terms& terms, int first_a, int first_b, int depth, int halves) const;
  float special_sum(float addend, int first_a, int first_b, int depth) const;
  void add_group(float* sums, int first_a, int first_b, int depth) const;

  Shape shape_;
  MeasuredGroups groups_;
  Factors a_, b_;
};

}  // namespace gfx942sim
