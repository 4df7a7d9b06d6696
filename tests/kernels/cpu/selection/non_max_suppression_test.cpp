#include "kernels/cpu/selection/non_max_suppression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

struct Problem {
  SuppressionSizes sizes;
  std::vector<float> corners;
  std::vector<int64_t> order;
  std::optional<std::vector<uint8_t>> candidates = {};
  std::optional<int64_t> most = {};
  std::optional<float> threshold = {};
};

// Each task on its own, last first, in scratch that is full of ones; what surrounds the output must stay as it was.
std::vector<uint8_t> chosen_by_kernel(const Problem& problem) {
  std::vector<uint8_t> chosen(problem.order.size() + 2, 0x77);
  const SuppressionArguments arguments{problem.corners.data(),
                                       problem.order.data(),
                                       problem.candidates ? problem.candidates->data() : nullptr,
                                       problem.most ? &*problem.most : nullptr,
                                       problem.threshold ? &*problem.threshold : nullptr,
                                       chosen.data() + 1,
                                       problem.sizes};
  const KernelWork work = NonMaxSuppression::work(problem.sizes);
  const auto bytes = static_cast<size_t>(round_up(work.scratch_bytes, 64));
  void* const scratch = std::aligned_alloc(64, bytes + 64);
  for (int64_t task = work.tasks; task-- > 0;) {
    std::fill_n(static_cast<unsigned char*>(scratch), bytes + 64, 0xff);
    NonMaxSuppression::run(arguments, task, task + 1, scratch);
    EXPECT_EQ(static_cast<unsigned char*>(scratch)[bytes], 0xff) << "written behind the scratch";
  }
  std::free(scratch);
  EXPECT_EQ(chosen.front(), 0x77);
  EXPECT_EQ(chosen.back(), 0x77);
  return {chosen.begin() + 1, chosen.end() - 1};
}

bool overlap(const float* a, const float* b, float threshold) {
  const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]), height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  const float common = width * height, both = area_a + area_b;
  return width > 0 && height > 0 && common / (both - common) > threshold;
}

// Each box against each that was chosen, as ONNX NonMaxSuppression has it.
std::vector<uint8_t> reference(const Problem& problem) {
  std::vector<uint8_t> chosen(problem.order.size());
  const auto [images, classes, boxes] = problem.sizes;
  for (int64_t task = 0; task < images * classes; ++task) {
    const float* const corners = problem.corners.data() + task / classes * boxes * 4;
    std::vector<const float*> kept;
    for (int64_t place = task * boxes; place < (task + 1) * boxes; ++place) {
      const auto at = static_cast<size_t>(place);
      const float* const box = corners + problem.order[at] * 4;
      if (problem.candidates && (*problem.candidates)[at] == 0) continue;
      if (std::ssize(kept) >= problem.most.value_or(0)) continue;
      const auto overlaps = [&](const float* other) { return overlap(box, other, problem.threshold.value_or(0.0f)); };
      if (std::any_of(kept.begin(), kept.end(), overlaps)) continue;
      chosen[at] = 1;
      kept.push_back(box);
    }
  }
  return chosen;
}

Problem drawn(const SuppressionSizes& sizes, float extent) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> place(0.0f, 1.0f), length(0.0f, extent);
  Problem problem{sizes, {}, {}};
  for (int64_t box = 0; box < sizes.images * sizes.boxes; ++box) {
    const float x = place(generator), y = place(generator);
    for (const float value : {x, y, x + length(generator), y + length(generator)}) problem.corners.push_back(value);
  }
  for (int64_t task = 0; task < sizes.images * sizes.classes; ++task) {
    std::vector<int64_t> order(static_cast<size_t>(sizes.boxes));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    problem.order.insert(problem.order.end(), order.begin(), order.end());
  }
  return problem;
}

TEST(ISA_SUITE(NonMaxSuppression), NumbersOfBoxesAroundTheVectors) {
  for (const int64_t boxes : {0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 200})
    for (const float extent : {0.02f, 0.5f})
      for (const int64_t most : {0, 1, 8, 16, 1000}) {
        Problem problem = drawn({2, 3, boxes}, extent);
        problem.most = most;
        for (const std::optional<float> threshold : {std::optional<float>{}, {0.1f}, {0.6f}, {1.0f}}) {
          problem.threshold = threshold;
          ASSERT_EQ(chosen_by_kernel(problem), reference(problem)) << boxes << " boxes, at most " << most;
        }
      }
}

TEST(ISA_SUITE(NonMaxSuppression), CandidatesAlone) {
  Problem problem = drawn({2, 3, 100}, 0.3f);
  problem.most = 20;
  problem.threshold = 0.3f;
  std::mt19937 generator(2);
  problem.candidates.emplace();
  for (size_t i = 0; i < problem.order.size(); ++i) problem.candidates->push_back(generator() % 3 == 0 ? 1 : 0);
  EXPECT_EQ(chosen_by_kernel(problem), reference(problem));
  problem.most.reset();
  EXPECT_EQ(chosen_by_kernel(problem), std::vector<uint8_t>(problem.order.size()));
}

// A box that is empty, or that holds a NaN, overlaps none; two with the same area as their common part overlap by 1.
TEST(ISA_SUITE(NonMaxSuppression), BoxesThatOverlapNone) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> corners{0,   0, 2, 2, 0, 0, 2, 2,   1,         1, 1,        2,
                                   nan, 0, 2, 2, 0, 0, 2, nan, -infinite, 0, infinite, 2};
  Problem problem{{1, 1, 6}, corners, {0, 1, 2, 3, 4, 5}};
  problem.most = 6;
  EXPECT_EQ(chosen_by_kernel(problem), (std::vector<uint8_t>{1, 0, 1, 1, 1, 1}));
  problem.threshold = 1.0f;
  EXPECT_EQ(chosen_by_kernel(problem), (std::vector<uint8_t>{1, 1, 1, 1, 1, 1}));
}

}  // namespace
}  // namespace onnxc::kernels
