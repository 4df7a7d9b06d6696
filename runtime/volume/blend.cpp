#include "volume/blend.h"

#include <math.h>
#include <string.h>

#include <algorithm>

namespace onnxc::runtime {
namespace {

// Slices that are written at once where the caller takes them one by one: enough for runs along the last axis.
constexpr int64_t slices_at_once = 16;
// Elements of a run that are worked on at once, so that they stay in the nearest cache.
constexpr int64_t chunk = 256;

// sums[i] += weight(i) * values[i], or values[-i] where they run backwards.
void add_run(float* sums, const float* values, const float* importance, int64_t count, float outer, float least,
             bool is_mirrored) {
  if (is_mirrored) {
    for (int64_t i = 0; i < count; ++i) sums[i] += std::max(outer * importance[i], least) * values[-i];
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] += std::max(outer * importance[i], least) * values[i];
  }
}

void add_weights(float* weights, const float* importance, int64_t count, float outer, float least) {
  for (int64_t i = 0; i < count; ++i) weights[i] += std::max(outer * importance[i], least);
}

}  // namespace

int64_t Blend::sums_elements(const VolumeGeometry& geometry, int32_t slab_axis) {
  int64_t elements = 1;
  for (int32_t a = 0; a < volume_axes; ++a) {
    const WindowedAxis& axis = geometry.axes[a];
    elements *= a == slab_axis ? axis.window : axis.padded;
  }
  return elements;
}

int64_t Blend::element_bytes() const {
  switch (output_.dtype) {
    case ONNXC_UINT8:
      return 1;
    case ONNXC_UINT16:
    case ONNXC_INT16:
      return 2;
    default:
      return 4;
  }
}

onnxc_status Blend::set_up(const onnxc_volume& volume, const onnxc_volume_output& output, const char* name,
                           const VolumeGeometry& geometry, const int64_t* dims, const Array<float>* const* importance,
                           int32_t slab_axis, ErrorText& error) {
  volume_ = &volume;
  output_ = output;
  name_ = name;
  slab_axis_ = slab_axis;
  channels_ = dims[0];
  least_importance_ = geometry.least_importance;
  bool fits = true;
  for (int32_t a = 0; a < volume_axes; ++a) {
    const int64_t window = a < geometry.first_axis ? 1 : dims[1 + a - geometry.first_axis];
    if (!make_output_axis(geometry.axes[a], window, *importance[a], axes_[a], fits)) {
      error.append("no memory for the places of the windows");
      return ONNXC_OUT_OF_MEMORY;
    }
  }
  if (fits && channels_ > 0) return ONNXC_OK;
  error.append("output ");
  error.append_name(name);
  error.append(" is ");
  error.append_dims(dims, volume.rank + 1);
  error.append(
      " for one window, and the windows' places do not come to whole elements at that resolution; choose a "
      "window and an overlap so that window * overlap * (output size / window) is whole on each axis");
  return ONNXC_WRONG_DIMS;
}

onnxc_status Blend::check(ErrorText& error) {
  const bool is_labels = output_.what == ONNXC_VOLUME_LABELS;
  const int64_t labels = std::max<int64_t>(2, channels_);
  bool is_known = output_.dtype == ONNXC_FLOAT32 && !is_labels;
  if (is_labels) {
    is_known = (output_.dtype == ONNXC_UINT8 && labels <= 256) || (output_.dtype == ONNXC_INT16 && labels <= 32768) ||
               (output_.dtype == ONNXC_UINT16 && labels <= 65536) || output_.dtype == ONNXC_INT32;
  }
  if (!is_known) {
    error.append("dtype %d cannot hold %s", output_.dtype, is_labels ? "the labels of " : "values: take float32");
    if (is_labels) error.append("%lld classes: take uint8, int16, uint16 or int32", static_cast<long long>(labels));
    return ONNXC_WRONG_DTYPE;
  }
  if (output_.data == nullptr && output_.write == nullptr) {
    error.append("neither data nor a function that takes slices is given");
    return ONNXC_INVALID_ARGUMENT;
  }
  if (output_.data == nullptr) return ONNXC_OK;
  if (reinterpret_cast<uintptr_t>(output_.data) % static_cast<uintptr_t>(element_bytes()) != 0) {
    error.append("data is not aligned to its elements' %lld bytes", static_cast<long long>(element_bytes()));
    return ONNXC_INVALID_ARGUMENT;
  }
  int64_t dims[volume_axes];
  for (int32_t i = 0; i < volume_->rank; ++i) dims[i] = axes_[volume_axes - volume_->rank + i].size;
  return check_strided_memory(is_labels ? 0 : channels_, volume_->rank, dims, output_.strides, element_bytes(),
                              output_.bytes, error);
}

onnxc_status Blend::make_room(ErrorText& error) {
  const onnxc_status status = check(error);
  if (status != ONNXC_OK) {
    error.append(" (output ");
    error.append_name(name_);
    error.append(" of the volume)");
    return status;
  }
  bool is_representable = true;
  channel_sums_ = 1;
  for (int32_t a = 0; a < volume_axes; ++a) {
    extents_[a] = a == slab_axis_ ? axes_[a].window : axes_[a].padded;
    is_representable &= !__builtin_mul_overflow(channel_sums_, extents_[a], &channel_sums_);
  }
  int64_t sums_bytes = 0;
  is_representable &= !__builtin_mul_overflow(channel_sums_, channels_ + 1, &sums_bytes) &&
                      !__builtin_mul_overflow(sums_bytes, int64_t{sizeof(float)}, &sums_bytes);

  int64_t written[volume_axes] = {axes_[0].size, axes_[1].size, axes_[2].size};
  most_slices_ = written[slab_axis_];
  int64_t slices_bytes = 0;
  if (output_.data == nullptr) {
    most_slices_ = std::min(most_slices_, slices_at_once);
    written[slab_axis_] = 1;
    strides_ = dense_strides(written);
    const int64_t elements = strides_.channel * written_channels();
    strides_.axis[slab_axis_] = elements;
    slice_bytes_ = elements * element_bytes();
    slices_bytes = slice_bytes_ * most_slices_;
  } else {
    strides_ = output_.strides != nullptr
                   ? given_strides(output_.strides, volume_->rank, output_.what != ONNXC_VOLUME_LABELS)
                   : dense_strides(written);
  }
  if (!is_representable || !sums_.reserve(sums_bytes) || !slices_.reserve(slices_bytes)) {
    error.append("no memory for the %lld bytes of sums of output ", static_cast<long long>(sums_bytes));
    error.append_name(name_);
    return ONNXC_OUT_OF_MEMORY;
  }
  weights_ = reinterpret_cast<float*>(sums_.data()) + channels_ * channel_sums_;
  written_ = output_.data != nullptr ? output_.data : slices_.data();
  memset(sums_.data(), 0, static_cast<size_t>(sums_bytes));
  return ONNXC_OK;
}

int64_t Blend::sum_offset(int64_t i0, int64_t i1, int64_t i2) const {
  int64_t places[] = {i0, i1, i2};
  places[slab_axis_] %= extents_[slab_axis_];
  return (places[0] * extents_[1] + places[1]) * extents_[2] + places[2];
}

// A task is a plane of one channel's window; the channel after the last is the weights.
void Blend::add(const Window& window, int64_t first_task, int64_t end_task) {
  const int64_t n0 = axes_[0].window, n1 = axes_[1].window, n2 = axes_[2].window;
  const int64_t start0 = axes_[0].starts[window.places[0]], start1 = axes_[1].starts[window.places[1]],
                start2 = axes_[2].starts[window.places[2]];
  const auto mirror = [&](int32_t axis, int64_t place) {
    return (window.mirrored >> axis & 1) != 0 ? axes_[axis].window - 1 - place : place;
  };
  const bool is_mirrored = (window.mirrored >> 2 & 1) != 0;
  // Along the last axis the ring may begin anew within a window.
  const int64_t first_count = slab_axis_ == 2 ? std::min(n2, n2 - start2 % n2) : n2;
  const float* importance = axes_[2].importance.data();
  for (int64_t task = first_task; task < end_task; ++task) {
    const int64_t channel = task / n0, i0 = task % n0;
    const bool is_weight = channel == channels_;
    if (is_weight && !window.has_weight) return;
    float* sums = is_weight ? weights_ : reinterpret_cast<float*>(sums_.data()) + channel * channel_sums_;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float outer = axes_[0].importance[i0] * axes_[1].importance[i1];
      const float* values =
          is_weight ? nullptr : window.data + ((channel * n0 + mirror(0, i0)) * n1 + mirror(1, i1)) * n2 + mirror(2, 0);
      for (int64_t begin = 0; begin < n2; begin += first_count) {
        const int64_t count = begin == 0 ? first_count : n2 - begin;
        float* place = sums + sum_offset(start0 + i0, start1 + i1, start2 + begin);
        if (is_weight) {
          add_weights(place, importance + begin, count, outer, least_importance_);
        } else {
          add_run(place, is_mirrored ? values - begin : values + begin, importance + begin, count, outer,
                  least_importance_, is_mirrored);
        }
        if (begin > 0) break;
      }
    }
  }
}

void Blend::final_slices(int64_t place, int64_t& first, int64_t& end) const {
  const OutputAxis& axis = axes_[slab_axis_];
  first = axis.starts[place];
  end = place + 1 < axis.starts.size() ? axis.starts[place + 1] : axis.padded;
}

// A task is a row along the last axis.
int64_t Blend::finish_tasks(int64_t first, int64_t end) const {
  int64_t rows[] = {extents_[0], extents_[1], 1};
  rows[slab_axis_] = slab_axis_ == 2 ? 1 : end - first;
  return rows[0] * rows[1];
}

void Blend::finish(int64_t first, int64_t end, int64_t times, int64_t first_task, int64_t end_task) {
  const int64_t rows1 = slab_axis_ == 1 ? end - first : extents_[1];
  for (int64_t task = first_task; task < end_task; ++task) {
    const int64_t i0 = task / rows1 + (slab_axis_ == 0 ? first : 0), i1 = task % rows1 + (slab_axis_ == 1 ? first : 0);
    const int64_t first2 = slab_axis_ == 2 ? first : 0, end2 = slab_axis_ == 2 ? end : axes_[2].padded;
    finish_row(i0, i1, first2, end2, output_.data == nullptr ? first : 0, static_cast<float>(times));
  }
}

// Writes what is inside of the padding, and makes the sums zero. Where slices are handed over, `slice_base` is the
// first one that slices_ holds, else 0.
void Blend::finish_row(int64_t i0, int64_t i1, int64_t first2, int64_t end2, int64_t slice_base, float times) {
  const auto is_kept = [&](int32_t axis, int64_t place) {
    return place >= axes_[axis].first && place < axes_[axis].first + axes_[axis].size;
  };
  const bool has_kept = is_kept(0, i0) && is_kept(1, i1);
  const float* sums = reinterpret_cast<const float*>(sums_.data());
  for (int64_t i2 = first2; i2 < end2;) {
    int64_t count = end2 - i2;
    if (slab_axis_ == 2) count = std::min(count, extents_[2] - i2 % extents_[2]);
    const int64_t first = std::max(i2, axes_[2].first), end = std::min(i2 + count, axes_[2].first + axes_[2].size);
    for (int64_t begin = first; has_kept && begin < end; begin += chunk) {
      const int64_t offset = sum_offset(i0, i1, begin);
      Run run{sums + offset,
              weights_ + offset,
              std::min(chunk, end - begin),
              {i0 - axes_[0].first, i1 - axes_[1].first, begin - axes_[2].first},
              times};
      // Slices that are handed over begin at the first of their block.
      const int64_t base = slice_base - axes_[slab_axis_].first;
      if (output_.data == nullptr) run.place[slab_axis_] -= std::max<int64_t>(base, 0);
      write_run(run);
    }
    const int64_t offset = sum_offset(i0, i1, i2);
    for (int64_t c = 0; c <= channels_; ++c)
      memset(reinterpret_cast<float*>(sums_.data()) + c * channel_sums_ + offset, 0,
             static_cast<size_t>(count) * sizeof(float));
    i2 += count;
  }
}

void Blend::write_run(const Run& run) {
  switch (output_.what) {
    case ONNXC_VOLUME_LABELS:
      if (output_.dtype == ONNXC_UINT8) return write_labels<uint8_t>(run);
      if (output_.dtype == ONNXC_INT32) return write_labels<int32_t>(run);
      return write_labels<uint16_t>(run);  // int16 has the same bits: labels do not reach its sign
    case ONNXC_VOLUME_SOFTMAX:
      return write_softmax(run);
    default:
      return write_values(run);
  }
}

template <class T>
void Blend::write_labels(const Run& run) {
  float best[chunk], divisor[chunk];
  int32_t label[chunk];
  for (int64_t i = 0; i < run.count; ++i) {
    divisor[i] = run.weights[i] * run.times;
    best[i] = run.sums[i] / divisor[i];
    label[i] = channels_ == 1 && best[i] > 0 ? 1 : 0;
  }
  for (int64_t c = 1; c < channels_; ++c) {
    const float* sums = run.sums + c * channel_sums_;
    for (int64_t i = 0; i < run.count; ++i) {
      const float value = sums[i] / divisor[i];
      const bool is_better = value > best[i] || (value != value && best[i] == best[i]);
      best[i] = is_better ? value : best[i];
      label[i] = is_better ? static_cast<int32_t>(c) : label[i];
    }
  }
  T* place = static_cast<T*>(written_) + run.place[0] * strides_.axis[0] + run.place[1] * strides_.axis[1] +
             run.place[2] * strides_.axis[2];
  const int64_t stride = strides_.axis[2];
  for (int64_t i = 0; i < run.count; ++i) place[i * stride] = static_cast<T>(label[i]);
}

void Blend::write_values(const Run& run) {
  const int64_t stride = strides_.axis[2];
  float* place = static_cast<float*>(written_) + run.place[0] * strides_.axis[0] + run.place[1] * strides_.axis[1] +
                 run.place[2] * stride;
  const bool is_sigmoid = output_.what == ONNXC_VOLUME_SIGMOID;
  for (int64_t c = 0; c < channels_; ++c, place += strides_.channel) {
    const float* sums = run.sums + c * channel_sums_;
    for (int64_t i = 0; i < run.count; ++i) {
      const float value = sums[i] / (run.weights[i] * run.times);
      place[i * stride] = is_sigmoid ? 1 / (1 + expf(-value)) : value;
    }
  }
}

// The exponentials stand in the caller's memory until their sum is known.
void Blend::write_softmax(const Run& run) {
  float most[chunk], sum[chunk];
  const int64_t stride = strides_.axis[2];
  float* first = static_cast<float*>(written_) + run.place[0] * strides_.axis[0] + run.place[1] * strides_.axis[1] +
                 run.place[2] * stride;
  for (int64_t c = 0; c < channels_; ++c) {
    const float* sums = run.sums + c * channel_sums_;
    for (int64_t i = 0; i < run.count; ++i) {
      const float value = sums[i] / (run.weights[i] * run.times);
      first[c * strides_.channel + i * stride] = value;
      most[i] = c == 0 || value > most[i] ? value : most[i];
    }
  }
  for (int64_t c = 0; c < channels_; ++c) {
    float* place = first + c * strides_.channel;
    for (int64_t i = 0; i < run.count; ++i) {
      const float value = expf(place[i * stride] - most[i]);
      place[i * stride] = value;
      sum[i] = c == 0 ? value : sum[i] + value;
    }
  }
  for (int64_t c = 0; c < channels_; ++c) {
    float* place = first + c * strides_.channel;
    for (int64_t i = 0; i < run.count; ++i) place[i * stride] /= sum[i];
  }
}

onnxc_status Blend::hand_over(int64_t first, int64_t end, ErrorText& error) {
  if (output_.data != nullptr) return ONNXC_OK;
  const OutputAxis& axis = axes_[slab_axis_];
  const int64_t kept_first = std::max(first, axis.first), kept_end = std::min(end, axis.first + axis.size);
  for (int64_t slice = kept_first; slice < kept_end; ++slice) {
    const char* data = slices_.data() + (slice - kept_first) * slice_bytes_;
    if (output_.write(output_.write_context, slice - axis.first, data) == 0) continue;
    error.append("slice %lld of output ", static_cast<long long>(slice - axis.first));
    error.append_name(name_);
    error.append(" was not taken");
    return ONNXC_STOPPED;
  }
  return ONNXC_OK;
}

}  // namespace onnxc::runtime
