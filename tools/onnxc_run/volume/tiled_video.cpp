#include "onnxc_run/volume/tiled_video.h"

#include <fmt/format.h>

#include <chrono>

#include "onnxc_run/progress_line.h"
#include "onnxc_run/volume/result_file.h"
#include "support/checked.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double default_overlap = 0.25;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

AxisTiles tiles_of(int64_t size, int64_t window, double overlap) {
  if (window == 0) return {size, size, 0};
  return {size, window, static_cast<int64_t>(static_cast<double>(window) * overlap)};
}

// A video is whole if it is no larger than a tile.
void make_whole_if_small(AxisTiles& rows, AxisTiles& columns) {
  if (rows.size > rows.tile || columns.size > columns.tile) return;
  rows = {rows.size, rows.size, 0};
  columns = {columns.size, columns.size, 0};
}

double element(const Scan& latents, int64_t index) {
  if (latents.dtype == DType::float64) return reinterpret_cast<const double*>(latents.data)[index];
  return static_cast<double>(reinterpret_cast<const float*>(latents.data)[index]);
}

}  // namespace

TiledVideo::TiledVideo(const RunOptions& options, Session& session, const Scan& latents)
    : session_(session), latents_(latents) {
  const std::vector<int64_t>& window = options.volume.window;
  if (window.size() != 3)
    throw UsageError(
        fmt::format("--window: {} given, and --preset diffusers takes three: latent frames, rows and "
                    "columns, such as 0x32x32 for all frames at once",
                    counted_are(window.size(), "size")));
  user_check(state_count(session.api()) == 0,
             "{} has states, which --preset diffusers does not keep for each tile; decode with onnxc.video.Decoder of "
             "Python",
             quote(options.model.string()));
  const std::string name = quote(session.api().input(0)->name);
  user_check(latents.dims.size() == 3,
             "--preset diffusers needs a model of [1, channels, frames, height, width], and "
             "{} has {}",
             name, counted(latents.dims.size() + 2, "axis"));
  user_check(latents.dtype == DType::float32 || latents.dtype == DType::float64,
             "latents are float32 or float64, and these have elements of {}", info(latents.dtype).name);
  user_check(dtype_of(*session.api().input(0)) == DType::float32,
             "--preset diffusers needs a model of float32, and {} is {}", name,
             info(dtype_of(*session.api().input(0))).name);
  const double overlap = options.volume.overlap.value_or(default_overlap);
  time_ = tiles_of(latents.dims[0], window[0], overlap);
  if (time_.size <= time_.tile) time_ = {time_.size, time_.size, 0};
  rows_ = tiles_of(latents.dims[1], window[1], overlap);
  columns_ = tiles_of(latents.dims[2], window[2], overlap);
  make_whole_if_small(rows_, columns_);
  result_.struct_size = sizeof result_;
  result_.windows = time_.count() * rows_.count() * columns_.count();
}

void TiledVideo::run(const std::filesystem::path& target,
                     const std::function<void(const std::filesystem::path&)>& before_name) {
  user_check(target.extension() == ".npy", "{}: --preset diffusers writes .npy", quote(target.string()));
  const Clock::time_point start = Clock::now();
  ProgressLine progress(target.filename().string(), "tile", true);
  tell_ = [&] { progress.tell(++result_.runs, result_.windows); };
  int64_t end = 0;
  for (int64_t window = 0; window < time_.count(); ++window)
    add_window(window, decoded(time_.first(window), time_.end(window, has_windows() ? 1 : 0)), end);
  const auto [channels, frames, rows, columns] = video_->dims;
  // .npy has no place for the voxels' own.
  ResultFile file(target, latents_, {{frames, rows, columns}, channels, DType::float32, AxisOrder::xyz, {}});
  file.write_all(video_->values.data());
  file.finish();
  before_name(file.temporary_path());
  file.commit();
  result_.working_bytes = static_cast<int64_t>(video_->values.size() * sizeof(float));
  result_.seconds = seconds_since(start);
}

FrameBlock TiledVideo::decoded(int64_t first, int64_t end) {
  std::optional<TileBlend> blend;
  std::optional<FrameBlock> whole;
  for (int64_t row = 0; row < rows_.count(); ++row)
    for (int64_t column = 0; column < columns_.count(); ++column) {
      FrameBlock tile = decoded_tile(
          {{{first, end}, {rows_.first(row), rows_.end(row)}, {columns_.first(column), columns_.end(column)}}});
      if (!blend) {
        blend.emplace(std::array{enlarged(rows_.overlap), enlarged(columns_.overlap)},
                      std::array{enlarged(rows_.stride()), enlarged(columns_.stride())}, columns_.count());
        whole.emplace(std::array{tile.dims[0], tile.dims[1], enlarged(rows_.size), enlarged(columns_.size)});
      }
      user_check(tile.dims[0] == whole->dims[0] && tile.dims[1] == whole->dims[1],
                 "a tile gave {} of {}, and the first one {} of {}", counted(tile.dims[0], "channel"),
                 counted(tile.dims[1], "frame"), whole->dims[0], whole->dims[1]);
      whole->put(blend->add(row, column, std::move(tile)),
                 {0, enlarged(row * rows_.stride()), enlarged(column * columns_.stride())});
    }
  return std::move(*whole);
}

FrameBlock TiledVideo::decoded_tile(const std::array<std::array<int64_t, 2>, 3>& extents) {
  std::vector<int64_t> dims = {1, latents_.channels};
  for (const auto& [first, end] : extents) dims.push_back(end - first);
  Tensor input = Tensor::zeros(DType::float32, dims);
  auto* next = reinterpret_cast<float*>(input.mutable_bytes());
  for (int64_t channel = 0; channel < latents_.channels; ++channel)
    for (int64_t t = extents[0][0]; t < extents[0][1]; ++t)
      for (int64_t y = extents[1][0]; y < extents[1][1]; ++y)
        for (int64_t x = extents[2][0]; x < extents[2][1]; ++x)
          *next++ = static_cast<float>(element(latents_, channel * latents_.strides[0] + t * latents_.strides[1] +
                                                             y * latents_.strides[2] + x * latents_.strides[3]));
  const Clock::time_point start = Clock::now();
  const std::vector<Tensor> outputs = session_.run({input});
  result_.network_seconds += seconds_since(start);
  tell_();
  const Tensor& made = outputs[0];
  user_check(made.dtype() == DType::float32 && made.dims().size() == 5 && made.dims()[0] == 1,
             "--preset diffusers needs frames [1, channels, frames, height, width] of float32; the model gave {} of {}",
             info(made.dtype()).name, fmt::join(made.dims(), "x"));
  if (zoom_ == 0) zoom_ = made.dims()[3] / dims[3];
  user_check(zoom_ > 0 && made.dims()[3] == enlarged(dims[3]) && made.dims()[4] == enlarged(dims[4]),
             "a tile of {}x{} became {}x{}, and the first one grew by {}: a decoder enlarges all alike", dims[3],
             dims[4], made.dims()[3], made.dims()[4], zoom_);
  FrameBlock block({made.dims()[1], made.dims()[2], made.dims()[3], made.dims()[4]});
  std::ranges::copy(made.values<float>(), block.values.begin());
  return block;
}

void TiledVideo::add_window(int64_t index, FrameBlock frames, int64_t& end) {
  if (!has_windows()) {
    video_ = std::move(frames);
    return;
  }
  if (index == 0) {
    const int64_t made = frames.dims[1];
    user_check((made - 1) % time_.tile == 0,
               "--window: {} gave {}, and windows over time are for causal decoders, which make r*(t-1) + 1 of t; take "
               "0 for all frames at once",
               counted(time_.tile + 1, "latent frame"), counted(made, "frame"));
    frames_each_ = (made - 1) / time_.tile;
    video_.emplace(std::array{frames.dims[0], (time_.size - 1) * frames_each_ + 1, frames.dims[2], frames.dims[3]});
  } else {
    frames = frames.part(1, 1, frames.dims[1]);
    run_over(*before_, frames, time_.overlap * frames_each_, 1);
  }
  before_ = frames.last(1, time_.overlap * frames_each_);
  const int64_t kept = std::min(frames.dims[1], time_.stride() * frames_each_ + (index == 0 ? 1 : 0));
  internal_check(end + kept <= video_->dims[1], "windows have as many frames as the video");
  video_->put(frames.part(1, 0, kept), {end, 0, 0});
  end += kept;
}

}  // namespace onnxc
