// The places of windows in a volume, the weight of each place in a window, and the values outside of the volume.
//
// Source: MONAI 1.6.1, monai/inferers/utils.py (sliding_window_inference) and monai/data/utils.py (dense_patch_slices,
// compute_importance_map); nnU-Net 2.8.1, nnunetv2/inference/sliding_window_prediction.py. Both are followed to the
// rounding of each position, which decides how many windows there are.
//
// A volume has three spatial axes here; those that it lacks stand in front, with one voxel and one window.
#pragma once

#include "base/array.h"
#include "base/error_text.h"
#include "onnxc_volume.h"

namespace onnxc::runtime {

inline constexpr int32_t volume_axes = 3;

// One spatial axis of the input. Positions count from the start of the padding.
struct WindowedAxis {
  int64_t size = 1;    // of the volume, in voxels
  int64_t window = 1;  // in voxels
  int64_t padded = 1;  // the larger of both
  int64_t padding_before = 0;
  Array<int64_t> starts;    // of the windows, rising
  Array<float> importance;  // of each place in a window
  Array<int64_t> source;    // for each padded position the voxel that is read there; outside: none
  static constexpr int64_t outside = -1;
};

struct VolumeGeometry {
  WindowedAxis axes[volume_axes];
  // A voxel counts the product of its axes' importances, in the order of the axes, and at least this.
  float least_importance = 0;

  int32_t first_axis = 0;  // of those that the volume has
  int64_t windows() const { return axes[0].starts.size() * axes[1].starts.size() * axes[2].starts.size(); }
};

// The same axis in an output, which may have another resolution.
struct OutputAxis {
  int64_t window = 1;
  int64_t padded = 1;
  int64_t first = 0, size = 1;  // what is left of the padded extent when the padding is cut off
  Array<int64_t> starts;
  Array<float> importance;
};

// Fills `geometry` from the volume's fields, which are checked here; null pointers in it mean the defaults.
onnxc_status make_geometry(const onnxc_volume& volume, VolumeGeometry& geometry, ErrorText& error);

// The axis of an output whose window has `window` elements there. `importance` is that of the output before it, or the
// input's: MONAI resamples one from the other (nearest-exact). False when memory is short; `fits` becomes false if a
// window has no element, or roundings put one beyond the end.
bool make_output_axis(const WindowedAxis& input, int64_t window, const Array<float>& importance, OutputAxis& axis,
                      bool& fits);

}  // namespace onnxc::runtime
