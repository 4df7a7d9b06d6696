#include "kernels/cpu/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Scales the score and adds a bias that each head and query has of its own.
struct ScaleAndBias {
  float scale;
  const float* bias;  // [head][query][key]
  int64_t queries, keys;
  vec operator()(vec score, const MatrixPosition& p) const {
    const float* const row = bias + (p.batch[3] * queries + p.row) * keys;
    return score * splat(scale) + load_partial(row + p.column, p.count);
  }
};

struct LightScaleAndBias : ScaleAndBias {
  static constexpr bool is_light = true;
};

// Tells the place of the output.
struct PlaceEpilogue {
  vec operator()(vec value, const MatrixPosition& p) const {
    return value + splat(static_cast<float>(p.batch[2] * 7 + p.batch[3] * 5 + p.row * 3));
  }
};

// Two images of some heads. Queries and values are parts of longer rows, keys are read transposed, what lies between is
// NaN; the output has a gap after each row.
struct Problem {
  static constexpr int64_t images = 2, gap = 3;
  int64_t heads, queries, keys, depth, columns;
  float scale = 0.5f;
  std::vector<float> q, k, v, bias;

  AttentionSizes sizes() const { return {{1, 1, images, heads}, queries, keys, depth, columns}; }
  int64_t batches() const { return images * heads; }

  void fill(uint32_t seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> pick(0.0f, 1.0f);
    const auto rows = [&](int64_t count, int64_t width) {
      std::vector<float> values(static_cast<size_t>(batches() * count * (width + gap)), nan);
      for (size_t i = 0; i < values.size(); ++i)
        if (static_cast<int64_t>(i) % (width + gap) < width) values[i] = pick(generator);
      return values;
    };
    q = rows(queries, depth);
    k = rows(keys, depth);
    v = rows(keys, columns);
    bias.resize(static_cast<size_t>(heads * queries * keys));
    for (float& value : bias) value = pick(generator);
  }

  static MatrixView view(int64_t heads, int64_t rows, int64_t width) {
    const int64_t stride = width + gap;
    return {{0, 0, heads * rows * stride, rows * stride}, stride, 1};
  }

  // Every task by itself, last first; the whole output with its gaps.
  template <int64_t narrow_columns>
  std::vector<float> run() const {
    const std::vector<float> output = run<narrow_columns, ScaleAndBias>();
    const std::vector<float> light = run<narrow_columns, LightScaleAndBias>();
    expect_same(output, light);
    return output;
  }

  static void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
  }

  template <int64_t narrow_columns, class ScoreEpilogue>
  std::vector<float> run() const {
    using Epilogues = TwoEpilogues<ScoreEpilogue, PlaceEpilogue>;
    using Kernel = Attention<narrow_columns, float, float, Epilogues>;
    MatrixView key_view = view(heads, keys, depth);
    std::swap(key_view.row_stride, key_view.column_stride);
    std::vector<float> output(static_cast<size_t>(batches() * queries * (columns + gap)), -7.0f);
    const AttentionArguments<float, float> arguments{q.data(),
                                                     k.data(),
                                                     v.data(),
                                                     output.data(),
                                                     sizes(),
                                                     view(heads, queries, depth),
                                                     key_view,
                                                     view(heads, keys, columns),
                                                     view(heads, queries, columns)};
    const KernelWork work = Kernel::work(sizes());
    const Epilogues epilogues{ScoreEpilogue{ScaleAndBias{scale, bias.data(), queries, keys}}, {}};
    for (int64_t task = work.tasks; task-- > 0;)
      Kernel::run(arguments, epilogues, task, task + 1, nan_scratch(work.scratch_bytes).get());
    // The same in one call, which packs keys and values once.
    std::vector<float> again(output.size(), -7.0f);
    AttentionArguments<float, float> whole = arguments;
    whole.output = again.data();
    Kernel::run(whole, epilogues, 0, work.tasks, nan_scratch(work.scratch_bytes).get());
    expect_same(output, again);
    return output;
  }

  // The definition, in double.
  double expected(int64_t batch, int64_t query, int64_t column) const {
    const auto at = [](const std::vector<float>& values, int64_t row, int64_t width, int64_t i) {
      return static_cast<double>(values[static_cast<size_t>(row * (width + gap) + i)]);
    };
    double largest = -std::numeric_limits<double>::infinity();
    std::vector<double> scores;
    for (int64_t key = 0; key < keys; ++key) {
      double score = 0.0;
      for (int64_t d = 0; d < depth; ++d)
        score += at(q, batch * queries + query, depth, d) * at(k, batch * keys + key, depth, d);
      score = score * static_cast<double>(scale) +
              static_cast<double>(bias[static_cast<size_t>((batch % heads * queries + query) * keys + key)]);
      scores.push_back(score);
      largest = std::max(largest, score);
    }
    double sum = 0.0, result = 0.0;
    for (double score : scores) sum += std::exp(score - largest);
    for (int64_t key = 0; key < keys; ++key)
      result += std::exp(scores[static_cast<size_t>(key)] - largest) / sum * at(v, batch * keys + key, columns, column);
    return result + static_cast<double>(batch / heads * 7 + batch % heads * 5 + query * 3);
  }
};

// A score of up to about 10 rounds by units of 2^-21, and the exponential makes a relative error of that; the sums over
// depth and keys and the quotient add less. The place is at most 2^11.
template <int64_t narrow_columns>
void check(int64_t heads, int64_t queries, int64_t keys, int64_t depth, int64_t columns) {
  Problem problem{heads, queries, keys, depth, columns, 1.0f / std::sqrt(static_cast<float>(depth)), {}, {}, {}, {}};
  problem.fill(7);
  const std::vector<float> output = problem.run<narrow_columns>();
  for (int64_t row = 0; row < problem.batches() * queries; ++row)
    for (int64_t i = 0; i < columns + Problem::gap; ++i) {
      const float value = output[static_cast<size_t>(row * (columns + Problem::gap) + i)];
      if (i >= columns) {
        ASSERT_EQ(value, -7.0f);
        continue;
      }
      const double expected = problem.expected(row / queries, row % queries, i);
      ASSERT_NEAR(static_cast<double>(value), expected, 0x1p-18 + std::abs(expected) * 0x1p-23)
          << heads << " heads " << queries << "x" << keys << " depth " << depth << " columns " << columns << " at row "
          << row << " column " << i;
    }
}

TEST(ISA_SUITE(Attention), EveryNumberOfQueriesAroundTheTile) {
  for (int64_t queries = 1; queries <= 26; ++queries) check<0>(1, queries, 5, 3, lanes + 1);
}

TEST(ISA_SUITE(Attention), EveryNumberOfKeysAroundTheVectorsAndTheirBlock) {
  for (int64_t keys = 1; keys <= 4 * lanes + 2; ++keys) {
    check<0>(1, 3, keys, 4, lanes);
    check<2>(1, 3, keys, 4, 2);
  }
  for (int64_t keys : {383, 384, 385, 769}) {
    check<0>(1, 13, keys, 4, lanes + 3);
    check<4>(1, 13, keys, 4, 4);
  }
}

TEST(ISA_SUITE(Attention), EveryNumberOfColumns) {
  for (int64_t columns = 1; columns <= 4 * lanes + 1; ++columns) check<0>(1, 5, 9, 2, columns);
  check<1>(1, 14, 9, 2, 1);
  check<2>(1, 14, 9, 2, 2);
  check<3>(1, 14, 9, 2, 3);
  check<4>(1, 14, 9, 2, 4);
  if constexpr (lanes == 16) {
    check<5>(1, 14, 9, 2, 5);
    check<6>(1, 14, 9, 2, 6);
    check<7>(1, 14, 9, 2, 7);
    check<8>(1, 14, 9, 2, 8);
  }
}

TEST(ISA_SUITE(Attention), DepthHeadsAndManyTasks) {
  for (int64_t depth : {1, 2, 5, 64, 384}) check<0>(3, 7, 11, depth, lanes);
  ASSERT_GT(attention_geometry(lanes, {{1, 1, 2, 1}, 101, 65, 8, 8}, false).ranges, 1);
  check<0>(1, 101, 65, 8, 8);
  check<4>(1, 101, 65, 8, 4);
  // Attentions that share tasks; the last task has fewer.
  const AttentionGeometry shared = attention_geometry(lanes, {{1, 1, 2, 45}, 13, 300, 2, 1}, true);
  ASSERT_GT(shared.task_batches, 1);
  ASSERT_NE(90 % shared.task_batches, 0);
  check<1>(45, 13, 300, 2, 1);
}

// A query that attends to only one key gives that key's values to the bit.
TEST(ISA_SUITE(Attention), MasksOfInfinityLeaveKeysOut) {
  Problem problem{1, 2, 2 * lanes + 3, 4, 4, 1.0f, {}, {}, {}, {}};
  problem.fill(3);
  for (float& value : problem.bias) value = -infinite;
  const int64_t chosen = lanes + 2;
  problem.bias[static_cast<size_t>(chosen)] = 0.0f;  // of query 0; query 1 has no key at all
  for (const std::vector<float>& output : {problem.run<0>(), problem.run<4>()})
    for (int64_t image = 0; image < Problem::images; ++image)
      for (int64_t column = 0; column < 4; ++column) {
        const auto row = static_cast<size_t>(image * 2 * 7);
        const float value = problem.v[static_cast<size_t>((image * problem.keys + chosen) * 7 + column)];
        EXPECT_EQ(output[row + static_cast<size_t>(column)], value + static_cast<float>(image * 7));
        EXPECT_TRUE(std::isnan(output[row + 7 + static_cast<size_t>(column)])) << "a row without a key";
      }
}

TEST(ISA_SUITE(Attention), ScoresThatAreNotFiniteGiveNanAndLeaveOtherRowsAlone) {
  for (const float bad : {nan, infinite}) {
    Problem problem{1, 3, 5, 2, 3, 1.0f, {}, {}, {}, {}};
    problem.fill(3);
    problem.bias[5 + 2] = bad;  // of query 1
    for (const std::vector<float>& output : {problem.run<0>(), problem.run<3>()})
      for (size_t i = 0; i < output.size(); ++i) EXPECT_EQ(std::isnan(output[i]), i / 6 % 3 == 1 && i % 6 < 3) << i;
  }
}

TEST(ISA_SUITE(Attention), LargeScoresDoNotOverflow) {
  Problem problem{1, 1, 2, 1, 1, 1.0f, {}, {}, {}, {}};
  problem.fill(3);
  problem.bias = {3e38f, 3e38f};
  const std::vector<float> output = problem.run<0>();
  EXPECT_NEAR(output[0], (problem.v[0] + problem.v[4]) / 2, 1e-6);
}

TEST(ISA_SUITE(Attention), NoKeysGiveZeroAndNoQueriesNothing) {
  Problem problem{1, 2, 0, 2, 3, 1.0f, {}, {}, {}, {}};
  problem.fill(3);
  const std::vector<float> output = problem.run<0>();
  EXPECT_EQ(output[0], 0.0f);
  EXPECT_EQ(output[6], 3.0f);
  EXPECT_EQ(problem.run<3>()[6], 3.0f);
  EXPECT_EQ(attention_geometry(lanes, {{1, 1, 2, 1}, 0, 5, 8, 8}, false).work.tasks, 0);
  EXPECT_EQ(attention_geometry(lanes, {{1, 1, 0, 1}, 4, 5, 8, 8}, false).work.tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
