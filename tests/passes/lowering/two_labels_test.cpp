#include "passes/lowering/two_labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace onnxc {
namespace {

using PairCosts = TwoLabels::PairCosts;
using Random = std::mt19937;

double number(Random& random) { return static_cast<double>(std::uniform_int_distribution(0, 20)(random)); }

PairCosts any_costs(Random& random) { return {{{number(random), number(random)}, {number(random), number(random)}}}; }

// Equal labels cost no more.
PairCosts costs_for_equal(Random& random) {
  PairCosts costs = any_costs(random);
  const double excess = costs[0][0] + costs[1][1] - costs[0][1] - costs[1][0];
  if (excess > 0) costs[0][1] += excess;
  return costs;
}

// The least cost of all labels.
double brute_force(const TwoLabels& problem, size_t count) {
  double least = INFINITY;
  for (size_t number = 0; number < size_t{1} << count; ++number) {
    std::vector<bool> labels;
    for (size_t i = 0; i < count; ++i) labels.push_back((number >> i) % 2 == 1);
    least = std::min(least, problem.cost(labels));
  }
  return least;
}

struct Graph {
  TwoLabels problem;
  std::vector<TwoLabels::Variable> variables;

  Graph(size_t count, Random& random) {
    for (size_t i = 0; i < count; ++i) {
      variables.push_back(problem.add());
      problem.add_costs(variables.back(), number(random), number(random));
    }
  }
};

constexpr size_t count = 9;

TEST(TwoLabels, TreesAreExactWhateverTheirCosts) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Graph graph(count, random);
    for (size_t i = 1; i < count; ++i)
      graph.problem.add_costs(graph.variables[i], graph.variables[random() % i], any_costs(random));
    const TwoLabels::Result result = graph.problem.least();
    EXPECT_TRUE(result.is_exact);
    EXPECT_DOUBLE_EQ(graph.problem.cost(result.labels), brute_force(graph.problem, count));
  }
}

TEST(TwoLabels, GraphsThatPreferEqualLabelsAreExact) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    Graph graph(count, random);
    for (int i = 0; i < 20; ++i)
      graph.problem.add_costs(graph.variables[random() % count], graph.variables[random() % count],
                              costs_for_equal(random));
    const TwoLabels::Result result = graph.problem.least();
    EXPECT_TRUE(result.is_exact);
    EXPECT_DOUBLE_EQ(graph.problem.cost(result.labels), brute_force(graph.problem, count));
  }
}

// A circle of three that each prefer different labels: one pair cannot.
TEST(TwoLabels, AnOddCircleSaysThatItIsNotExact) {
  TwoLabels problem;
  const TwoLabels::Variable a = problem.add(), b = problem.add(), c = problem.add();
  for (const auto& [first, second] : {std::pair(a, b), {b, c}, {c, a}})
    problem.add_costs(first, second, {{{3, 0}, {0, 3}}});
  const TwoLabels::Result result = problem.least();
  EXPECT_FALSE(result.is_exact);
  EXPECT_EQ(problem.cost(result.labels), 3);
}

TEST(TwoLabels, AnyGraphHasALocalOptimum) {
  Random random(3);
  int exact = 0, least = 0;
  for (int round = 0; round < 200; ++round) {
    Graph graph(count, random);
    for (int i = 0; i < 14; ++i)
      graph.problem.add_costs(graph.variables[random() % count], graph.variables[random() % count], any_costs(random));
    TwoLabels::Result result = graph.problem.least();
    const double cost = graph.problem.cost(result.labels), best = brute_force(graph.problem, count);
    EXPECT_GE(cost, best);
    if (result.is_exact) EXPECT_DOUBLE_EQ(cost, best);
    for (size_t i = 0; i < count; ++i) {
      result.labels[i] = !result.labels[i];
      EXPECT_GE(graph.problem.cost(result.labels), cost);
      result.labels[i] = !result.labels[i];
    }
    exact += result.is_exact ? 1 : 0;
    least += cost == best ? 1 : 0;
  }
  EXPECT_GT(200 - exact, 50);  // the test is of what is not exact
  EXPECT_GT(least, 150);
}

TEST(TwoLabels, OfEqualResultsTheOneWithMoreLabelsOf1) {
  TwoLabels problem;
  const TwoLabels::Variable a = problem.add(), b = problem.add(), free = problem.add();
  problem.add_costs(a, b, {{{0, 5}, {5, 0}}});
  problem.add_costs(a, 1, 0);
  problem.add_costs(b, 0, 1);
  const TwoLabels::Result result = problem.least();
  EXPECT_TRUE(result[a]);
  EXPECT_TRUE(result[b]);
  EXPECT_TRUE(result[free]);
}

TEST(TwoLabels, AVariableThatIsNothingHasTheLabel0) {
  TwoLabels problem;
  const TwoLabels::Variable a = problem.add();
  problem.add_costs(a, std::nullopt, {{{4, 0}, {5, 0}}});
  problem.add_costs(std::nullopt, a, {{{0, 2}, {0, 0}}});
  const TwoLabels::Result result = problem.least();
  EXPECT_FALSE(result[a]);
  EXPECT_FALSE(result[std::nullopt]);
  EXPECT_EQ(problem.cost({true}) - problem.cost({false}), 3);
}

// Long chains go through no recursion.
TEST(TwoLabels, ALongChain) {
  TwoLabels problem;
  TwoLabels::Variable last = problem.add();
  problem.add_costs(last, 100, 0);
  for (int i = 0; i < 50'000; ++i) {
    const TwoLabels::Variable next = problem.add();
    problem.add_costs(last, next, {{{0, 2}, {2, 0}}});
    last = next;
  }
  problem.add_costs(last, 0, 1);
  const TwoLabels::Result result = problem.least();
  EXPECT_TRUE(std::ranges::all_of(result.labels, [](bool label) { return label; }));
}

}  // namespace
}  // namespace onnxc
