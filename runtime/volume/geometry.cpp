#include "volume/geometry.h"

#include <math.h>

#include <algorithm>

#include "base/number_text.h"

namespace onnxc::runtime {
namespace {

constexpr double default_overlap = 0.25, default_step = 0.5, default_sigma_scale = 0.125;
constexpr float monai_least_importance = 1e-3f;
constexpr double nnunet_peak = 10, nnunet_truncation = 4;
// Far above any scan, and low enough that products of two sizes and an element's bytes fit.
constexpr int64_t largest_size = int64_t{1} << 28;

onnxc_status no_memory(ErrorText& error) {
  error.append("no memory for the places of the windows");
  return ONNXC_OUT_OF_MEMORY;
}

// MONAI: dense_patch_slices over _get_scan_interval.
bool scan_starts(int64_t padded, int64_t window, double overlap, Array<int64_t>& starts) {
  int64_t interval = window;
  if (window != padded)
    interval = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(window) * (1 - overlap)));
  const int64_t rest = padded - window;
  if (!starts.allocate((rest + interval - 1) / interval + 1)) return false;
  for (int64_t i = 0; i < starts.size(); ++i) starts[i] = std::min(i * interval, rest);
  return true;
}

// nnU-Net: compute_steps_for_sliding_window; numpy rounds halves to the even neighbour, as rint does.
bool even_starts(int64_t padded, int64_t window, double step, Array<int64_t>& starts) {
  const double target = static_cast<double>(window) * step;
  const int64_t rest = padded - window;
  const int64_t count = static_cast<int64_t>(ceil(static_cast<double>(rest) / target)) + 1;
  if (!starts.allocate(count)) return false;
  const double actual = count > 1 ? static_cast<double>(rest) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) starts[i] = static_cast<int64_t>(rint(actual * static_cast<double>(i)));
  return true;
}

// The axis' factor of a Gaussian; the peak of nnU-Net's is a factor of the first axis.
void fill_importance(int32_t kind, double sigma_scale, double peak, Array<float>& importance) {
  const int64_t size = importance.size();
  const double sigma = static_cast<double>(size) * sigma_scale;
  for (int64_t i = 0; i < size; ++i) {
    if (kind == ONNXC_IMPORTANCE_CONSTANT) {
      importance[i] = 1;
    } else if (kind == ONNXC_IMPORTANCE_GAUSSIAN) {
      const float x = static_cast<float>(static_cast<double>(i) - static_cast<double>(size - 1) / 2);
      importance[i] = expf(x * x / static_cast<float>(-2 * sigma * sigma));
    } else {
      const double x = static_cast<double>(i - size / 2);
      const bool is_cut = fabs(x) > floor(nnunet_truncation * sigma + 0.5);
      importance[i] = is_cut ? 0 : static_cast<float>(peak * exp(-x * x / (2 * sigma * sigma)));
    }
  }
}

float least_importance(int32_t kind, const VolumeGeometry& geometry) {
  float least = 1, least_positive = 1;
  for (const WindowedAxis& axis : geometry.axes) {
    float of_axis = axis.importance[0], positive_of_axis = 0;
    for (int64_t i = 0; i < axis.importance.size(); ++i) {
      const float value = axis.importance[i];
      of_axis = std::min(of_axis, value);
      if (value > 0 && (positive_of_axis == 0 || value < positive_of_axis)) positive_of_axis = value;
    }
    least *= of_axis;
    least_positive *= positive_of_axis;
  }
  if (kind == ONNXC_IMPORTANCE_CONSTANT) return 0;
  return kind == ONNXC_IMPORTANCE_GAUSSIAN ? std::max(least, monai_least_importance) : least_positive;
}

// The voxel that padded position `i` reads, as torch.nn.functional.pad has it.
int64_t source_of(int64_t i, int64_t size, int32_t padding) {
  if (i >= 0 && i < size) return i;
  if (padding == ONNXC_PAD_REPLICATE) return i < 0 ? 0 : size - 1;
  if (padding == ONNXC_PAD_REFLECT) return i < 0 ? -i : 2 * (size - 1) - i;
  if (padding == ONNXC_PAD_CIRCULAR) return i < 0 ? i + size : i - size;
  return WindowedAxis::outside;
}

onnxc_status make_axis(const onnxc_volume& volume, int32_t index, WindowedAxis& axis, double peak, ErrorText& error) {
  axis.size = volume.dims[index];
  axis.window = volume.window[index] > 0 ? volume.window[index] : axis.size;
  if (axis.size < 1 || axis.size > largest_size || axis.window > largest_size) {
    error.append("axis %d of the volume has %lld voxel%s and the window %lld; both range from 1 to %lld", index,
                 static_cast<long long>(axis.size), plural(axis.size), static_cast<long long>(axis.window),
                 static_cast<long long>(largest_size));
    return ONNXC_INVALID_ARGUMENT;
  }
  axis.padded = std::max(axis.size, axis.window);
  const int64_t padding = axis.padded - axis.size;
  axis.padding_before = padding / 2;
  const int64_t most = volume.padding == ONNXC_PAD_REFLECT ? axis.size - 1 : axis.size;
  const bool is_bounded = volume.padding == ONNXC_PAD_REFLECT || volume.padding == ONNXC_PAD_CIRCULAR;
  if (is_bounded && padding - axis.padding_before > most) {
    error.append(
        "axis %d of the volume has %lld voxel%s, too few to pad it to the window's %lld by %s; take constant or "
        "replicate padding",
        index, static_cast<long long>(axis.size), plural(axis.size), static_cast<long long>(axis.window),
        volume.padding == ONNXC_PAD_REFLECT ? "reflection" : "repetition (circular)");
    return ONNXC_INVALID_ARGUMENT;
  }

  const double overlap = volume.overlap != nullptr ? volume.overlap[index] : default_overlap;
  const double step = volume.step != nullptr ? volume.step[index] : default_step;
  const double sigma_scale = volume.sigma_scale != nullptr ? volume.sigma_scale[index] : default_sigma_scale;
  // Negated, so that a NaN is refused.
  if (volume.places == ONNXC_PLACES_SCAN && !(overlap >= 0 && overlap < 1)) {
    error.append("the overlap of axis %d is %g, and it ranges from 0 to below 1", index, overlap);
    return ONNXC_INVALID_ARGUMENT;
  }
  if (volume.places == ONNXC_PLACES_EVEN && !(step > 1e-6 && step <= 1)) {
    error.append("the step of axis %d is %g windows, and it ranges from above 0 to 1", index, step);
    return ONNXC_INVALID_ARGUMENT;
  }
  if (!(sigma_scale > 0 && sigma_scale < 1e6)) {
    error.append("sigma_scale of axis %d is %g, and it must be above 0", index, sigma_scale);
    return ONNXC_INVALID_ARGUMENT;
  }

  const bool has_starts = volume.places == ONNXC_PLACES_SCAN
                              ? scan_starts(axis.padded, axis.window, overlap, axis.starts)
                              : even_starts(axis.padded, axis.window, step, axis.starts);
  if (!has_starts || !axis.importance.allocate(axis.window) || !axis.source.allocate(axis.padded))
    return no_memory(error);
  fill_importance(volume.importance, sigma_scale, peak, axis.importance);
  for (int64_t i = 0; i < axis.padded; ++i)
    axis.source[i] = source_of(i - axis.padding_before, axis.size, volume.padding);
  return ONNXC_OK;
}

onnxc_status check_choices(const onnxc_volume& volume, ErrorText& error) {
  struct Choice {
    const char* name;
    int32_t value, most;
  };
  const Choice choices[] = {{"places", volume.places, ONNXC_PLACES_EVEN},
                            {"importance", volume.importance, ONNXC_IMPORTANCE_GAUSSIAN_NNUNET},
                            {"padding", volume.padding, ONNXC_PAD_CIRCULAR}};
  for (const Choice& choice : choices) {
    if (choice.value >= 0 && choice.value <= choice.most) continue;
    error.append("onnxc_volume.%s is %d, and it ranges from 0 to %d", choice.name, choice.value, choice.most);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

}  // namespace

onnxc_status make_geometry(const onnxc_volume& volume, VolumeGeometry& geometry, ErrorText& error) {
  onnxc_status status = check_choices(volume, error);
  if (status != ONNXC_OK) return status;
  geometry.first_axis = volume_axes - volume.rank;
  for (int32_t i = 0; i < geometry.first_axis; ++i) {
    WindowedAxis& axis = geometry.axes[i];
    if (!axis.starts.allocate(1) || !axis.importance.allocate(1) || !axis.source.allocate(1)) return no_memory(error);
    axis.importance[0] = 1;
  }
  for (int32_t i = geometry.first_axis; i < volume_axes; ++i) {
    status =
        make_axis(volume, i - geometry.first_axis, geometry.axes[i], i == geometry.first_axis ? nnunet_peak : 1, error);
    if (status != ONNXC_OK) return status;
  }
  geometry.least_importance = least_importance(volume.importance, geometry);
  return ONNXC_OK;
}

bool make_output_axis(const WindowedAxis& input, int64_t window, const Array<float>& importance, OutputAxis& axis,
                      bool& fits) {
  axis.window = window;
  if (window < 1) {
    fits = false;
    return true;
  }
  if (!axis.starts.allocate(input.starts.size()) || !axis.importance.allocate(window)) return false;
  // The products and roundings are MONAI's.
  const double zoom = static_cast<double>(window) / static_cast<double>(input.window);
  const auto zoomed = [&](int64_t position) { return static_cast<int64_t>(static_cast<double>(position) * zoom); };
  axis.padded = zoomed(input.padded);
  for (int64_t i = 0; i < input.starts.size(); ++i) {
    axis.starts[i] = zoomed(input.starts[i]);
    fits &= zoomed(input.starts[i] + input.window) - axis.starts[i] == window;
  }
  axis.first = 0;
  axis.size = axis.padded;
  if (input.padded != input.size) {
    axis.first = static_cast<int64_t>(rint(static_cast<double>(input.padding_before) * zoom));
    const double end = rint(static_cast<double>(input.padding_before + input.size) * zoom);
    axis.size = std::min(axis.padded, static_cast<int64_t>(end)) - axis.first;
  }
  fits &= axis.starts[axis.starts.size() - 1] + window <= axis.padded;

  // torch's nearest-exact: the element under the middle of the new one.
  const float ratio = static_cast<float>(importance.size()) / static_cast<float>(window);
  for (int64_t i = 0; i < window; ++i) {
    const int64_t nearest =
        static_cast<int64_t>(floorf(static_cast<float>((static_cast<double>(i) + 0.5) * static_cast<double>(ratio))));
    axis.importance[i] = importance[std::min(nearest, importance.size() - 1)];
  }
  return true;
}

}  // namespace onnxc::runtime
