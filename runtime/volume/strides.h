// The layout of the elements of a volume: [channels, axes] with strides in elements.
#pragma once

#include "volume/geometry.h"

namespace onnxc::runtime {

struct VolumeStrides {
  int64_t channel = 0;
  int64_t axis[volume_axes] = {};
};

// Row-major.
inline VolumeStrides dense_strides(const int64_t (&extents)[volume_axes]) {
  VolumeStrides strides;
  strides.axis[2] = 1;
  strides.axis[1] = extents[2];
  strides.axis[0] = extents[2] * extents[1];
  strides.channel = strides.axis[0] * extents[0];
  return strides;
}

// Those that a caller gave, for `rank` axes, the last of ours.
inline VolumeStrides given_strides(const int64_t* strides, int32_t rank, bool has_channels) {
  VolumeStrides result;
  if (has_channels) result.channel = *strides++;
  for (int32_t i = 0; i < rank; ++i) result.axis[volume_axes - rank + i] = strides[i];
  return result;
}

// Checks that memory of `bytes` bytes holds every element of [channels, dims], as `strides` (null: row-major) place
// them. channels is 0 if there is no axis of them.
onnxc_status check_strided_memory(int64_t channels, int32_t rank, const int64_t* dims, const int64_t* strides,
                                  int64_t element_bytes, int64_t bytes, ErrorText& error);

}  // namespace onnxc::runtime
