#include "gpu/device_volume.h"

#include <stdlib.h>

#include <algorithm>
#include <new>

#include "gpu/library/current_device.h"

namespace onnxc::runtime {
namespace {

constexpr int64_t float_bytes = sizeof(float);
// Large enough for the bus, and small: to pin memory takes some 0.3 ms a megabyte.
constexpr int64_t usual_piece_bytes = int64_t{4} << 20;
constexpr int64_t least_pieces = 4;

// The runtime and the kernels name these for themselves, and numbers pass between them.
static_assert(device_axes == kernels::window_axes);
constexpr bool agrees(Finished what, kernels::Finish of_kernels) {
  return static_cast<int32_t>(what) == static_cast<int32_t>(of_kernels);
}
static_assert(agrees(Finished::values, kernels::Finish::values) &&
              agrees(Finished::softmax, kernels::Finish::softmax) &&
              agrees(Finished::sigmoid, kernels::Finish::sigmoid) && agrees(Finished::labels, kernels::Finish::labels));

// The number of a type among VolumeKernels::types.
int32_t window_type(onnxc_dtype dtype) { return dtype == ONNXC_FLOAT16 ? 1 : dtype == ONNXC_BFLOAT16 ? 2 : 0; }

int64_t element_bytes(int32_t type) { return type == 0 ? 4 : 2; }

// Some windows of a run, from one of them on.
kernels::LaunchedWindows launched(const DeviceWindows& windows, int64_t first, int64_t count) {
  kernels::LaunchedWindows result = {};
  result.count = static_cast<int32_t>(count);
  result.mirrored = windows.mirrored;
  for (int64_t i = 0; i < count; ++i)
    for (int32_t a = 0; a < device_axes; ++a)
      result.starts[i][a] = static_cast<int32_t>(windows.starts[(first + i) * device_axes + a]);
  return result;
}

// The box around them.
kernels::PointBox box_around(const kernels::LaunchedWindows& windows, const int32_t (&extents)[device_axes]) {
  kernels::PointBox box = {};
  for (int32_t a = 0; a < device_axes; ++a) {
    int32_t first = windows.starts[0][a], last = first;
    for (int32_t i = 1; i < windows.count; ++i) {
      first = std::min(first, windows.starts[i][a]);
      last = std::max(last, windows.starts[i][a]);
    }
    box.first[a] = first;
    box.extents[a] = kernels::Divisor::of(last - first + extents[a]);
  }
  return box;
}

bool is_part(WindowUse use) { return use == WindowUse::windows || use == WindowUse::blended; }

}  // namespace

DeviceVolumeRun* DeviceVolumeRun::create(const DeviceModule& module, const VolumeOnDevice& description,
                                         onnxc_status& status, ErrorText& error) {
  void* memory = malloc(sizeof(DeviceVolumeRun));
  if (memory == nullptr) {
    error.append("no memory for the volume");
    status = ONNXC_OUT_OF_MEMORY;
    return nullptr;
  }
  auto* run = new (memory) DeviceVolumeRun(module);
  status = run->set_up(description, error);
  if (status == ONNXC_OK) return run;
  destroy(run);
  return nullptr;
}

void DeviceVolumeRun::destroy(DeviceVolumeRun* run) {
  run->~DeviceVolumeRun();
  free(run);
}

DeviceVolumeRun::~DeviceVolumeRun() {
  ErrorText unheard;
  CurrentDevice current(gpu_, module_.device());
  current.enter(unheard);  // also of a device that is lost all is given back
  if (model_ != nullptr) {
    ignore(gpu_.wait_for_stream(model_));
    ignore(gpu_.destroy_stream(model_));
  }
  copies_.destroy();
  for (const GpuEvent event : run_ends_)
    if (event != nullptr) ignore(gpu_.destroy_event(event));
  for (const Piece& piece : sent_)
    if (piece.passed != nullptr) ignore(gpu_.destroy_event(piece.passed));
  for (const Piece& piece : results_)
    if (piece.passed != nullptr) ignore(gpu_.destroy_event(piece.passed));
  for (int64_t i = 0; i < device_count_; ++i) ignore(gpu_.free(device_memory_[i]));
  for (int64_t i = 0; i < host_count_; ++i) ignore(gpu_.free_host(host_memory_[i]));
}

onnxc_status DeviceVolumeRun::set_up(const VolumeOnDevice& description, ErrorText& error) {
  const int64_t count = description.buffers.size();
  // For each value its own memory, its ring and its importance, and pieces of results.
  if (!values.allocate(count) || !parts_.allocate(count) || !device_memory_.allocate(3 * count + most_pieces) ||
      !host_memory_.allocate(most_pieces + sent_pieces)) {
    error.append("no memory for the volume");
    return ONNXC_OUT_OF_MEMORY;
  }
  least_importance_ = description.least_importance;
  CurrentDevice current(gpu_, module_.device());
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = make_streams(error);
  for (int64_t i = 0; i < count && status == ONNXC_OK; ++i) {
    parts_[i].use = description.buffers[i].use;
    if (is_part(description.buffers[i].use)) status = make_part(description, i, error);
    if (status == ONNXC_OK) status = make_value(description.buffers[i], i, error);
  }
  if (status == ONNXC_OK) status = make_pieces(description, error);
  return status;
}

onnxc_status DeviceVolumeRun::make_streams(ErrorText& error) {
  onnxc_status status = copies_.make(error);
  if (status != ONNXC_OK) return status;
  const GpuResult result = gpu_.create_stream(&model_, gpu_stream_non_blocking);
  if (!succeeded(gpu_, result, "", error)) return status_of(result);
  stream = model_;
  for (GpuEvent& event : run_ends_)
    if (status == ONNXC_OK) status = make_event(event, error);
  return status;
}

onnxc_status DeviceVolumeRun::make_event(GpuEvent& event, ErrorText& error) {
  const GpuResult result = gpu_.create_event(&event, gpu_event_without_time);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceVolumeRun::allocate(void** memory, int64_t bytes, const char* what, ErrorText& error) {
  const GpuResult result = gpu_.allocate(memory, static_cast<size_t>(bytes));
  if (!succeeded(gpu_, result, what, error)) return status_of(result);
  device_memory_[device_count_++] = *memory;
  working_bytes += bytes;
  return ONNXC_OK;
}

onnxc_status DeviceVolumeRun::allocate_host(void** memory, int64_t bytes, const char* what, ErrorText& error) {
  const GpuResult result = gpu_.allocate_host(memory, static_cast<size_t>(bytes), 0);
  if (!succeeded(gpu_, result, what, error)) return status_of(result);
  host_memory_[host_count_++] = *memory;
  working_bytes += bytes;
  return ONNXC_OK;
}

// The model's argument for a run.
onnxc_status DeviceVolumeRun::make_value(const WindowBuffer& buffer, int64_t index, ErrorText& error) {
  onnxc_value& value = values[index];
  value = buffer.value;
  const bool is_fixed = buffer.use == WindowUse::fixed;
  if (is_fixed && value.device == ONNXC_GPU) return ONNXC_OK;
  value.device = ONNXC_GPU;
  if (value.bytes == 0) return ONNXC_OK;
  const onnxc_status status = allocate(&value.data, value.bytes, "for windows", error);
  if (status != ONNXC_OK || !is_fixed) return status;
  const GpuResult result =
      gpu_.copy(value.data, buffer.value.data, static_cast<size_t>(value.bytes), GpuCopy::to_device, copies_.up);
  return succeeded(gpu_, result, "of a fixed input", error) ? ONNXC_OK : status_of(result);
}

// The ring: the slab axis outermost, then the channels.
onnxc_status DeviceVolumeRun::make_part(const VolumeOnDevice& description, int64_t index, ErrorText& error) {
  const WindowBuffer& buffer = description.buffers[index];
  const bool is_input = buffer.use == WindowUse::windows;
  const int32_t slab_axis = description.slab_axis;
  Part& part = parts_[index];
  part.type = window_type(buffer.value.dtype);
  part.channels = buffer.channels;
  const VolumeKernels& kernels = module_.program().volume;
  if ((is_input ? kernels.cut : kernels.add)[part.type] < 0) {
    error.append("this model's code for the GPU has no kernels for volumes: compile it again");
    return ONNXC_UNSUPPORTED_DEVICE;
  }
  // Points of a launch for one window.
  int64_t points = is_input ? buffer.channels : buffer.channels / kernels::channels_a_thread + 1;
  int64_t floats = 1;
  bool fits = true;
  part.layout.slab_axis = slab_axis;
  for (int32_t a = device_axes; a-- > 0;) {
    part.window[a] = static_cast<int32_t>(buffer.window[a]);
    fits &= !__builtin_mul_overflow(points, buffer.window[a], &points);
    if (a == slab_axis) continue;
    part.layout.strides[a] = floats;
    fits &= !__builtin_mul_overflow(floats, buffer.padded[a], &floats);
  }
  part.layout.channel_stride = floats;
  const int64_t places = is_input ? description.slices : buffer.window[slab_axis];
  int64_t bytes = 0;
  fits &= !__builtin_mul_overflow(floats, is_input ? buffer.channels : buffer.channels + 1, &part.slice_floats) &&
          !__builtin_mul_overflow(part.slice_floats, places, &bytes) &&
          !__builtin_mul_overflow(bytes, float_bytes, &bytes) && points <= kernels::most_points;
  if (!fits) {
    error.append("a window is too large for the GPU's kernels, which count %lld elements: take a smaller one",
                 static_cast<long long>(kernels::most_points));
    return ONNXC_WRONG_DIMS;
  }
  part.layout.strides[slab_axis] = part.slice_floats;
  part.layout.places = kernels::Divisor::of(places);
  void* ring = nullptr;
  onnxc_status status =
      allocate(&ring, bytes, is_input ? "for slices of the volume" : "for the sums of the volume", error);
  part.ring = static_cast<float*>(ring);
  if (status != ONNXC_OK || is_input) return status;
  const GpuResult result = gpu_.fill(ring, 0, static_cast<size_t>(bytes), model_);
  if (!succeeded(gpu_, result, "", error)) return status_of(result);
  return make_importance(buffer, part, error);
}

onnxc_status DeviceVolumeRun::make_importance(const WindowBuffer& buffer, Part& part, ErrorText& error) {
  void* memory = nullptr;
  const int64_t count = buffer.window[0] + buffer.window[1] + buffer.window[2];
  const onnxc_status status = allocate(&memory, count * float_bytes, "for the importance of places", error);
  if (status != ONNXC_OK) return status;
  auto* next = static_cast<float*>(memory);
  for (int32_t a = 0; a < device_axes; ++a) {
    part.importance[a] = next;
    const GpuResult result = gpu_.copy(next, buffer.importance[a], static_cast<size_t>(buffer.window[a] * float_bytes),
                                       GpuCopy::to_device, copies_.up);
    if (!succeeded(gpu_, result, "of the importance of places", error)) return status_of(result);
    next += buffer.window[a];
  }
  return ONNXC_OK;
}

onnxc_status DeviceVolumeRun::make_pieces(const VolumeOnDevice& description, ErrorText& error) {
  int64_t largest_slice = 0, all_slices = 0;
  for (const Part& part : parts_) {
    if (part.use != WindowUse::windows) continue;
    largest_slice = std::max(largest_slice, part.slice_floats * float_bytes);
    all_slices = std::max(all_slices, part.slice_floats * float_bytes * part.layout.places.divisor);
  }
  sent_bytes_ = std::max(largest_slice, std::min(all_slices, usual_piece_bytes));
  onnxc_status status = ONNXC_OK;
  for (Piece& piece : sent_) {
    if (status == ONNXC_OK) status = allocate_host(&piece.host, sent_bytes_, "for slices of the volume", error);
    if (status == ONNXC_OK) status = make_event(piece.passed, error);
  }
  piece_bytes = std::max(description.largest_line, std::min(description.largest_result, usual_piece_bytes));
  // Results of many bytes become final at once, and wait while further runs are started.
  pieces =
      static_cast<int32_t>(std::clamp<int64_t>(description.largest_result / piece_bytes, least_pieces, most_pieces));
  for (int32_t i = 0; i < pieces; ++i) {
    Piece& piece = results_[i];
    if (status == ONNXC_OK) status = allocate_host(&piece.host, piece_bytes, "for results of the volume", error);
    if (status == ONNXC_OK) status = allocate(&piece.device, piece_bytes, "for results of the volume", error);
    if (status == ONNXC_OK) status = make_event(piece.passed, error);
  }
  return status;
}

// ---------------------------------------------------------------------------------------------------- copies, launches

template <class Arguments>
onnxc_status DeviceVolumeRun::launch(int32_t kernel, const Arguments& arguments, const char* what, ErrorText& error) {
  gpu_.forget_error();  // what a call before ours left behind is not an error of a launch
  const int64_t blocks = (arguments.points + kernels::nest_threads - 1) / kernels::nest_threads;
  const GpuResult result = gpu_.launch({.kernel = module_.kernel(kernel),
                                        .blocks = static_cast<uint32_t>(blocks),
                                        .threads = kernels::nest_threads,
                                        .shared_bytes = 0,
                                        .arguments = &arguments,
                                        .arguments_size = sizeof arguments},
                                       model_);
  return succeeded(gpu_, result, what, error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceVolumeRun::wait_for(Piece& piece, ErrorText& error) {
  if (!piece.is_under_way) return ONNXC_OK;
  piece.is_under_way = false;
  const GpuResult result = gpu_.wait_for_event(piece.passed);
  return succeeded(gpu_, result, "of a part of the volume", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceVolumeRun::take_slices(int32_t input, int64_t first, int64_t& count, float*& memory,
                                          ErrorText& error) {
  const Part& part = parts_[input];
  const int64_t places = part.layout.places.divisor;
  // One copy brings them: they end before the ring does.
  count = std::min(count, places - first % places);
  count = std::min(count, sent_bytes_ / (part.slice_floats * static_cast<int64_t>(sizeof(float))));
  CurrentDevice current(gpu_, module_.device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  memory = static_cast<float*>(sent_[next_sent_].host);
  return wait_for(sent_[next_sent_], error);
}

onnxc_status DeviceVolumeRun::send_slices(int32_t input, int64_t first, int64_t count, ErrorText& error) {
  const Part& part = parts_[input];
  CurrentDevice current(gpu_, module_.device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  Piece& piece = sent_[next_sent_];
  next_sent_ = (next_sent_ + 1) % sent_pieces;
  float* const to = part.ring + first % part.layout.places.divisor * part.slice_floats;
  GpuResult result = gpu_.copy(to, piece.host, static_cast<size_t>(count * part.slice_floats) * sizeof(float),
                               GpuCopy::to_device, copies_.up);
  if (!succeeded(gpu_, result, "of slices of the volume", error)) return status_of(result);
  result = gpu_.record(piece.passed, copies_.up);
  piece.is_under_way = result.is_ok();
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceVolumeRun::begin_slab(ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  onnxc_status status = current.enter(error);
  if (status == ONNXC_OK) status = copies_.order(copies_.up, model_, error);
  return status == ONNXC_OK ? copies_.order(model_, copies_.up, error) : status;
}

onnxc_status DeviceVolumeRun::cut_windows(const DeviceWindows& windows, ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  onnxc_status status = current.enter(error);
  for (int64_t i = 0; i < parts_.size(); ++i)
    if (status == ONNXC_OK && parts_[i].use == WindowUse::windows) status = cut(parts_[i], values[i], windows, error);
  return status;
}

onnxc_status DeviceVolumeRun::cut(const Part& part, const onnxc_value& value, const DeviceWindows& windows,
                                  ErrorText& error) {
  kernels::CutArguments arguments = {};
  arguments.slices = part.ring;
  arguments.channels = kernels::Divisor::of(part.channels);
  int64_t elements = part.channels;
  for (int32_t a = 0; a < device_axes; ++a) {
    arguments.window.extents[a] = kernels::Divisor::of(part.window[a]);
    elements *= part.window[a];
  }
  arguments.ring = part.layout;
  const int64_t at_once = std::min<int64_t>(kernels::windows_a_launch, kernels::most_points / elements);
  onnxc_status status = ONNXC_OK;
  for (int64_t first = 0; first < windows.count && status == ONNXC_OK; first += at_once) {
    arguments.launched = launched(windows, first, std::min(at_once, windows.count - first));
    arguments.points = arguments.launched.count * elements;
    arguments.windows = static_cast<char*>(value.data) + first * elements * element_bytes(part.type);
    status = launch(module_.program().volume.cut[part.type], arguments, "of windows of the volume", error);
  }
  return status;
}

onnxc_status DeviceVolumeRun::add_windows(int32_t output, const DeviceWindows& windows, bool adds_weights,
                                          ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  onnxc_status status = current.enter(error);
  const Part& part = parts_[output];
  kernels::AddArguments arguments = {};
  arguments.sums = part.ring;
  std::copy(part.importance, part.importance + device_axes, arguments.importance);
  arguments.least_importance = least_importance_;
  arguments.adds_weights = adds_weights ? 1 : 0;
  arguments.channels = static_cast<int32_t>(part.channels);
  std::copy(part.window, part.window + device_axes, arguments.extents);
  arguments.ring = part.layout;
  const int64_t elements = part.channels * part.window[0] * part.window[1] * part.window[2];
  const int64_t channels = part.channels + arguments.adds_weights;
  const int64_t chunks = (channels + kernels::channels_a_thread - 1) / kernels::channels_a_thread;
  for (int64_t first = 0, count = 0; first < windows.count && status == ONNXC_OK; first += count) {
    // As many as the points of the box around them are counted.
    count = std::min<int64_t>(kernels::windows_a_launch, windows.count - first);
    for (;; count = (count + 1) / 2) {
      arguments.launched = launched(windows, first, count);
      arguments.box = box_around(arguments.launched, part.window);
      arguments.points = chunks * arguments.box.points();
      if (arguments.points <= kernels::most_points || count == 1) break;
    }
    arguments.values = static_cast<const char*>(values[output].data) + first * elements * element_bytes(part.type);
    status = launch(module_.program().volume.add[part.type], arguments, "of results of windows", error);
  }
  return status;
}

onnxc_status DeviceVolumeRun::finish_box(const FinishedBox& box, int32_t piece, ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  onnxc_status status = current.enter(error);
  if (status != ONNXC_OK) return status;
  const Part& part = parts_[box.output];
  Piece& results = results_[piece];
  kernels::FinishArguments arguments = {};
  arguments.sums = part.ring;
  arguments.results = results.device;
  arguments.channels = static_cast<int32_t>(part.channels);
  arguments.times = static_cast<float>(box.times);
  arguments.what = static_cast<kernels::Finish>(box.what);
  arguments.label_bytes = box.element_bytes;
  arguments.result_channel_stride = box.channel_stride;
  for (int32_t a = 0; a < device_axes; ++a) {
    arguments.box.first[a] = static_cast<int32_t>(box.first[a]);
    arguments.box.extents[a] = kernels::Divisor::of(box.end[a] - box.first[a]);
    arguments.result_strides[a] = box.strides[a];
  }
  arguments.points = arguments.box.points();
  arguments.ring = part.layout;
  status = launch(module_.program().volume.finish, arguments, "of finished sums", error);
  if (status == ONNXC_OK) status = copies_.order(model_, copies_.down, error);
  if (status != ONNXC_OK) return status;
  GpuResult result =
      gpu_.copy(results.host, results.device, static_cast<size_t>(box.bytes), GpuCopy::to_host, copies_.down);
  if (!succeeded(gpu_, result, "of results of the volume", error)) return status_of(result);
  result = gpu_.record(results.passed, copies_.down);
  results.is_under_way = result.is_ok();
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceVolumeRun::wait_for_piece(int32_t piece, const void*& results, ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  results = results_[piece].host;
  return wait_for(results_[piece], error);
}

onnxc_status DeviceVolumeRun::end_run(int32_t number, ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  const GpuResult result = gpu_.record(run_ends_[number], model_);
  return succeeded(gpu_, result, "", error) ? ONNXC_OK : status_of(result);
}

onnxc_status DeviceVolumeRun::wait_for_run(int32_t number, ErrorText& error) {
  CurrentDevice current(gpu_, module_.device());
  if (const onnxc_status status = current.enter(error); status != ONNXC_OK) return status;
  const GpuResult result = gpu_.wait_for_event(run_ends_[number]);
  return succeeded(gpu_, result, "of a run of windows", error) ? ONNXC_OK : status_of(result);
}

}  // namespace onnxc::runtime
