#include "onnxc_run/reports/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace onnxc {
namespace {

double percentile(const std::vector<double>& sorted, double fraction) {
  double position = fraction * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

double median(std::vector<double> samples) {
  std::ranges::sort(samples);
  return percentile(samples, 0.5);
}

}  // namespace

Statistics summarize(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  std::ranges::sort(sorted);
  Statistics result;
  result.minimum = sorted.front();
  result.maximum = sorted.back();
  result.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  result.median = percentile(sorted, 0.5);
  result.p90 = percentile(sorted, 0.9);
  result.p95 = percentile(sorted, 0.95);
  result.p99 = percentile(sorted, 0.99);

  auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  double first_half = samples.size() < 2 ? result.median : median({samples.begin(), middle});
  double second_half = median({middle, samples.end()});
  auto near_median = [&](double value) { return std::abs(value - result.median) <= 0.05 * result.median; };
  result.stable = near_median(first_half) && near_median(second_half) &&
                  result.p90 - percentile(sorted, 0.1) <= 0.2 * result.median;
  return result;
}

}  // namespace onnxc
