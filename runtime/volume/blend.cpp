#include "volume/blend.h"

#include <math.h>
#include <string.h>

#include <algorithm>

namespace onnxc::runtime {
namespace {

// Slices of values that are written at once if the caller takes them one by one: enough for runs along the last axis.
constexpr int64_t slices_at_once = 16;
// Elements of a run that are worked on at once, so that they stay in the nearest cache.
constexpr int64_t chunk = 256;

// sums[i] += weight(i) * values[i], or values[-i] if they run backwards.
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

onnxc_status Blend::make_room(bool is_on_device, ErrorText& error) {
  const onnxc_status status = check(error);
  if (status != ONNXC_OK) {
    error.append(" (output ");
    error.append_name(name_);
    error.append(" of the volume)");
    return status;
  }
  int64_t written[volume_axes] = {axes_[0].size, axes_[1].size, axes_[2].size};
  const int64_t slab_slices = std::min(axes_[slab_axis_].window, written[slab_axis_]);
  most_slices_ = waits_as_sums() ? slices_at_once : axes_[slab_axis_].padded;
  int64_t slices_bytes = 0;
  bool fits = true;
  if (takes_slices()) {
    written[slab_axis_] = 1;
    strides_ = dense_strides(written);
    const int64_t elements = strides_.channel * written_channels();
    strides_.axis[slab_axis_] = elements;
    slice_bytes_ = elements * element_bytes();
    fits = !__builtin_mul_overflow(slice_bytes_, std::min(slab_slices, most_slices_), &slices_bytes);
  } else {
    strides_ = output_.strides != nullptr
                   ? given_strides(output_.strides, volume_->rank, output_.what != ONNXC_VOLUME_LABELS)
                   : dense_strides(written);
  }
  if (!fits || (!is_on_device && !lines_.set_up(channels_ + 1, axes_, slab_axis_)) || !slices_.reserve(slices_bytes)) {
    error.append("no memory for the sums of output ");
    error.append_name(name_);
    return ONNXC_OUT_OF_MEMORY;
  }
  written_ = output_.data != nullptr ? output_.data : slices_.data();
  for (int32_t i = 0; i < volume_axes; ++i) {
    int32_t place = i;
    for (; place > 0 && strides_.axis[written_order_[place - 1]] < strides_.axis[i]; --place)
      written_order_[place] = written_order_[place - 1];
    written_order_[place] = i;
  }
  return ONNXC_OK;
}

void Blend::begin(const Window& window) {
  Box box;
  for (int32_t a = 0; a < volume_axes; ++a) {
    box.first[a] = axes_[a].starts[window.places[a]];
    box.end[a] = box.first[a] + axes_[a].window;
  }
  lines_.begin(box);
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
  const float* importance = axes_[2].importance.data();
  for (int64_t task = first_task; task < end_task; ++task) {
    const int64_t channel = task / n0, i0 = task % n0;
    const bool is_weight = channel == channels_;
    if (is_weight && !window.has_weight) return;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float outer = axes_[0].importance[i0] * axes_[1].importance[i1];
      const float* values =
          is_weight ? nullptr : window.data + ((channel * n0 + mirror(0, i0)) * n1 + mirror(1, i1)) * n2 + mirror(2, 0);
      for (int64_t begin = 0, count = 0; begin < n2; begin += count) {
        count = std::min(n2 - begin, lines_.run_length(start2 + begin));
        float* sums = lines_.at(start0 + i0, start1 + i1, start2 + begin) + channel * lines_.channel_stride();
        if (is_weight) {
          add_weights(sums, importance + begin, count, outer, least_importance_);
        } else {
          add_run(sums, is_mirrored ? values - begin : values + begin, importance + begin, count, outer,
                  least_importance_, is_mirrored);
        }
      }
    }
  }
}

Box Blend::final_box(int64_t slab, int64_t first_row, int64_t end_row) const {
  const auto start = [&](int32_t a, int64_t place) {
    const OutputAxis& axis = axes_[a];
    return place < axis.starts.size() ? axis.starts[place] : axis.padded;
  };
  Box box{{0, 0, 0}, {axes_[0].padded, axes_[1].padded, axes_[2].padded}};
  box.first[slab_axis_] = start(slab_axis_, slab);
  box.end[slab_axis_] = start(slab_axis_, slab + 1);
  box.first[row_axis()] = start(row_axis(), first_row);
  box.end[row_axis()] = start(row_axis(), end_row);
  return box;
}

// A task is a row along the last axis.
int64_t Blend::finish_tasks(const Box& box) const { return (box.end[0] - box.first[0]) * (box.end[1] - box.first[1]); }

void Blend::finish(const Box& box, int64_t times, int64_t first_task, int64_t end_task) {
  const int64_t rows1 = box.end[1] - box.first[1];
  for (int64_t task = first_task; task < end_task; ++task)
    finish_row(box, box.first[0] + task / rows1, box.first[1] + task % rows1, static_cast<float>(times));
}

// Writes what is inside of the padding, and makes the sums zero.
void Blend::finish_row(const Box& box, int64_t i0, int64_t i1, float times) {
  const auto is_kept = [&](int32_t axis, int64_t place) {
    return place >= axes_[axis].first && place < axes_[axis].first + axes_[axis].size;
  };
  const bool has_kept = is_kept(0, i0) && is_kept(1, i1);
  const int64_t first_kept = axes_[2].first, end_kept = axes_[2].first + axes_[2].size;
  // Slices that are handed over lie from the first one of the box on.
  const int64_t slice_base = takes_slices() ? std::max<int64_t>(box.first[slab_axis_] - axes_[slab_axis_].first, 0) : 0;
  for (int64_t i2 = box.first[2], count = 0; i2 < box.end[2]; i2 += count) {
    count = std::min(chunk, std::min(box.end[2] - i2, lines_.run_length(i2)));
    float* sums = lines_.at(i0, i1, i2);
    const int64_t first = std::max(i2, first_kept), end = std::min(i2 + count, end_kept);
    if (has_kept && first < end) {
      const float* kept = sums + (first - i2);
      Run run{kept,
              kept + channels_ * lines_.channel_stride(),
              end - first,
              {i0 - axes_[0].first, i1 - axes_[1].first, first - first_kept},
              times};
      run.place[slab_axis_] -= slice_base;
      write_run(run);
    }
    for (int64_t c = 0; c <= channels_; ++c)
      memset(sums + c * lines_.channel_stride(), 0, static_cast<size_t>(count) * sizeof(float));
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
    const float* sums = run.sums + c * lines_.channel_stride();
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
    const float* sums = run.sums + c * lines_.channel_stride();
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
    const float* sums = run.sums + c * lines_.channel_stride();
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

Box Blend::kept(const Box& box) const {
  Box kept;
  for (int32_t a = 0; a < volume_axes; ++a) {
    kept.first[a] = std::max(box.first[a], axes_[a].first);
    kept.end[a] = std::max(kept.first[a], std::min(box.end[a], axes_[a].first + axes_[a].size));
  }
  return kept;
}

Blend::Piece Blend::piece(const Box& kept, const Box& part) const {
  Piece piece{kept, 0, {}, 0};
  const int64_t first = axes_[slab_axis_].first;
  piece.first_slice = takes_slices() ? std::max(part.first[slab_axis_], first) : first;
  int64_t elements = 1;
  for (int32_t i = volume_axes; i-- > 0;) {
    const int32_t axis = written_order_[i];
    piece.strides.axis[axis] = elements;
    elements *= kept.end[axis] - kept.first[axis];
  }
  piece.strides.channel = elements;
  piece.bytes = elements * written_channels() * element_bytes();
  return piece;
}

// A task is a plane of a channel: the axes of least strides.
int64_t Blend::write_tasks(const Piece& piece) const {
  const int32_t outer = written_order_[0];
  return written_channels() * (piece.kept.end[outer] - piece.kept.first[outer]);
}

void Blend::write(const Piece& piece, const void* results, int64_t first_task, int64_t end_task) {
  const int64_t bytes = element_bytes();
  const auto extent = [&](int32_t axis) { return piece.kept.end[axis] - piece.kept.first[axis]; };
  const auto [outer, middle, inner] = written_order_;
  const bool is_contiguous = strides_.axis[inner] == 1;
  // The offset of the piece's first place.
  int64_t offset = 0;
  for (int32_t a = 0; a < volume_axes; ++a)
    offset += (piece.kept.first[a] - (a == slab_axis_ ? piece.first_slice : axes_[a].first)) * strides_.axis[a];
  for (int64_t task = first_task; task < end_task; ++task) {
    const int64_t channel = task / extent(outer), i0 = task % extent(outer);
    const char* from =
        static_cast<const char*>(results) + (channel * piece.strides.channel + i0 * piece.strides.axis[outer]) * bytes;
    char* to = static_cast<char*>(written_) + (offset + channel * strides_.channel + i0 * strides_.axis[outer]) * bytes;
    for (int64_t i1 = 0; i1 < extent(middle); ++i1) {
      const char* row = from + i1 * piece.strides.axis[middle] * bytes;
      char* place = to + i1 * strides_.axis[middle] * bytes;
      if (is_contiguous) {
        memcpy(place, row, static_cast<size_t>(extent(inner) * bytes));
        continue;
      }
      for (int64_t i2 = 0; i2 < extent(inner); ++i2)
        memcpy(place + i2 * strides_.axis[inner] * bytes, row + i2 * bytes, static_cast<size_t>(bytes));
    }
  }
}

onnxc_status Blend::hand_over(const Box& box, ErrorText& error) {
  if (!takes_slices()) return ONNXC_OK;
  const OutputAxis& axis = axes_[slab_axis_];
  const int64_t kept_first = std::max(box.first[slab_axis_], axis.first),
                kept_end = std::min(box.end[slab_axis_], axis.first + axis.size);
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
