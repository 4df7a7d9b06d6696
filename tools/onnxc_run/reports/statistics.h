// Statistics of repeated measurements.
#pragma once

#include <string>
#include <vector>

namespace onnxc {

struct Statistics {
  double minimum = 0, maximum = 0, mean = 0, median = 0, p90 = 0, p95 = 0, p99 = 0;
  // Neither drifting nor noisy: the medians of the first and the second half are within 5% of the whole's, and so is
  // the range from the 10th to the 90th percentile within 20%.
  bool stable = false;
};

// For at least one sample. Percentiles are interpolated between the nearest samples.
Statistics summarize(const std::vector<double>& samples);

}  // namespace onnxc
