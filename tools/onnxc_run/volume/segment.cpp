#include "onnxc_run/volume/segment.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "onnxc_run/memory.h"
#include "onnxc_run/overwriting.h"
#include "onnxc_run/progress_line.h"
#include "onnxc_run/session.h"
#include "onnxc_run/volume/intensity.h"
#include "onnxc_run/volume/result_file.h"
#include "onnxc_run/volume/result_record.h"
#include "onnxc_run/volume/result_targets.h"
#include "onnxc_run/volume/scan.h"
#include "onnxc_run/volume/tiled_video.h"
#include "support/checked.h"
#include "support/count_text.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Clock = std::chrono::steady_clock;

// Results up to this size are gathered in memory: the windows may then go along the axis that needs least memory for
// their sums; larger ones are written slice by slice.
constexpr int64_t most_gathered_bytes = int64_t{256} << 20;
// The bytes of a mapped scan that windows may have read before its pages are given back.
constexpr int64_t most_mapped_bytes = int64_t{256} << 20;

// Exceptions may not pass through the runtime: they wait here until it has returned.
struct Callbacks {
  ResultFile& file;
  ProgressLine& progress;
  const MappedFile* mapped;  // null: the scan is in memory
  int64_t window_bytes;      // of the scan
  int64_t released = 0;      // windows that were done when the scan's pages were given back
  std::exception_ptr exception = {};

  template <class Body>
  int32_t guard(Body body) noexcept {
    try {
      body();
      return 0;
    } catch (...) {
      exception = std::current_exception();
      return 1;
    }
  }
  static int32_t write(void* context, int64_t slice, const void* data) {
    Callbacks& self = *static_cast<Callbacks*>(context);
    return self.guard([&] { self.file.write_slice(slice, data); });
  }
  static int32_t tell(void* context, int64_t done, int64_t windows) {
    Callbacks& self = *static_cast<Callbacks*>(context);
    return self.guard([&] {
      self.progress.tell(done, windows);
      if (self.mapped == nullptr || (done - self.released) * self.window_bytes < most_mapped_bytes) return;
      self.mapped->release_pages();
      self.released = done;
    });
  }
};

int32_t what_of(const std::string& kind) {
  if (kind == "labels") return ONNXC_VOLUME_LABELS;
  if (kind == "softmax") return ONNXC_VOLUME_SOFTMAX;
  return kind == "sigmoid" ? ONNXC_VOLUME_SIGMOID : ONNXC_VOLUME_VALUES;
}

int32_t padding_of(const std::string& padding) {
  if (padding == "reflect") return ONNXC_PAD_REFLECT;
  if (padding == "replicate") return ONNXC_PAD_REPLICATE;
  return padding == "circular" ? ONNXC_PAD_CIRCULAR : ONNXC_PAD_CONSTANT;
}

// One volume's call of the runtime: the structures, and the arrays that they point to.
class VolumeCall {
 public:
  VolumeCall(const RunOptions& options, Session& session, const Scan& scan)
      : options_(options.volume), session_(session), scan_(scan), scalings_(scalings_of(scan, options_)) {
    const size_t rank = scan.dims.size();
    window_ = options_.window;
    if (window_.size() == 1) window_.assign(rank, window_[0]);
    if (window_.size() != rank)
      throw UsageError(fmt::format("--window: {} given, and the model takes {}", counted_are(window_.size(), "size"),
                                   counted(rank, "spatial axis")));
    const bool is_nnunet = options_.preset == "nnunet";
    overlap_.assign(rank, options_.overlap.value_or(0.25));
    step_.assign(rank, options_.step.value_or(0.5));
    input_.dtype = static_cast<onnxc_dtype>(scan.dtype);
    input_.channels = scan.channels;
    input_.data = scan.data;
    input_.strides = scan.strides.data();
    input_.bytes = scan.bytes;
    input_.scaling = scalings_.data();
    outputs_.resize(static_cast<size_t>(session.api().output_count));
    outputs_[0].what = what_of(options_.output_kind);
    volume_.struct_size = sizeof volume_;
    volume_.rank = static_cast<int32_t>(rank);
    volume_.places = is_nnunet ? ONNXC_PLACES_EVEN : ONNXC_PLACES_SCAN;
    if (options_.importance.empty() ? is_nnunet : options_.importance == "gaussian")
      volume_.importance = is_nnunet ? ONNXC_IMPORTANCE_GAUSSIAN_NNUNET : ONNXC_IMPORTANCE_GAUSSIAN;
    volume_.padding = padding_of(options_.padding);
    volume_.padding_value = options_.padding_value;
    volume_.dims = scan.dims.data();
    volume_.window = window_.data();
    volume_.overlap = overlap_.data();
    volume_.step = step_.data();
    volume_.batch = options_.batch;
    for (int32_t axis : options_.mirrored) volume_.mirrored_axes |= 1u << axis;
    volume_.slab_axis = -1;
    volume_.inputs = &input_;
    volume_.outputs = outputs_.data();
    result_.struct_size = sizeof result_;
  }
  VolumeCall(const VolumeCall&) = delete;
  VolumeCall& operator=(const VolumeCall&) = delete;

  // Runs, and writes the target. `before_name` is called with the finished file before that gets its name.
  void run(const std::filesystem::path& target, const std::function<void(const std::filesystem::path&)>& before_name) {
    const AxisOrder order = options_.preset == "nnunet" ? AxisOrder::zyx : AxisOrder::xyz;
    const std::vector<int64_t> dims = output_dims(volume_);
    ResultFormat format{{dims.begin() + 1, dims.end()}, dims[0], DType::float32, order, result_axes()};
    if (options_.output_kind == "labels") {
      format.channels = 0;
      format.dtype = classes() <= 256 ? DType::uint8 : DType::uint16;
    }
    ResultFile file(target, scan_, format);
    ProgressLine progress(target.filename().string(), "window", true);
    int64_t window_bytes = scan_.channels * element_size(scan_.dtype);
    for (size_t i = 0; i < window_.size(); ++i)
      window_bytes = checked_multiply(window_bytes, window_[i] > 0 ? window_[i] : scan_.dims[i]);
    Callbacks callbacks{file, progress, scan_.mapped.get(), window_bytes};
    volume_.progress = Callbacks::tell;
    volume_.progress_context = &callbacks;
    onnxc_volume_output& output = outputs_[0];
    output.dtype = static_cast<onnxc_dtype>(format.dtype);
    std::vector<std::byte> gathered;
    if (file.bytes() <= most_gathered_bytes) {
      gathered.resize(static_cast<size_t>(file.bytes()));
      output.data = gathered.data();
      output.bytes = file.bytes();
      output.strides = file.strides().data();
    } else {
      volume_.slab_axis = file.slab_axis();
      output.write = Callbacks::write;
      output.write_context = &callbacks;
    }
    const onnxc_status status = session_.api().run_volume(session_.instance(), &volume_, &result_);
    if (callbacks.exception) std::rethrow_exception(callbacks.exception);
    check(status);
    if (!gathered.empty()) file.write_all(gathered.data());
    file.finish();
    before_name(file.temporary_path());
    file.commit();
  }

  const onnxc_volume_result& result() const { return result_; }

 private:
  // For the first output: the channels, then the axes.
  std::vector<int64_t> output_dims(const onnxc_volume& volume) {
    std::vector<std::vector<int64_t>> dims(outputs_.size(), std::vector<int64_t>(1 + scan_.dims.size()));
    std::vector<int64_t*> places;
    for (std::vector<int64_t>& place : dims) places.push_back(place.data());
    check(session_.api().volume_output_dims(session_.instance(), &volume, places.data()));
    return dims[0];
  }
  // Follows the formula of onnxc_volume.h. The formula for a window is that for a volume of its size.
  std::vector<ResultAxis> result_axes() {
    std::vector<int64_t> window = window_;
    for (size_t i = 0; i < window.size(); ++i)
      if (window[i] == 0) window[i] = scan_.dims[i];
    onnxc_volume one_window = volume_;
    one_window.dims = window.data();
    const std::vector<int64_t> made = output_dims(one_window);
    std::vector<ResultAxis> axes;
    for (size_t i = 0; i < window.size(); ++i) {
      const double zoom = static_cast<double>(made[1 + i]) / static_cast<double>(window[i]);
      const auto padded = static_cast<double>(std::max<int64_t>(window[i] - scan_.dims[i], 0) / 2);
      axes.push_back({1 / zoom, (std::rint(padded * zoom) + 0.5) / zoom - 0.5 - padded});
    }
    return axes;
  }
  void check(onnxc_status status) const {
    if (status == ONNXC_INTERNAL_ERROR) internal_error(session_.api().last_error(session_.instance()));
    user_check(status == ONNXC_OK, "{}", printable(session_.api().last_error(session_.instance()), ONNXC_ERROR_SIZE));
  }
  // The number of channels of the model's first output; large if it is not known before a run.
  int64_t classes() const {
    const onnxc_value_info& info = *session_.api().output(0);
    return info.rank > 1 ? std::max<int64_t>(std::strtoll(info.dims[1], nullptr, 10), 1) : 1;
  }

  const VolumeOptions& options_;
  Session& session_;
  const Scan& scan_;
  std::vector<onnxc_volume_scaling> scalings_;
  std::vector<int64_t> window_;
  std::vector<double> overlap_, step_;
  onnxc_volume_input input_ = {};
  std::vector<onnxc_volume_output> outputs_;
  onnxc_volume volume_ = {};
  onnxc_volume_result result_ = {};
};

void report(const std::filesystem::path& volume, const std::filesystem::path& target, const Scan& scan,
            const onnxc_volume_result& result, double seconds, bool as_json) {
  double voxels = 1;
  for (int64_t dim : scan.dims) voxels *= static_cast<double>(dim);
  if (result.nan_voxels > 0)
    spdlog::warn("{}: {} NaN; the network's results for them are NaN too, and their labels mean nothing",
                 quote(volume.string()), counted_are(result.nan_voxels, "voxel"));
  const double share = result.seconds > 0 ? result.network_seconds / result.seconds : 0;
  if (as_json) {
    nlohmann::ordered_json line = {{"volume", volume.string()},
                                   {"output", target.string()},
                                   {"dims", scan.dims},
                                   {"windows", result.windows},
                                   {"runs", result.runs},
                                   {"seconds", seconds},
                                   {"voxels_per_second", voxels / seconds},
                                   {"network_share", share},
                                   {"nan_voxels", result.nan_voxels},
                                   {"working_bytes", result.working_bytes},
                                   {"peak_bytes", process_peak_bytes()}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{}: {}, {:.1f} s, {:.2f} million voxels/s, {:.1f}% of it in the network, peak memory {:.2f} GiB\n",
               printable(target.string()), counted(result.windows, "window"), seconds, voxels / seconds / 1e6,
               100 * share, static_cast<double>(process_peak_bytes()) / (1 << 30));
  }
  std::fflush(stdout);
}

int32_t spatial_rank(const onnxc_api& api) {
  user_check(api.input_count == 1 && api.input(0)->rank >= 3 && api.input(0)->rank <= 5,
             "--volume needs a model with one input, [windows, channels, one to three axes]; this one has {}, the "
             "first of rank {}",
             counted(api.input_count, "input"), api.input_count > 0 ? api.input(0)->rank : 0);
  return api.input(0)->rank - 2;
}

bool is_to_be_made(const ResultRecord& record, const std::filesystem::path& target, const std::filesystem::path& scan) {
  switch (record.state(target, scan)) {
    case ResultRecord::State::missing:
      return true;
    case ResultRecord::State::outdated:
      spdlog::warn("{} was made from another scan, by another model or with other options: it is made anew",
                   printable(target.string()));
      return true;
    case ResultRecord::State::current:
      spdlog::info("{} is there already (--overwrite makes it anew)", printable(target.string()));
      return false;
    case ResultRecord::State::not_of_ours:
      break;
  }
  user_error(
      "{} is there, and was changed since it was made, or not made by onnxc-run: it is left as it is; "
      "--overwrite replaces it",
      quote(target.string()));
}

// One volume. `record` is null if the result is in no folder of results.
void segment(const RunOptions& options, Session& session, ResultRecord* record, const std::filesystem::path& file,
             const std::filesystem::path& target) {
  const Clock::time_point start = Clock::now();
  const ResultRecord::Stamp stamp = ResultRecord::stamp_of(file);
  const AxisOrder order = options.volume.preset == "nnunet" ? AxisOrder::zyx : AxisOrder::xyz;
  const Scan scan = read_scan(file, spatial_rank(session.api()), order, options.volume.raw);
  const auto run = [&](auto&& call) {
    call.run(target, [&](const std::filesystem::path& finished) {
      if (record != nullptr) record->add(target, finished, file, stamp);
    });
    const std::chrono::duration<double> seconds = Clock::now() - start;
    report(file, target, scan, call.result(), seconds.count(), options.json);
  };
  if (options.volume.preset == "diffusers") return run(TiledVideo(options, session, scan));
  run(VolumeCall(options, session, scan));
}

}  // namespace

bool segment_volumes(const RunOptions& options) {
  const VolumeOptions& volume = options.volume;
  if (volume.window.empty()) throw UsageError("--volume: say the window's sizes, as --window 96x96x96");
  const ResultTargets targets = result_targets(options);
  check_outputs(options);
  if (targets.folder) make_folder(*targets.folder);
  ModelLibrary library(options.model, options.entry);
  const int32_t rank = spatial_rank(library.api());
  for (int32_t axis : volume.mirrored)
    if (axis >= rank) throw UsageError(fmt::format("--mirror: the model has the spatial axes 0 to {}", rank - 1));
  Session session(library, options.threads, options.device, options.hip_graph);
  remove_abandoned_outputs(targets.folder ? *targets.folder : targets.files[0].parent_path());
  std::optional<ResultRecord> record;
  if (targets.folder) record.emplace(*targets.folder, options);
  bool is_complete = true;
  for (size_t i = 0; i < volume.volumes.size(); ++i) {
    const std::filesystem::path& file = volume.volumes[i];
    try {
      if (!record || volume.overwrite || is_to_be_made(*record, targets.files[i], file))
        segment(options, session, record ? &*record : nullptr, file, targets.files[i]);
    } catch (const UserError& error) {
      const std::string name = quote(file.string()), text = error.what();
      spdlog::error("{}{}", text.find(name) == std::string::npos ? name + ": " : "", text);
      is_complete = false;
    } catch (const std::bad_alloc&) {
      spdlog::error("{}: out of memory", quote(file.string()));
      is_complete = false;
    }
  }
  return is_complete;
}

}  // namespace onnxc
