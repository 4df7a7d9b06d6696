// A decoder over a whole video of latents, in tiles and in windows over time (--preset diffusers).
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"
#include "onnxc_run/volume/scan.h"
#include "onnxc_run/volume/tiles.h"
#include "onnxc_volume.h"

namespace onnxc {

class TiledVideo {
 public:
  // UsageError or UserError for a window, a model or latents that cannot be.
  TiledVideo(const RunOptions& options, Session& session, const Scan& latents);

  // Decodes, and writes the target as .npy. `before_name` is called with the finished file before that gets its name.
  void run(const std::filesystem::path& target, const std::function<void(const std::filesystem::path&)>& before_name);

  // Windows, runs and times, as they are told of other volumes.
  const onnxc_volume_result& result() const { return result_; }

 private:
  // Frames of the latents [first, end), of all tiles.
  FrameBlock decoded(int64_t first, int64_t end);
  FrameBlock decoded_tile(const std::array<std::array<int64_t, 2>, 3>& extents);
  // Puts the frames of one window into the whole video. `end`: of the frames before, moved on.
  void add_window(int64_t index, FrameBlock frames, int64_t& end);
  bool has_windows() const { return time_.count() > 1; }
  // A length in rows or columns of the input, in those of the output.
  int64_t enlarged(int64_t length) const { return length * zoom_; }

  Session& session_;
  const Scan& latents_;
  AxisTiles time_, rows_, columns_;
  int64_t zoom_ = 0;         // 0 before the first tile
  int64_t frames_each_ = 0;  // of each latent frame, in windows over time
  std::optional<FrameBlock> video_, before_;
  std::function<void()> tell_;
  onnxc_volume_result result_ = {};
};

}  // namespace onnxc
