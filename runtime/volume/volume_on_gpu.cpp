// A run over a volume on a GPU: the host reads slices and writes results, and tells the GPU what to do in between.
#include <algorithm>

#include "host/instance.h"
#include "volume/volume_run.h"

namespace onnxc::runtime {
namespace {

Finished finished(int32_t what) {
  switch (what) {
    case ONNXC_VOLUME_SOFTMAX:
      return Finished::softmax;
    case ONNXC_VOLUME_SIGMOID:
      return Finished::sigmoid;
    case ONNXC_VOLUME_LABELS:
      return Finished::labels;
    default:
      return Finished::values;
  }
}

}  // namespace

onnxc_status VolumeRun::make_room_on_gpu(const Array<WindowBuffer>& buffers) {
  if (!starts_.allocate(batch_ * volume_axes) || !sent_.allocate(model.input_count))
    return instance_.refuse(ONNXC_OUT_OF_MEMORY, "no memory for the windows");
  const WindowedAxis& slabs = geometry_.axes[slab_axis_];
  int64_t step = 0;
  for (int64_t i = 1; i < slabs.starts.size(); ++i) step = std::max(step, slabs.starts[i] - slabs.starts[i - 1]);
  VolumeOnDevice description{buffers, slab_axis_, 0, geometry_.least_importance, 0, 0};
  // The slices of a slab, and those that the next one adds.
  description.slices = std::min(slabs.padded, slabs.window + step);
  for (int32_t i = 0; i < model.output_count; ++i) {
    if (!is_written(i)) continue;
    const Blend& blend = blends_[i];
    int64_t line = blend.written_channels() * blend.element_bytes(), all = line;
    for (int32_t a = 0; a < volume_axes; ++a) {
      const OutputAxis& axis = blend.axis(a);
      if (a != slab_axis_ && a != blend.row_axis()) line *= axis.size;
      all *= a == slab_axis_ ? std::min(axis.window, axis.size) : axis.size;
    }
    description.largest_line = std::max(description.largest_line, line);
    description.largest_result = std::max(description.largest_result, all);
  }
  onnxc_status status = ONNXC_OK;
  on_gpu_ = backend().make_volume(instance_.device_, description, status, error_);
  return status;
}

int64_t VolumeRun::end_of_slab(int64_t slab) const {
  const WindowedAxis& slabs = geometry_.axes[slab_axis_];
  return slabs.starts[std::min(slab, slabs.starts.size() - 1)] + slabs.window;
}

onnxc_status VolumeRun::begin_slab_on_gpu(int64_t slab) {
  const onnxc_status status = send_slices(end_of_slab(slab), INT64_MAX);
  return status == ONNXC_OK ? backend().begin_slab(on_gpu_, error_) : status;
}

// Sends slices below `end` that are not there yet.
onnxc_status VolumeRun::send_slices(int64_t end, int64_t most_pieces) {
  onnxc_status status = ONNXC_OK;
  for (int32_t i = 0; i < model.input_count; ++i)
    while (is_windowed(i) && sent_[i] < end && most_pieces > 0 && status == ONNXC_OK) {
      status = send_piece(i, end);
      --most_pieces;
    }
  return status;
}

onnxc_status VolumeRun::send_piece(int32_t input, int64_t end) {
  WindowReader& reader = readers_[input];
  int64_t count = end - sent_[input];
  // A window's extent of slices is all that is kept of those that are read one by one.
  count = std::min(count, geometry_.axes[slab_axis_].window);
  float* memory = nullptr;
  onnxc_status status = backend().take_slices(on_gpu_, input, sent_[input], count, memory, error_);
  if (status == ONNXC_OK) status = reader.provide(sent_[input] + count, error_);
  if (status != ONNXC_OK) return status;
  struct Context {
    WindowReader& reader;
    WindowReader::Window window;
  };
  const int64_t fresh[volume_axes] = {};
  Context context{reader, {{}, {}, {}, fresh, 0, memory}};
  WindowReader::Window& window = context.window;
  for (int32_t a = 0; a < volume_axes; ++a) window.extents[a] = a == slab_axis_ ? 1 : geometry_.axes[a].padded;
  window.strides = dense_strides(window.extents);
  window.strides.axis[slab_axis_] = window.strides.channel * reader.channels();
  window.starts[slab_axis_] = sent_[input];
  window.extents[slab_axis_] = count;
  const auto body = [](const void* given, int64_t begin, int64_t end_task, int) {
    const Context& work = *static_cast<const Context*>(given);
    work.reader.read_rows(work.window, begin, end_task);
  };
  status = run_tasks(reader.row_tasks(window), body, &context);
  if (status == ONNXC_OK) status = backend().send_slices(on_gpu_, input, sent_[input], count, error_);
  sent_[input] += count;
  return status;
}

onnxc_status VolumeRun::cut_on_gpu(uint32_t mirrored) {
  for (int64_t b = 0; b < batched_; ++b)
    for (int32_t a = 0; a < volume_axes; ++a) starts_[b * volume_axes + a] = geometry_.axes[a].starts[place(b, a)];
  return backend().cut_windows(on_gpu_, {batched_, starts_.data(), mirrored}, error_);
}

// While the GPU computes, the host reads some of the next slab's slices.
onnxc_status VolumeRun::add_on_gpu(const ModelRun& run) {
  const bool adds_weights = run.mirrored == 0 && run.member < 0;
  onnxc_status status = ONNXC_OK;
  for (int32_t i = 0; i < model.output_count && status == ONNXC_OK; ++i) {
    if (!is_written(i)) continue;
    for (int64_t b = 0; b < run.windows; ++b)
      for (int32_t a = 0; a < volume_axes; ++a) starts_[b * volume_axes + a] = blends_[i].axis(a).starts[place(b, a)];
    const DeviceWindows windows{run.windows, starts_.data(), run.mirrored};
    status = backend().add_windows(on_gpu_, model.input_count + i, windows, adds_weights, error_);
  }
  const auto number = static_cast<int32_t>(started_ % DeviceVolume::runs_under_way);
  if (status == ONNXC_OK) status = backend().end_run(on_gpu_, number, error_);
  return status == ONNXC_OK ? send_slices(end_of_slab(run.slab + 1), 1) : status;
}

// In pieces of some slices, or of some rows of one slice.
onnxc_status VolumeRun::finish_on_gpu(int32_t output, const Box& part, bool ends_slices) {
  const Blend& blend = blends_[output];
  const int32_t row_axis = blend.row_axis();
  const Box kept = blend.kept(part);
  const auto extent = [&](int32_t a) { return kept.end[a] - kept.first[a]; };
  if (extent(0) * extent(1) * extent(2) == 0) return ONNXC_OK;
  const int64_t slice_bytes = blend.piece(kept, part).bytes / extent(slab_axis_);
  const int64_t slices = std::max<int64_t>(1, on_gpu_->piece_bytes / slice_bytes);
  const int64_t rows =
      std::clamp<int64_t>(on_gpu_->piece_bytes / (slice_bytes / extent(row_axis)), 1, extent(row_axis));
  Box box = kept;
  for (int64_t slice = kept.first[slab_axis_]; slice < kept.end[slab_axis_]; slice += slices)
    for (int64_t row = kept.first[row_axis]; row < kept.end[row_axis]; row += rows) {
      box.first[slab_axis_] = slice;
      box.end[slab_axis_] = std::min(kept.end[slab_axis_], slice + slices);
      box.first[row_axis] = row;
      box.end[row_axis] = std::min(kept.end[row_axis], row + rows);
      const bool is_last = slice + slices >= kept.end[slab_axis_] && row + rows >= kept.end[row_axis];
      const onnxc_status status = start_piece(output, blend.piece(box, part), ends_slices && is_last ? &part : nullptr);
      if (status != ONNXC_OK) return status;
    }
  return ONNXC_OK;
}

onnxc_status VolumeRun::start_piece(int32_t output, const Blend::Piece& results, const Box* ended) {
  if (started_pieces_ - taken_pieces_ == on_gpu_->pieces) {
    const onnxc_status status = take_piece();
    if (status != ONNXC_OK) return status;
  }
  const Blend& blend = blends_[output];
  FinishedBox box = {};
  box.output = model.input_count + output;
  box.what = finished(blend.what());
  box.element_bytes = static_cast<int32_t>(blend.element_bytes());
  box.times = times();
  box.channel_stride = results.strides.channel;
  box.bytes = results.bytes;
  for (int32_t a = 0; a < volume_axes; ++a) {
    box.first[a] = results.kept.first[a];
    box.end[a] = results.kept.end[a];
    box.strides[a] = results.strides.axis[a];
  }
  const auto number = static_cast<int32_t>(started_pieces_ % on_gpu_->pieces);
  pieces_[number] = {output, results, ended != nullptr, ended != nullptr ? *ended : Box{}};
  const onnxc_status status = backend().finish_box(on_gpu_, box, number, error_);
  if (status == ONNXC_OK) ++started_pieces_;
  return status;
}

onnxc_status VolumeRun::take_piece() {
  const auto number = static_cast<int32_t>(taken_pieces_++ % on_gpu_->pieces);
  const Piece& piece = pieces_[number];
  struct Context {
    Blend& blend;
    const Blend::Piece& piece;
    const void* results;
  };
  Context context{blends_[piece.output], piece.results, nullptr};
  onnxc_status status = backend().wait_for_piece(on_gpu_, number, context.results, error_);
  if (status != ONNXC_OK) return status;
  const auto body = [](const void* given, int64_t first_task, int64_t end_task, int) {
    const Context& work = *static_cast<const Context*>(given);
    work.blend.write(work.piece, work.results, first_task, end_task);
  };
  status = run_tasks(context.blend.write_tasks(piece.results), body, &context);
  if (status != ONNXC_OK || !piece.ends_slices) return status;
  return context.blend.hand_over(piece.slices, error_);
}

}  // namespace onnxc::runtime
