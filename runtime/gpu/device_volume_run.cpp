// The work of a run over a volume on a GPU: copies and launches.
#include <algorithm>

#include "gpu/device_volume.h"
#include "gpu/library/current_device.h"

namespace onnxc::runtime {
namespace {

using kernels::windows_a_launch;

// Some windows of a run, from one of them on.
kernels::LaunchedWindows launched(const DeviceWindows& windows, int64_t first, int64_t count) {
  kernels::LaunchedWindows result;
  result.count = static_cast<int32_t>(count);
  result.mirrored = windows.mirrored;
  for (int64_t i = 0; i < count; ++i)
    for (int32_t a = 0; a < device_axes; ++a)
      result.starts[i][a] = static_cast<int32_t>(windows.starts[(first + i) * device_axes + a]);
  return result;
}

// The box around them.
kernels::PointBox box_around(const kernels::LaunchedWindows& windows, const int32_t (&extents)[device_axes]) {
  kernels::PointBox box;
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

int64_t element_bytes(int32_t type) { return type == 0 ? 4 : 2; }

}  // namespace

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
  const int64_t at_once = std::min<int64_t>(windows_a_launch, kernels::most_points / elements);
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
    count = std::min<int64_t>(windows_a_launch, windows.count - first);
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
