// A run over a volume on the CPU: windows are read, and blended, by the instance's threads.
#include "host/instance.h"
#include "volume/volume_run.h"

namespace onnxc::runtime {

onnxc_status VolumeRun::read_windows(uint32_t mirrored) {
  struct Context {
    WindowReader& reader;
    WindowReader::Window window;
  };
  for (int32_t i = 0; i < model.input_count; ++i) {
    if (!is_windowed(i)) continue;
    for (int64_t b = 0; b < batched_; ++b) {
      int64_t fresh[volume_axes];
      Context context{readers_[i], {{}, {}, {}, mirrored == 0 ? fresh : nullptr, mirrored, nullptr}};
      WindowReader::Window& window = context.window;
      for (int32_t a = 0; a < volume_axes; ++a) {
        const WindowedAxis& axis = geometry_.axes[a];
        const int64_t at = place(b, a);
        window.starts[a] = axis.starts[at];
        window.extents[a] = axis.window;
        fresh[a] = at == 0 ? 0 : axis.starts[at - 1] + axis.window - axis.starts[at];
      }
      window.strides = dense_strides(window.extents);
      window.data = values_.data(i) + b * readers_[i].channels() * window.strides.channel;
      const auto body = [](const void* given, int64_t begin, int64_t end, int) {
        const Context& work = *static_cast<const Context*>(given);
        work.reader.read_rows(work.window, begin, end);
      };
      const onnxc_status status = run_tasks(readers_[i].row_tasks(window), body, &context);
      if (status != ONNXC_OK) return status;
    }
  }
  return ONNXC_OK;
}

onnxc_status VolumeRun::add_windows(const ModelRun& run) {
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
      const float* data = values_.data(model.input_count + i) + b * elements;
      const Context context{blend, {{place(b, 0), place(b, 1), place(b, 2)}, run.mirrored, has_weight, data}};
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

onnxc_status VolumeRun::finish_on_cpu(Blend& blend, const Box& part, bool ends_slices) {
  struct Context {
    Blend& blend;
    const Box& box;
    int64_t times;
  };
  const Context context{blend, part, times()};
  const auto body = [](const void* given, int64_t first_task, int64_t end_task, int) {
    const Context& work = *static_cast<const Context*>(given);
    work.blend.finish(work.box, work.times, first_task, end_task);
  };
  const onnxc_status status = run_tasks(blend.finish_tasks(part), body, &context);
  if (status != ONNXC_OK) return status;
  blend.give_back(part);
  return ends_slices ? blend.hand_over(part, error_) : ONNXC_OK;
}

}  // namespace onnxc::runtime
