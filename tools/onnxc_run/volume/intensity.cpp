#include "onnxc_run/volume/intensity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

struct Statistics {
  double mean, deviation, least, greatest;
};

template <class T>
Statistics statistics_of(const Scan& scan, int64_t channel, const onnxc_volume_scaling& scaling) {
  const T* data = reinterpret_cast<const T*>(scan.data) + channel * scan.strides[0];
  std::vector<int64_t> dims = scan.dims, strides(scan.strides.begin() + 1, scan.strides.end());
  dims.insert(dims.begin(), 3 - dims.size(), 1);
  strides.insert(strides.begin(), 3 - strides.size(), 0);
  // In the order of memory.
  size_t order[3] = {0, 1, 2};
  std::ranges::sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  const auto for_each = [&](auto&& body) {
    for (int64_t i = 0; i < dims[order[0]]; ++i)
      for (int64_t j = 0; j < dims[order[1]]; ++j) {
        const T* row = data + i * strides[order[0]] + j * strides[order[1]];
        for (int64_t k = 0; k < dims[order[2]]; ++k) {
          double x = static_cast<double>(row[k * strides[order[2]]]) * scaling.slope + scaling.intercept;
          if (scaling.low != scaling.high) x = x < scaling.low ? scaling.low : (x > scaling.high ? scaling.high : x);
          if (!std::isnan(x)) body(x);
        }
      }
  };
  double sum = 0, squares = 0, count = 0, least = std::numeric_limits<double>::infinity(), greatest = -least;
  for_each([&](double x) {
    sum += x;
    count += 1;
    least = std::min(least, x);
    greatest = std::max(greatest, x);
  });
  const double mean = count > 0 ? sum / count : 0;
  for_each([&](double x) { squares += (x - mean) * (x - mean); });
  return {mean, count > 0 ? std::sqrt(squares / count) : 0, least, greatest};
}

Statistics statistics_of(const Scan& scan, int64_t channel, const onnxc_volume_scaling& scaling) {
  switch (scan.dtype) {
    case DType::uint8:
    case DType::boolean:
      return statistics_of<uint8_t>(scan, channel, scaling);
    case DType::int8:
      return statistics_of<int8_t>(scan, channel, scaling);
    case DType::uint16:
      return statistics_of<uint16_t>(scan, channel, scaling);
    case DType::int16:
      return statistics_of<int16_t>(scan, channel, scaling);
    case DType::uint32:
      return statistics_of<uint32_t>(scan, channel, scaling);
    case DType::int32:
      return statistics_of<int32_t>(scan, channel, scaling);
    case DType::float32:
      return statistics_of<float>(scan, channel, scaling);
    default:
      return statistics_of<double>(scan, channel, scaling);
  }
}

}  // namespace

std::vector<onnxc_volume_scaling> scalings_of(const Scan& scan, const VolumeOptions& options) {
  std::vector<onnxc_volume_scaling> scalings;
  for (int64_t channel = 0; channel < scan.channels; ++channel) {
    onnxc_volume_scaling scaling{scan.slope, scan.intercept, 0, 0, 0, 1};
    if (options.clip) {
      scaling.low = (*options.clip)[0];
      scaling.high = (*options.clip)[1];
    }
    if (options.normalization != Normalization::none) {
      double subtract, divide;
      if (options.normalization_by) {
        subtract = (*options.normalization_by)[0];
        divide = (*options.normalization_by)[1];
        if (options.normalization == Normalization::range) divide -= subtract;
      } else {
        const Statistics found = statistics_of(scan, channel, scaling);
        const bool is_range = options.normalization == Normalization::range;
        subtract = is_range ? found.least : found.mean;
        divide = is_range ? found.greatest - found.least : found.deviation;
      }
      scaling.subtract = subtract;
      scaling.divide = divide > 0 && std::isfinite(divide) ? divide : 1;
    }
    scalings.push_back(scaling);
  }
  return scalings;
}

}  // namespace onnxc
