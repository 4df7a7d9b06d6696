// The facts for a run over a volume before its first window: windows that the model takes, the dims of its outputs, the
// memory.
#include <ctype.h>

#include <algorithm>

#include "base/number_text.h"
#include "base/value_check.h"
#include "host/instance.h"
#include "host/options.h"
#include "volume/volume_run.h"

namespace onnxc::runtime {
namespace {

// So many small windows run at once by default that threads find work between the ends of steps. A UNet of 8 to 32
// channels takes 0.84 of the time a window on 32^3, one of 16 to 128 channels 0.87, and 0.92 on 48^3 (two threads of
// Zen 4). On 96^3 two windows took 1.06.
constexpr int64_t usual_voxels = 64 * 64 * 64, most_usual_windows = 8;
// A GPU's units find too little work in the lowest levels of a network on one window of 96^3.
constexpr int64_t usual_voxels_on_gpu = 4 * 96 * 96 * 96, most_usual_windows_on_gpu = 64;
// Legal sizes are mostly multiples of a power of two: of the product of a network's strides.
constexpr int64_t largest_multiple = 256;

}  // namespace

onnxc_status VolumeRun::plan(const onnxc_volume* volume) {
  onnxc_status status = read_options(volume, volume_, error_);
  if (status == ONNXC_OK) status = check_fields();
  if (status == ONNXC_OK) status = make_geometry(volume_, geometry_, error_);
  if (status == ONNXC_OK) status = check_values();
  if (status == ONNXC_OK) status = choose_batch();
  if (status != ONNXC_OK) return status;
  choose_slab_axis();
  // A batch ends with its slab.
  batch_ = std::min(batch_, geometry_.windows() / geometry_.axes[slab_axis_].starts.size());
  status = bind_window();
  return status == ONNXC_OK ? make_blends() : status;
}

onnxc_status VolumeRun::check_fields() {
  if (volume_.rank < 1 || volume_.rank > volume_axes) {
    error_.append("onnxc_volume.rank is %d, and it ranges from 1 to %d", volume_.rank, volume_axes);
    return ONNXC_INVALID_ARGUMENT;
  }
  if (volume_.dims == nullptr || volume_.window == nullptr)
    return instance_.refuse(ONNXC_INVALID_ARGUMENT, "the dims or the window of the volume are null");
  if (volume_.inputs == nullptr || volume_.outputs == nullptr)
    return instance_.refuse(ONNXC_INVALID_ARGUMENT, "the inputs or the outputs of the volume are null");
  if ((volume_.mirrored_axes >> volume_.rank) != 0) {
    error_.append("onnxc_volume.mirrored_axes is 0x%x, and the volume has %d axes", volume_.mirrored_axes,
                  volume_.rank);
    return ONNXC_INVALID_ARGUMENT;
  }
  if (volume_.slab_axis < -1 || volume_.slab_axis >= volume_.rank) {
    error_.append("onnxc_volume.slab_axis is %d, and it ranges from -1 (choose) to %d", volume_.slab_axis,
                  volume_.rank - 1);
    return ONNXC_INVALID_ARGUMENT;
  }
  if (volume_.member_count < 0 || (volume_.member_count > 0 && volume_.members == nullptr))
    return instance_.refuse(ONNXC_INVALID_ARGUMENT, "the members of the volume are null, or fewer than none");
  return ONNXC_OK;
}

// Checks that the model's inputs can be windows, its outputs blended, and slices handed over along a known axis.
onnxc_status VolumeRun::check_values() {
  if (instance_.model.state_count > 0)
    return instance_.refuse(ONNXC_INVALID_ARGUMENT, "the model has states, which windows of a volume do not hand on");
  bool has_window = false, has_output = false, has_slices = false;
  const bool takes_halves = instance_.device_ != nullptr;
  const auto check = [&](const char* role, const onnxc_value_info& info) {
    const bool is_half = info.dtype == ONNXC_FLOAT16 || info.dtype == ONNXC_BFLOAT16;
    const bool has_type = info.dtype == ONNXC_FLOAT32 || (takes_halves && is_half);
    if (has_type && info.rank == volume_.rank + 2) return ONNXC_OK;
    error_.append("%s ", role);
    error_.append_name(info.name);
    error_.append(" has dtype %d and rank %d, and windows of a volume with %d axes are float32 (1)%s and of rank %d",
                  info.dtype, info.rank, volume_.rank, takes_halves ? ", float16 (10) or bfloat16 (16)" : "",
                  volume_.rank + 2);
    if (is_half && !takes_halves) error_.append("; on a GPU they may be float16 or bfloat16");
    return has_type ? ONNXC_WRONG_RANK : ONNXC_WRONG_DTYPE;
  };
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (!is_windowed(i)) continue;
    has_window = true;
    has_slices |= volume_.inputs[i].data == nullptr;
    const onnxc_status status = check("input", model.inputs[i]);
    if (status != ONNXC_OK) return status;
  }
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (volume_.outputs[i].what < ONNXC_VOLUME_NOTHING || volume_.outputs[i].what > ONNXC_VOLUME_LABELS) {
      error_.append("output ");
      error_.append_name(model.outputs[i].name);
      error_.append(": onnxc_volume_output.what is %d, and it ranges from 0 to %d", volume_.outputs[i].what,
                    ONNXC_VOLUME_LABELS);
      return ONNXC_INVALID_ARGUMENT;
    }
    if (!is_written(i)) continue;
    has_output = true;
    has_slices |= volume_.outputs[i].data == nullptr && volume_.outputs[i].write != nullptr;
    const onnxc_status status = check("output", model.outputs[i]);
    if (status != ONNXC_OK) return status;
  }
  if (!has_window) return instance_.refuse(ONNXC_INVALID_ARGUMENT, "every input of the volume is fixed");
  if (!has_output) return instance_.refuse(ONNXC_INVALID_ARGUMENT, "nothing would be written of any output");
  if (has_slices && volume_.slab_axis < 0)
    return instance_.refuse(ONNXC_INVALID_ARGUMENT, "slices are read or taken one by one: state the slab axis");
  return ONNXC_OK;
}

// A model may have a number of its own for the windows of a run.
onnxc_status VolumeRun::choose_batch() {
  batch_ = volume_.batch;
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (!is_windowed(i) || !isdigit(model.inputs[i].dims[0][0])) continue;
    const char* text = model.inputs[i].dims[0];
    const int64_t own = take_number(text);
    if (own == 1 && batch_ == 0) batch_ = 1;
    if (own == 1 && batch_ == 1) continue;
    error_.append("input ");
    error_.append_name(model.inputs[i].name);
    error_.append(own == 1 ? " takes one window in a run, and %lld are asked for"
                           : " takes exactly %lld windows in a run; export the model with a dynamic batch, or with 1",
                  static_cast<long long>(own == 1 ? batch_ : own));
    return ONNXC_WRONG_DIMS;
  }
  if (batch_ == 0) batch_ = usual_batch();
  if (batch_ > 0 && batch_ <= largest_batch) {
    batch_ = std::min(batch_, std::min(geometry_.windows(), most_windows_));
    return ONNXC_OK;
  }
  error_.append("%lld windows in a run are asked for, and the number ranges from 1 to %lld",
                static_cast<long long>(batch_), static_cast<long long>(largest_batch));
  return ONNXC_INVALID_ARGUMENT;
}

int64_t VolumeRun::usual_batch() const {
  const bool is_on_gpu = instance_.device_ != nullptr;  // on_gpu_ is made later
  const int64_t usual = is_on_gpu ? usual_voxels_on_gpu : usual_voxels;
  int64_t voxels = 1;
  for (const WindowedAxis& axis : geometry_.axes) voxels *= std::min(axis.window, usual);
  return std::clamp<int64_t>(usual / std::max<int64_t>(voxels, 1), 1,
                             is_on_gpu ? most_usual_windows_on_gpu : most_usual_windows);
}

void VolumeRun::choose_slab_axis() {
  slab_axis_ = geometry_.first_axis + std::max(volume_.slab_axis, 0);
  if (volume_.slab_axis >= 0) return;
  for (int32_t a = geometry_.first_axis; a < volume_axes; ++a)
    if (Blend::sums_elements(geometry_, a) < Blend::sums_elements(geometry_, slab_axis_)) slab_axis_ = a;
}

// The dims of the outputs for a batch of windows, in output_dims_.
onnxc_status VolumeRun::window_output_dims(int64_t batch, const int64_t* window) {
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (!is_windowed(i)) continue;
    input_dims_[i][0] = batch;
    input_dims_[i][1] = volume_.inputs[i].channels;
    for (int32_t a = 0; a < volume_.rank; ++a) input_dims_[i][2 + a] = window[a];
  }
  error_.clear();
  return instance_.output_dims_in_call(input_dims_.data(), output_dims_.data());
}

onnxc_status VolumeRun::bind_window() {
  int64_t ranks = 0;
  for (int32_t i = 0; i < model.input_count; ++i) ranks += model.inputs[i].rank;
  for (int32_t i = 0; i < model.output_count; ++i) ranks += model.outputs[i].rank;
  if (!dims_.allocate(ranks) || !input_dims_.allocate(model.input_count) || !output_dims_.allocate(model.output_count))
    return instance_.refuse(ONNXC_OUT_OF_MEMORY, "no memory for the dims of a window");
  int64_t* next = dims_.data();
  for (int32_t i = 0; i < model.input_count; next += model.inputs[i++].rank) {
    input_dims_[i] = next;
    if (is_windowed(i)) continue;
    const onnxc_value& fixed = *volume_.inputs[i].fixed;
    if (fixed.rank != model.inputs[i].rank || (fixed.rank > 0 && fixed.dims == nullptr)) {
      error_.append("fixed input ");
      error_.append_name(model.inputs[i].name);
      error_.append(" has rank %d, expected %d", fixed.rank, model.inputs[i].rank);
      return ONNXC_WRONG_RANK;
    }
    std::copy(fixed.dims, fixed.dims + fixed.rank, next);
  }
  for (int32_t i = 0; i < model.output_count; next += model.outputs[i++].rank) output_dims_[i] = next;

  int64_t window[volume_axes];
  for (int32_t a = 0; a < volume_.rank; ++a) window[a] = geometry_.axes[geometry_.first_axis + a].window;
  onnxc_status status = window_output_dims(batch_, window);
  // Nobody asked for more than one window, and the model may not take them.
  if (volume_.batch == 0 && batch_ > 1 && (status != ONNXC_OK || !gives_each_window())) {
    batch_ = 1;
    status = window_output_dims(batch_, window);
  }
  if (status == ONNXC_WRONG_DIMS) name_legal_windows();
  return status;
}

bool VolumeRun::gives_each_window() const {
  for (int32_t i = 0; i < model.output_count; ++i)
    if (is_written(i) && output_dims_[i][0] != batch_) return false;
  return true;
}

// Adds to the error the nearest sizes that the model takes: multiples of the least power of two that works on every
// axis, and of these on each axis only what is needed.
void VolumeRun::name_legal_windows() {
  const ErrorText reason = error_;
  int64_t window[volume_axes], below[volume_axes], above[volume_axes];
  for (int32_t a = 0; a < volume_.rank; ++a) window[a] = geometry_.axes[geometry_.first_axis + a].window;
  bool has_below = false, has_above = false;
  for (int64_t multiple = 2; multiple <= largest_multiple && !has_above; multiple *= 2) {
    for (int32_t a = 0; a < volume_.rank; ++a) {
      below[a] = window[a] / multiple * multiple;
      above[a] = (window[a] + multiple - 1) / multiple * multiple;
    }
    has_above = window_output_dims(batch_, above) == ONNXC_OK;
    has_below = *std::min_element(below, below + volume_.rank) > 0 && window_output_dims(batch_, below) == ONNXC_OK;
  }
  error_ = reason;
  error_.append("; the window is ");
  error_.append_dims(window, volume_.rank);
  if (!has_above) return;
  error_.append(has_below ? ", and the nearest that fit are " : ", and the nearest that fits is ");
  if (has_below) {
    error_.append_dims(below, volume_.rank);
    error_.append(" and ");
  }
  error_.append_dims(above, volume_.rank);
}

onnxc_status VolumeRun::make_blends() {
  if (!blends_.make(model.output_count))
    return instance_.refuse(ONNXC_OUT_OF_MEMORY, "no memory for the outputs of the volume");
  // MONAI resamples the importance of one output from that of the one before it.
  const Array<float>* importance[] = {&geometry_.axes[0].importance, &geometry_.axes[1].importance,
                                      &geometry_.axes[2].importance};
  for (int32_t i = 0; i < model.output_count; ++i) {
    const int64_t* dims = output_dims_[i];
    if (*std::min_element(dims, dims + model.outputs[i].rank) < 0) {
      error_.append("output ");
      error_.append_name(model.outputs[i].name);
      error_.append(": its size depends on data, and a volume's windows must have one size");
      return ONNXC_WRONG_DIMS;
    }
    if (!is_written(i)) continue;
    if (dims[0] != batch_) {
      error_.append("output ");
      error_.append_name(model.outputs[i].name);
      error_.append(": %lld window%s give dim 0 the size %lld; its batch is not the input's",
                    static_cast<long long>(batch_), plural(batch_), static_cast<long long>(dims[0]));
      return ONNXC_WRONG_DIMS;
    }
    bool is_whole = true;
    for (int32_t a = 0; a < volume_.rank; ++a)
      is_whole &= dims[2 + a] == geometry_.axes[geometry_.first_axis + a].window;
    const onnxc_status status = blends_[i].set_up(volume_, volume_.outputs[i], model.outputs[i].name, geometry_,
                                                  dims + 1, importance, slab_axis_, error_);
    if (status != ONNXC_OK) return status;
    for (int32_t a = 0; !is_whole && a < volume_axes; ++a) importance[a] = &blends_[i].axis(a).importance;
  }
  return ONNXC_OK;
}

// They must be models of the same interface; a run of each says whether its dims are.
onnxc_status VolumeRun::check_members() {
  for (int64_t i = 0; i < volume_.member_count; ++i) {
    const onnxc_volume_member& member = volume_.members[i];
    bool is_alike = member.api != nullptr && member.instance != nullptr &&
                    member.api->input_count == model.input_count && member.api->output_count == model.output_count;
    for (int32_t j = 0; is_alike && j < model.output_count; ++j) {
      const onnxc_value_info* output = member.api->output(j);
      is_alike = output->dtype == model.outputs[j].dtype && output->rank == model.outputs[j].rank;
    }
    if (is_alike) continue;
    error_.append("member %lld of the volume is null, or has other inputs or outputs than this model",
                  static_cast<long long>(i));
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status VolumeRun::make_room() {
  const int32_t count = model.input_count + model.output_count;
  Array<WindowBuffer> buffers;
  if (!readers_.make(model.input_count) || !buffers.allocate(count) || !batch_places_.allocate(batch_ * volume_axes))
    return instance_.refuse(ONNXC_OUT_OF_MEMORY, "no memory for the windows");
  for (int32_t i = 0; i < count; ++i) {
    const onnxc_status status = describe_value(i, buffers[i]);
    if (status != ONNXC_OK) return status;
  }
  return instance_.device_ != nullptr ? make_room_on_gpu(buffers) : values_.make(buffers, error_);
}

// Values are the inputs and then the outputs; `buffer` is zero.
onnxc_status VolumeRun::describe_value(int32_t index, WindowBuffer& buffer) {
  const bool is_input = index < model.input_count;
  const int32_t number = is_input ? index : index - model.input_count;
  if (is_input && !is_windowed(number)) {
    buffer.use = WindowUse::fixed;
    buffer.value = *volume_.inputs[number].fixed;
    return ONNXC_OK;
  }
  const onnxc_value_info& info = (is_input ? model.inputs : model.outputs)[number];
  const int64_t* dims = (is_input ? input_dims_ : output_dims_)[number];
  buffer.use = is_input ? WindowUse::windows : is_written(number) ? WindowUse::blended : WindowUse::ignored;
  buffer.value.dtype = info.dtype;
  buffer.value.rank = info.rank;
  buffer.value.dims = is_input ? dims : nullptr;
  buffer.value.bytes = tensor_bytes(info.dtype, info.rank, dims);
  if (buffer.value.bytes < 0) return instance_.refuse(ONNXC_OUT_OF_MEMORY, "no memory for the windows of a run");
  if (buffer.use == WindowUse::ignored) return ONNXC_OK;
  buffer.channels = dims[1];
  for (int32_t a = 0; a < volume_axes; ++a) {
    const WindowedAxis& axis = geometry_.axes[a];
    const OutputAxis* blended = is_input ? nullptr : &blends_[number].axis(a);
    buffer.padded[a] = is_input ? axis.padded : blended->padded;
    buffer.window[a] = is_input ? axis.window : blended->window;
    buffer.importance[a] = is_input ? nullptr : blended->importance.data();
  }
  if (!is_input) return blends_[number].make_room(instance_.device_ != nullptr, error_);
  return readers_[number].set_up(volume_, volume_.inputs[number], info.name, geometry_, slab_axis_, error_);
}

}  // namespace onnxc::runtime
