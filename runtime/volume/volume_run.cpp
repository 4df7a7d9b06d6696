// The loop over the windows.
#include "volume/volume_run.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include <algorithm>

#include "host/instance.h"
#include "host/options.h"

namespace onnxc::runtime {
namespace {

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

VolumeRun::VolumeRun(Instance& instance) : instance_(instance), model(instance.model), error_(instance.error_) {}

VolumeRun::~VolumeRun() {
  if (is_on_gpu()) backend().destroy_volume(on_gpu_);
}

onnxc_status VolumeRun::output_dims(Instance& instance, const onnxc_volume* volume, int64_t* const* dims) {
  const Instance::Call call(instance);
  return call.entered() ? VolumeRun(instance).output_dims(volume, dims) : ONNXC_BUSY;
}

onnxc_status VolumeRun::run(Instance& instance, const onnxc_volume* volume, onnxc_volume_result* result) {
  const Instance::Call call(instance);
  if (!call.entered()) return ONNXC_BUSY;
  for (int64_t most_windows = largest_batch;;) {
    VolumeRun volume_run(instance);
    volume_run.most_windows_ = most_windows;
    const onnxc_status status = volume_run.run(volume, result);
    if (status != ONNXC_OUT_OF_MEMORY || instance.device_ == nullptr) return status;
    if (!volume_run.may_run_fewer_windows()) {
      instance.error_.append("; take smaller windows or fewer at once, or a GPU with more memory");
      return status;
    }
    most_windows = volume_run.batch_ / 2;
    instance.error_.clear();
  }
}

// Whether nobody has seen anything of a run that found too little memory.
bool VolumeRun::may_run_fewer_windows() const {
  bool has_read = false;
  for (int64_t i = 0; i < sent_.size(); ++i) has_read |= sent_[i] > 0 && volume_.inputs[i].data == nullptr;
  return batch_ > 1 && !has_read && windows_run_ == 0 && taken_pieces_ == 0;
}

onnxc_status VolumeRun::output_dims(const onnxc_volume* volume, int64_t* const* dims) {
  const onnxc_status status = plan(volume);
  if (status != ONNXC_OK) return status;
  if (dims == nullptr) return instance_.refuse(ONNXC_INVALID_ARGUMENT, "output_dims is null");
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (!is_written(i)) continue;
    if (dims[i] == nullptr) return instance_.refuse(ONNXC_INVALID_ARGUMENT, "a pointer in output_dims is null");
    dims[i][0] = blends_[i].written_channels();
    for (int32_t a = 0; a < volume_.rank; ++a) dims[i][1 + a] = blends_[i].axis(volume_axes - volume_.rank + a).size;
  }
  return ONNXC_OK;
}

onnxc_status VolumeRun::run(const onnxc_volume* volume, onnxc_volume_result* given) {
  const double start = now();
  onnxc_volume_result result;
  onnxc_status status = read_options(given, result, error_);
  if (status == ONNXC_OK) status = plan(volume);
  if (status == ONNXC_OK) status = check_members();
  if (status == ONNXC_OK) status = make_room();
  if (status != ONNXC_OK) return status;
  status = walk();
  if (given == nullptr) return status;

  result = {.struct_size = given->struct_size,
            .slab_axis = slab_axis_ - geometry_.first_axis,
            .windows = geometry_.windows(),
            .runs = windows_run_,
            .nan_voxels = 0,
            .working_bytes = working_bytes(),
            .seconds = now() - start,
            .network_seconds = network_seconds_};
  for (int32_t i = 0; i < model.input_count; ++i)
    if (is_windowed(i)) result.nan_voxels += readers_[i].nan_count();
  memcpy(given, &result, std::min<size_t>(given->struct_size, sizeof result));
  return status;
}

// Windows in the order of their places, the slab axis outermost.
onnxc_status VolumeRun::walk() {
  const int32_t others[] = {slab_axis_ == 0 ? 1 : 0, slab_axis_ == 2 ? 1 : 2};
  for (int64_t slab = 0; slab < geometry_.axes[slab_axis_].starts.size(); ++slab) {
    onnxc_status status = begin_slab(slab);
    int64_t places[volume_axes];
    places[slab_axis_] = slab;
    const int64_t rows = geometry_.axes[others[0]].starts.size(), columns = geometry_.axes[others[1]].starts.size();
    for (int64_t i = 0; i < rows * columns && status == ONNXC_OK; ++i) {
      places[others[0]] = i / columns;
      places[others[1]] = i % columns;
      status = add_to_batch(places, (i + 1) / columns, i + 1 == rows * columns);
    }
    if (status != ONNXC_OK) return status;
  }
  onnxc_status status = ONNXC_OK;
  while (told_ < started_ && status == ONNXC_OK) status = tell_oldest();
  while (taken_pieces_ < started_pieces_ && status == ONNXC_OK) status = take_piece();
  return status;
}

onnxc_status VolumeRun::begin_slab(int64_t slab) {
  if (is_on_gpu()) return begin_slab_on_gpu(slab);
  const WindowedAxis& slabs = geometry_.axes[slab_axis_];
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (!is_windowed(i)) continue;
    const onnxc_status status = readers_[i].provide(slabs.starts[slab] + slabs.window, error_);
    if (status != ONNXC_OK) return status;
  }
  return ONNXC_OK;
}

// With this window, `whole_rows` rows of windows of its slab are whole.
onnxc_status VolumeRun::add_to_batch(const int64_t (&places)[volume_axes], int64_t whole_rows, bool ends_slab) {
  std::copy(places, places + volume_axes, batch_places_.data() + batched_ * volume_axes);
  ++batched_;
  return ends_slab || batched_ == batch_ ? run_batch(places[slab_axis_], whole_rows) : ONNXC_OK;
}

onnxc_status VolumeRun::run_batch(int64_t slab, int64_t whole_rows) {
  // Every subset of the mirrored axes, the empty one first and all of them last.
  const uint32_t allowed = volume_.mirrored_axes << geometry_.first_axis;
  for (uint32_t mirrored = 0; mirrored <= allowed; ++mirrored) {
    if ((mirrored & ~allowed) != 0) continue;
    onnxc_status status = is_on_gpu() ? cut_on_gpu(mirrored) : read_windows(mirrored);
    for (int64_t member = -1; member < volume_.member_count && status == ONNXC_OK; ++member) {
      const bool is_last = mirrored == allowed && member + 1 == volume_.member_count;
      status = start({batched_, mirrored, member, is_last, slab, whole_rows});
    }
    if (status != ONNXC_OK) return status;
  }
  batched_ = 0;
  return ONNXC_OK;
}

onnxc_status VolumeRun::run_tasks(int64_t tasks, ParallelBody body, const void* context) {
  instance_.failure_.store(nullptr, std::memory_order_relaxed);
  Instance::parallel_for(instance_.frame_, tasks, body, context);
  const char* failure = instance_.failure_.load(std::memory_order_acquire);
  return failure == nullptr ? ONNXC_OK : instance_.refuse(ONNXC_INVALID_DATA, failure);
}

// A run of the model, and what follows from it. On a GPU all of that is under way then.
onnxc_status VolumeRun::start(const ModelRun& run) {
  for (int32_t i = 0; i < model.input_count; ++i)
    if (is_windowed(i)) input_dims_[i][0] = run.windows;
  const double before = now();
  onnxc_status status = call_model(run);
  network_seconds_ += now() - before;
  if (status == ONNXC_OK) status = is_on_gpu() ? add_on_gpu(run) : add_windows(run);
  if (status != ONNXC_OK) return status;
  runs_[started_ % DeviceVolume::runs_under_way] = run;
  runs_[started_++ % DeviceVolume::runs_under_way].pieces = started_pieces_;
  const int64_t under_way = is_on_gpu() ? DeviceVolume::runs_under_way - 1 : 0;
  while (started_ - told_ > under_way && status == ONNXC_OK) status = tell_oldest();
  if (status == ONNXC_OK && run.ends_batch) status = finish_rows(run.slab, run.whole_rows);
  return status;
}

onnxc_status VolumeRun::call_model(const ModelRun& run) {
  const onnxc_value* inputs = is_on_gpu() ? on_gpu_->values.data() : values_.values();
  const onnxc_value* outputs = inputs + model.input_count;
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.stream = is_on_gpu() ? on_gpu_->stream : nullptr;
  if (run.member < 0) return instance_.run_in_call(inputs, model.input_count, outputs, model.output_count, &options);
  const onnxc_volume_member& other = volume_.members[run.member];
  const onnxc_status status =
      other.api->run(other.instance, inputs, model.input_count, outputs, model.output_count, &options);
  if (status != ONNXC_OK) {
    error_.append("member %lld: %s", static_cast<long long>(run.member),
                  status == ONNXC_BUSY ? other.api->status_text(status) : other.api->last_error(other.instance));
  }
  return status;
}

// Waits for the oldest run that is under way, and tells the caller of its windows.
onnxc_status VolumeRun::tell_oldest() {
  const auto number = static_cast<int32_t>(told_++ % DeviceVolume::runs_under_way);
  const ModelRun& run = runs_[number];
  if (is_on_gpu()) {
    const double before = now();
    onnxc_status status = backend().wait_for_run(on_gpu_, number, error_);
    network_seconds_ += now() - before;
    while (taken_pieces_ < run.pieces && status == ONNXC_OK) status = take_piece();  // which are there by now
    if (status != ONNXC_OK) return status;
  }
  windows_run_ += run.windows;
  if (!run.ends_batch) return ONNXC_OK;
  windows_done_ += run.windows;
  if (volume_.progress == nullptr ||
      volume_.progress(volume_.progress_context, windows_done_, geometry_.windows()) == 0)
    return ONNXC_OK;
  return instance_.refuse(ONNXC_STOPPED, "stopped by the progress function");
}

// Writes what the slab's first `whole_rows` rows of windows have made final.
onnxc_status VolumeRun::finish_rows(int64_t slab, int64_t whole_rows) {
  const bool ends_slab = whole_rows == geometry_.axes[slab_axis_ == 0 ? 1 : 0].starts.size();
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (!is_written(i)) continue;
    Blend& blend = blends_[i];
    if (blend.waits_as_sums() && !ends_slab) continue;
    const Box box = blend.final_box(slab, blend.waits_as_sums() ? 0 : finished_rows_, whole_rows);
    const int64_t end = box.end[slab_axis_];
    for (Box part = box; part.first[slab_axis_] < end; part.first[slab_axis_] = part.end[slab_axis_]) {
      part.end[slab_axis_] = std::min(end, part.first[slab_axis_] + blend.most_slices());
      const onnxc_status status =
          is_on_gpu() ? finish_on_gpu(i, part, ends_slab) : finish_on_cpu(blend, part, ends_slab);
      if (status != ONNXC_OK) return status;
    }
  }
  finished_rows_ = ends_slab ? 0 : whole_rows;
  return ONNXC_OK;
}

int64_t VolumeRun::working_bytes() const {
  int64_t bytes = is_on_gpu() ? on_gpu_->working_bytes : values_.working_bytes();
  for (int64_t i = 0; i < readers_.size(); ++i) bytes += readers_[i].working_bytes();
  for (int64_t i = 0; i < blends_.size(); ++i) bytes += blends_[i].working_bytes();
  return bytes;
}

}  // namespace onnxc::runtime
