// The options of the command line for whole volumes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace onnxc {

// The dims and the type of files without a header.
struct RawFormat {
  std::vector<int64_t> dims;  // the slowest first
  DType dtype = DType::undefined;
};

enum class Normalization { none, z_score, range };

struct VolumeOptions {
  std::vector<std::filesystem::path> volumes;  // none: --volume was not given
  std::string preset = "monai";                // or "nnunet", "diffusers"
  std::vector<int64_t> window;
  std::optional<double> overlap, step;
  std::string importance;  // empty: the preset's
  std::string padding = "constant";
  double padding_value = 0;
  int64_t batch = 0;
  std::vector<int32_t> mirrored;
  std::string output_kind = "values";  // or "labels", "softmax", "sigmoid"
  std::optional<RawFormat> raw;
  std::optional<std::array<double, 2>> clip;
  Normalization normalization = Normalization::none;
  // z_score: mean and deviation; range: what becomes 0 and 1. Absent: the volume's own.
  std::optional<std::array<double, 2>> normalization_by;
  bool overwrite = false;
};

}  // namespace onnxc
