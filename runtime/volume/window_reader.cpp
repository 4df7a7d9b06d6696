#include "volume/window_reader.h"

#include <string.h>

#include <algorithm>

namespace onnxc::runtime {
namespace {

// A scaling with its defaults put in.
struct Scaling {
  explicit Scaling(const onnxc_volume_scaling& given)
      : slope(given.slope != 0 ? given.slope : 1),
        intercept(given.intercept),
        low(given.low),
        high(given.high),
        subtract(given.subtract),
        divide(given.divide != 0 ? given.divide : 1),
        clips(given.low != given.high) {}

  // A NaN stays one.
  float operator()(double x) const {
    x = x * slope + intercept;
    if (clips) x = x < low ? low : (x > high ? high : x);
    return static_cast<float>((x - subtract) / divide);
  }

  double slope, intercept, low, high, subtract, divide;
  bool clips;
};

int64_t element_bytes(onnxc_dtype dtype) {
  switch (dtype) {
    case ONNXC_UINT8:
    case ONNXC_INT8:
    case ONNXC_BOOL:
      return 1;
    case ONNXC_UINT16:
    case ONNXC_INT16:
      return 2;
    case ONNXC_UINT32:
    case ONNXC_INT32:
    case ONNXC_FLOAT32:
      return 4;
    case ONNXC_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

// Inlined for a stride of 1, it is a loop of vectors.
inline int64_t count_nan(const float* row, int64_t first, int64_t end, int64_t stride) {
  int64_t count = 0;
  for (int64_t i = first; i < end; ++i) count += row[i * stride] != row[i * stride] ? 1 : 0;
  return count;
}

}  // namespace

onnxc_status WindowReader::check(const onnxc_volume& volume, const char* name, ErrorText& error) {
  const auto refuse = [&](onnxc_status status) {
    error.append(" (input ");
    error.append_name(name);
    error.append(" of the volume)");
    return status;
  };
  const int64_t bytes = element_bytes(input_.dtype);
  if (bytes == 0) {
    error.append("elements of dtype %d are not converted: take a whole number of up to 32 bits, float32 or float64",
                 input_.dtype);
    return refuse(ONNXC_WRONG_DTYPE);
  }
  if (input_.channels < 1 || input_.channels > int64_t{1} << 20) {
    error.append("%lld channels", static_cast<long long>(input_.channels));
    return refuse(ONNXC_WRONG_DIMS);
  }
  if (input_.data == nullptr && input_.read == nullptr) {
    error.append("neither data nor a function that reads slices is given");
    return refuse(ONNXC_INVALID_ARGUMENT);
  }
  if (reinterpret_cast<uintptr_t>(input_.data) % static_cast<uintptr_t>(bytes) != 0) {
    error.append("data is not aligned to its elements' %lld bytes", static_cast<long long>(bytes));
    return refuse(ONNXC_INVALID_ARGUMENT);
  }
  if (input_.data == nullptr) return ONNXC_OK;
  const onnxc_status status =
      check_strided_memory(input_.channels, volume.rank, volume.dims, input_.strides, bytes, input_.bytes, error);
  return status == ONNXC_OK ? status : refuse(status);
}

onnxc_status WindowReader::set_up(const onnxc_volume& volume, const onnxc_volume_input& input, const char* name,
                                  const VolumeGeometry& geometry, int32_t slab_axis, ErrorText& error) {
  geometry_ = &geometry;
  input_ = input;
  name_ = name;
  channels_ = input.channels;
  slab_axis_ = slab_axis;
  padding_value_ = static_cast<float>(volume.padding_value);
  const onnxc_status status = check(volume, name, error);
  if (status != ONNXC_OK) return status;

  const int64_t sizes[] = {geometry.axes[0].size, geometry.axes[1].size, geometry.axes[2].size};
  VolumeStrides strides =
      input.strides != nullptr ? given_strides(input.strides, volume.rank, true) : dense_strides(sizes);
  if (input.data == nullptr) {
    // Slices: the slab axis outermost.
    int64_t extents[] = {sizes[0], sizes[1], sizes[2]};
    extents[slab_axis] = 1;
    strides = dense_strides(extents);
    const int64_t elements = strides.channel * channels_;
    strides.axis[slab_axis] = elements;
    const int64_t most = std::max(sizes[0], std::max(sizes[1], sizes[2]));
    slice_places_ = std::min(geometry.axes[slab_axis].window, sizes[slab_axis]);
    int64_t all = 0;
    if (__builtin_mul_overflow(elements, element_bytes(input.dtype), &slice_bytes_) ||
        __builtin_mul_overflow(slice_bytes_, most, &all) || !slices_.reserve(slice_bytes_ * slice_places_)) {
      error.append("no memory for %lld slices of input ", static_cast<long long>(slice_places_));
      error.append_name(name);
      return ONNXC_OUT_OF_MEMORY;
    }
  }
  data_ = input.data != nullptr ? input.data : slices_.data();
  channel_stride_ = strides.channel;
  for (int32_t a = 0; a < volume_axes; ++a) {
    const WindowedAxis& axis = geometry.axes[a];
    if (!offsets_[a].allocate(axis.padded)) {
      error.append("no memory for the places of the windows");
      return ONNXC_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < axis.padded; ++i) {
      const int64_t source = axis.source[i];
      const bool is_slice = input.data == nullptr && a == slab_axis;
      offsets_[a][i] = source == WindowedAxis::outside ? WindowedAxis::outside
                                                       : (is_slice ? source % slice_places_ : source) * strides.axis[a];
    }
  }
  return ONNXC_OK;
}

onnxc_status WindowReader::provide(int64_t end, ErrorText& error) {
  if (input_.data != nullptr) return ONNXC_OK;
  // A padded axis has one window, which needs all slices.
  const WindowedAxis& axis = geometry_->axes[slab_axis_];
  const int64_t last = axis.padded != axis.size ? axis.size : end;
  for (; next_slice_ < last; ++next_slice_) {
    char* place = slices_.data() + next_slice_ % slice_places_ * slice_bytes_;
    if (input_.read(input_.read_context, next_slice_, place) == 0) continue;
    error.append("slice %lld of input ", static_cast<long long>(next_slice_));
    error.append_name(name_);
    error.append(" was not read");
    return ONNXC_INVALID_DATA;
  }
  return ONNXC_OK;
}

template <class T>
void WindowReader::read_typed(const Window& window, int64_t task) {
  const WindowedAxis* axes = geometry_->axes;
  const int64_t channel = task / window.extents[1], place1 = task % window.extents[1], n0 = window.extents[0],
                n2 = window.extents[2], stride = window.strides.axis[2];
  const auto mirror = [&](int32_t axis, int64_t place) {
    return (window.mirrored >> axis & 1) != 0 ? window.extents[axis] - 1 - place : place;
  };
  const int64_t padded1 = window.starts[1] + mirror(1, place1);
  const int64_t offset1 = offsets_[1][padded1];
  const T* data = static_cast<const T*>(data_) + channel * channel_stride_;
  const int64_t* offsets2 = offsets_[2].data() + window.starts[2];
  const bool is_mirrored = (window.mirrored >> 2 & 1) != 0;
  const bool is_contiguous = !is_mirrored && stride == 1 && offsets2[0] >= 0 && axes[2].padded == axes[2].size &&
                             offsets2[n2 - 1] - offsets2[0] == n2 - 1;
  const bool scales = input_.scaling != nullptr;
  const Scaling scaling(scales ? input_.scaling[channel] : onnxc_volume_scaling{});
  const auto convert = [&](T x) { return scales ? scaling(static_cast<double>(x)) : static_cast<float>(x); };

  int64_t nan_count = 0;
  for (int64_t place0 = 0; place0 < n0; ++place0) {
    float* row = window.data + channel * window.strides.channel + place0 * window.strides.axis[0] +
                 place1 * window.strides.axis[1];
    const int64_t padded0 = window.starts[0] + mirror(0, place0);
    const int64_t offset0 = offsets_[0][padded0];
    if (offset0 < 0 || offset1 < 0) {
      for (int64_t i = 0; i < n2; ++i) row[i * stride] = padding_value_;
      continue;
    }
    const T* source = data + offset0 + offset1;
    if (is_contiguous && !scales) {
      const T* first = source + offsets2[0];
      for (int64_t i = 0; i < n2; ++i) row[i] = static_cast<float>(first[i]);
    } else if (is_mirrored) {
      for (int64_t i = 0; i < n2; ++i) {
        const int64_t offset = offsets2[n2 - 1 - i];
        row[i * stride] = offset < 0 ? padding_value_ : convert(source[offset]);
      }
    } else {
      for (int64_t i = 0; i < n2; ++i)
        row[i * stride] = offsets2[i] < 0 ? padding_value_ : convert(source[offsets2[i]]);
    }

    // Each voxel is counted once: by the first window that has it, if it is not a repetition of the padding.
    if (window.fresh == nullptr || place0 < window.fresh[0] || place1 < window.fresh[1]) continue;
    const auto is_voxel = [&](int32_t axis, int64_t padded) {
      return padded >= axes[axis].padding_before && padded < axes[axis].padding_before + axes[axis].size;
    };
    if (!is_voxel(0, padded0) || !is_voxel(1, padded1)) continue;
    const int64_t first2 = std::max(window.fresh[2], axes[2].padding_before - window.starts[2]);
    const int64_t end2 = std::min(n2, axes[2].padding_before + axes[2].size - window.starts[2]);
    nan_count += stride == 1 ? count_nan(row, first2, end2, 1) : count_nan(row, first2, end2, stride);
  }
  if (nan_count > 0) nan_count_.fetch_add(nan_count, std::memory_order_relaxed);
}

void WindowReader::read_rows(const Window& window, int64_t first_task, int64_t end_task) {
  for (int64_t task = first_task; task < end_task; ++task) {
    switch (input_.dtype) {
      case ONNXC_UINT8:
      case ONNXC_BOOL:
        read_typed<uint8_t>(window, task);
        break;
      case ONNXC_INT8:
        read_typed<int8_t>(window, task);
        break;
      case ONNXC_UINT16:
        read_typed<uint16_t>(window, task);
        break;
      case ONNXC_INT16:
        read_typed<int16_t>(window, task);
        break;
      case ONNXC_UINT32:
        read_typed<uint32_t>(window, task);
        break;
      case ONNXC_INT32:
        read_typed<int32_t>(window, task);
        break;
      case ONNXC_FLOAT32:
        read_typed<float>(window, task);
        break;
      default:
        read_typed<double>(window, task);
    }
  }
}

}  // namespace onnxc::runtime
