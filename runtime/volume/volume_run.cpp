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

VolumeRun::VolumeRun(Instance& instance) : instance_(instance), error_(instance.error_) {}

onnxc_status VolumeRun::output_dims(Instance& instance, const onnxc_volume* volume, int64_t* const* dims) {
  const Instance::Call call(instance);
  return call.entered() ? VolumeRun(instance).output_dims(volume, dims) : ONNXC_BUSY;
}

onnxc_status VolumeRun::run(Instance& instance, const onnxc_volume* volume, onnxc_volume_result* result) {
  const Instance::Call call(instance);
  return call.entered() ? VolumeRun(instance).run(volume, result) : ONNXC_BUSY;
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
  const WindowedAxis& slabs = geometry_.axes[slab_axis_];
  for (int64_t slab = 0; slab < slabs.starts.size(); ++slab) {
    for (int32_t i = 0; i < model.input_count; ++i) {
      if (!is_windowed(i)) continue;
      const onnxc_status status = readers_[i].provide(slabs.starts[slab] + slabs.window, error_);
      if (status != ONNXC_OK) return status;
    }
    int64_t places[volume_axes];
    places[slab_axis_] = slab;
    const int64_t rows = geometry_.axes[others[0]].starts.size(), columns = geometry_.axes[others[1]].starts.size();
    for (int64_t i = 0; i < rows * columns; ++i) {
      places[others[0]] = i / columns;
      places[others[1]] = i % columns;
      const onnxc_status status = add_to_batch(places, (i + 1) / columns, i + 1 == rows * columns);
      if (status != ONNXC_OK) return status;
    }
  }
  onnxc_status status = ONNXC_OK;
  while (finished_ < started_ && status == ONNXC_OK) status = finish_oldest();
  return status;
}

// With this window, `whole_rows` rows of windows of its slab are whole.
onnxc_status VolumeRun::add_to_batch(const int64_t (&places)[volume_axes], int64_t whole_rows, bool ends_slab) {
  int64_t* place = batch_places_[batch_slot_].data() + batched_ * volume_axes;
  std::copy(places, places + volume_axes, place);
  ++batched_;
  return ends_slab || batched_ == batch_ ? run_batch(places[slab_axis_], whole_rows) : ONNXC_OK;
}

onnxc_status VolumeRun::run_batch(int64_t slab, int64_t whole_rows) {
  // Every subset of the mirrored axes, the empty one first and all of them last.
  const uint32_t allowed = volume_.mirrored_axes << geometry_.first_axis;
  for (uint32_t mirrored = 0; mirrored <= allowed; ++mirrored) {
    if ((mirrored & ~allowed) != 0) continue;
    onnxc_status status = read_batch(mirrored);
    for (int64_t member = -1; member < volume_.member_count && status == ONNXC_OK; ++member) {
      const bool is_last = mirrored == allowed && member + 1 == volume_.member_count;
      status = start({batch_places_[batch_slot_].data(), batched_, mirrored, member, is_last, slab, whole_rows});
    }
    if (status != ONNXC_OK) return status;
  }
  batched_ = 0;
  batch_slot_ = (batch_slot_ + 1) % DeviceWindows::slots;
  return ONNXC_OK;
}

onnxc_status VolumeRun::run_tasks(int64_t tasks, ParallelBody body, const void* context) {
  instance_.failure_.store(nullptr, std::memory_order_relaxed);
  Instance::parallel_for(instance_.frame_, tasks, body, context);
  const char* failure = instance_.failure_.load(std::memory_order_acquire);
  return failure == nullptr ? ONNXC_OK : instance_.refuse(ONNXC_INVALID_DATA, failure);
}

// Into a slot that no run reads any more: of two, only the last run's may still be read.
onnxc_status VolumeRun::read_batch(uint32_t mirrored) {
  input_slot_ = (input_slot_ + 1) % values_.slots();
  struct Context {
    WindowReader& reader;
    WindowReader::Window window;
  };
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (!is_windowed(i)) continue;
    const int64_t elements =
        readers_[i].channels() * geometry_.axes[0].window * geometry_.axes[1].window * geometry_.axes[2].window;
    for (int64_t b = 0; b < batched_; ++b) {
      int64_t fresh[volume_axes];
      Context context{readers_[i], {{}, mirrored == 0 ? fresh : nullptr, mirrored, nullptr}};
      for (int32_t a = 0; a < volume_axes; ++a) {
        const WindowedAxis& axis = geometry_.axes[a];
        const int64_t place = batch_places_[batch_slot_][b * volume_axes + a];
        context.window.starts[a] = axis.starts[place];
        fresh[a] = place == 0 ? 0 : axis.starts[place - 1] + axis.window - axis.starts[place];
      }
      context.window.data = values_.host_data(input_slot_, i) + b * elements;
      const auto body = [](const void* given, int64_t begin, int64_t end, int) {
        const Context& work = *static_cast<const Context*>(given);
        work.reader.read_rows(work.window, begin, end);
      };
      const onnxc_status status = run_tasks(readers_[i].row_tasks(), body, &context);
      if (status != ONNXC_OK) return status;
    }
  }
  return values_.send(input_slot_, batched_, error_);
}

// Starts a run on the windows that were read last, and finishes the earlier ones that must not wait longer: on the CPU
// also this one.
onnxc_status VolumeRun::start(const ModelRun& run) {
  for (int32_t i = 0; i < model.input_count; ++i)
    if (is_windowed(i)) input_dims_[i][0] = run.windows;
  const auto slot = static_cast<int32_t>(started_ % values_.slots());
  const double before = now();
  onnxc_status status = call_model(run, values_.values(input_slot_), values_.values(slot) + model.input_count);
  if (status == ONNXC_OK) status = values_.fetch(slot, run.windows, error_);
  network_seconds_ += now() - before;
  if (status != ONNXC_OK) return status;
  runs_[started_ % DeviceWindows::slots] = run;
  ++started_;
  while (started_ - finished_ >= values_.slots() && status == ONNXC_OK) status = finish_oldest();
  return status;
}

onnxc_status VolumeRun::call_model(const ModelRun& run, const onnxc_value* inputs, const onnxc_value* outputs) {
  onnxc_run_options options = {};
  options.struct_size = sizeof options;
  options.stream = values_.stream();
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

onnxc_status VolumeRun::finish_oldest() {
  const ModelRun run = runs_[finished_ % DeviceWindows::slots];
  const auto slot = static_cast<int32_t>(finished_ % values_.slots());
  ++finished_;
  const double before = now();
  onnxc_status status = values_.wait(slot, error_);
  network_seconds_ += now() - before;
  windows_run_ += run.windows;
  if (status == ONNXC_OK) status = blend(run, slot);
  if (status != ONNXC_OK || !run.ends_batch) return status;
  windows_done_ += run.windows;
  if (volume_.progress != nullptr &&
      volume_.progress(volume_.progress_context, windows_done_, geometry_.windows()) != 0)
    return instance_.refuse(ONNXC_STOPPED, "stopped by the progress function");
  return finish_rows(run.slab, run.whole_rows);
}

onnxc_status VolumeRun::blend(const ModelRun& run, int32_t slot) {
  struct Context {
    Blend& blend;
    Blend::Window window;
  };
  const bool has_weight = run.mirrored == 0 && run.member < 0;
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (!is_written(i)) continue;
    Blend& blend = blends_[i];
    const int64_t elements = blend.channels() * blend.axis(0).window * blend.axis(1).window * blend.axis(2).window;
    for (int64_t b = 0; b < run.windows; ++b) {
      const int64_t* places = run.window_places + b * volume_axes;
      const float* data = values_.host_data(slot, model.input_count + i) + b * elements;
      const Context context{blend, {{places[0], places[1], places[2]}, run.mirrored, has_weight, data}};
      blend.begin(context.window);
      const auto body = [](const void* given, int64_t begin, int64_t end, int) {
        const Context& work = *static_cast<const Context*>(given);
        work.blend.add(work.window, begin, end);
      };
      const onnxc_status status = run_tasks(blend.add_tasks(), body, &context);
      if (status != ONNXC_OK) return status;
    }
  }
  return ONNXC_OK;
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
      onnxc_status status = finish(blend, part);
      if (status == ONNXC_OK && ends_slab) status = blend.hand_over(part, error_);
      if (status != ONNXC_OK) return status;
    }
  }
  finished_rows_ = ends_slab ? 0 : whole_rows;
  return ONNXC_OK;
}

onnxc_status VolumeRun::finish(Blend& blend, const Box& box) {
  struct Context {
    Blend& blend;
    const Box& box;
    int64_t times;
  };
  const Context context{blend, box, (volume_.member_count + 1) << __builtin_popcount(volume_.mirrored_axes)};
  const auto body = [](const void* given, int64_t first_task, int64_t end_task, int) {
    const Context& work = *static_cast<const Context*>(given);
    work.blend.finish(work.box, work.times, first_task, end_task);
  };
  const onnxc_status status = run_tasks(blend.finish_tasks(box), body, &context);
  if (status == ONNXC_OK) blend.give_back(box);
  return status;
}

int64_t VolumeRun::working_bytes() const {
  int64_t bytes = values_.working_bytes();
  for (int64_t i = 0; i < readers_.size(); ++i) bytes += readers_[i].working_bytes();
  for (int64_t i = 0; i < blends_.size(); ++i) bytes += blends_[i].working_bytes();
  return bytes;
}

}  // namespace onnxc::runtime
