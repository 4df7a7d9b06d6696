#include "onnxc_run/volume/volume_command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

[[noreturn]] void usage_error(const char* option, const std::string& text, const char* expected) {
  throw UsageError(fmt::format("{} {}: expected {}", option, printable(text), expected));
}

// Numbers between separators; nothing if one is not a number.
template <class Number>
std::vector<Number> numbers(std::string_view text, char separator) {
  std::vector<Number> result;
  for (;;) {
    const size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    Number number{};
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || rest != part.data() + part.size() || part.empty()) return {};
    result.push_back(number);
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end + 1);
  }
}

std::vector<int64_t> parse_window(const std::string& text) {
  std::vector<int64_t> sizes = numbers<int64_t>(text, 'x');
  if (sizes.empty() || sizes.size() > 3) usage_error("--window", text, "one to three sizes, such as 96x96x96");
  for (int64_t& size : sizes) {
    if (size < -1) usage_error("--window", text, "sizes of at least 1, or 0 or -1 for the volume's own");
    size = std::max<int64_t>(size, 0);
  }
  return sizes;
}

std::vector<int32_t> parse_axes(const std::string& text) {
  std::vector<int32_t> axes = numbers<int32_t>(text, ',');
  if (axes.empty()) usage_error("--mirror", text, "spatial axes, such as 0,1,2");
  for (int32_t axis : axes)
    if (axis < 0 || axis > 2) usage_error("--mirror", text, "spatial axes, from 0 to 2");
  return axes;
}

std::array<double, 2> parse_pair(const char* option, const std::string& text, std::string_view pair) {
  const std::vector<double> values = numbers<double>(pair, ',');
  if (values.size() != 2) usage_error(option, text, "two numbers, such as -1000,400");
  return {values[0], values[1]};
}

RawFormat parse_raw(const std::string& text) {
  const size_t colon = text.find(':');
  const std::optional<DType> dtype = colon != std::string::npos ? parse_dtype(text.substr(colon + 1)) : std::nullopt;
  RawFormat format{numbers<int64_t>(text.substr(0, colon), 'x'), dtype.value_or(DType::undefined)};
  bool is_right = dtype.has_value() && !format.dims.empty() && format.dims.size() <= 4;
  for (int64_t dim : format.dims) is_right &= dim > 0;
  if (!is_right) usage_error("--raw", text, "DIMS:TYPE with the slowest axis first, such as 512x512x304:int16");
  return format;
}

void parse_normalization(const std::string& text, VolumeOptions& options) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (kind != "zscore" && kind != "range")
    usage_error("--normalize", text, "zscore, zscore:MEAN,DEVIATION, range or range:LOW,HIGH");
  options.normalization = kind == "zscore" ? Normalization::z_score : Normalization::range;
  if (colon == std::string::npos) return;
  options.normalization_by = parse_pair("--normalize", text, std::string_view(text).substr(colon + 1));
  const auto [first, second] = *options.normalization_by;
  if (options.normalization == Normalization::z_score ? !(second > 0) : !(second > first))
    usage_error("--normalize", text, "a deviation above 0, or a range whose second number is larger");
}

void check_distances(const VolumeOptions& options) {
  if (options.overlap && !(*options.overlap >= 0 && *options.overlap < 1))
    usage_error("--overlap", fmt::format("{}", *options.overlap), "between 0 and below 1; 50 percent is 0.5");
  if (options.step && !(*options.step > 0 && *options.step <= 1))
    usage_error("--step", fmt::format("{}", *options.step), "above 0 and at most 1; half a window is 0.5");
}

}  // namespace

void VolumeWords::add_to(OptionTable& table) {
  constexpr const char* heading = "Whole volumes, in windows (docs/volumes.md)";
  table.group(heading);
  table.option("--volume", options.volumes,
               "FILE...: scans, .nii, .nii.gz or .npy, or raw with --raw; --output is then a file, or a folder");
  table.group(heading, {"--volume"});
  add_windows(table);
  add_results(table);
}

void VolumeWords::add_windows(OptionTable& table) {
  table.option("--window", window, "SIZES: of the window, such as 96x96x96; 0: the volume's own");
  table
      .option("--preset", options.preset,
              "whose windows, Gaussian and order of axes (x,y,z or z,y,x); diffusers: tiles of "
              "videos")
      .one_of({"monai", "nnunet", "diffusers"})
      .shows_default();
  table.option("--overlap", options.overlap, "of neighbouring windows, presets monai and diffusers (default 0.25)")
      .with({"--preset=monai", "--preset=diffusers"});
  table.option("--step", options.step, "between windows, in windows, preset nnunet (default 0.5)")
      .with({"--preset=nnunet"});
  table.option("--blend", options.importance, "the importance of a window's voxels (default: the preset's)")
      .one_of({"constant", "gaussian"})
      .without({"--preset=diffusers"});
  table.option("--padding", options.padding, "around a volume that is smaller than the window")
      .one_of({"constant", "reflect", "replicate", "circular"})
      .shows_default()
      .without({"--preset=diffusers"});
  table.option("--padding-value", options.padding_value, "of constant padding, as the model sees it")
      .with({"--padding=constant"});
  table.option("--windows-per-run", options.batch, "windows that the model runs at once")
      .between(1, 4096)
      .without({"--preset=diffusers"});
  table.option("--mirror", mirrored, "AXES: averages over windows mirrored in these, such as 0,1,2")
      .without({"--preset=diffusers"});
}

void VolumeWords::add_results(OptionTable& table) {
  table.flag("--labels", labels, "writes the class of the largest value")
      .without({"--softmax", "--sigmoid", "--preset=diffusers"});
  table.flag("--softmax", softmax, "writes the softmax over the classes").without({"--sigmoid", "--preset=diffusers"});
  table.flag("--sigmoid", sigmoid, "writes the sigmoid of the values").without({"--preset=diffusers"});
  table.option("--clip", clip, "LOW,HIGH: clips the voxels").without({"--preset=diffusers"});
  table
      .option("--normalize", normalization,
              "zscore or range, by the volume's own statistics or by those given: zscore:MEAN,DEVIATION, "
              "range:LOW,HIGH")
      .without({"--preset=diffusers"});
  table.option("--raw", raw, "DIMS:TYPE of raw files, the slowest axis first, such as 512x512x304:int16");
  table.flag("--overwrite", options.overwrite, "replaces results that are there already");
}

void VolumeWords::read() {
  check_distances(options);
  if (!window.empty()) options.window = parse_window(window);
  if (!mirrored.empty()) options.mirrored = parse_axes(mirrored);
  if (!clip.empty()) {
    options.clip = parse_pair("--clip", clip, clip);
    if (!((*options.clip)[0] < (*options.clip)[1])) usage_error("--clip", clip, "LOW,HIGH with LOW below HIGH");
  }
  if (!normalization.empty()) parse_normalization(normalization, options);
  if (!raw.empty()) options.raw = parse_raw(raw);
  if (labels) options.output_kind = "labels";
  if (softmax) options.output_kind = "softmax";
  if (sigmoid) options.output_kind = "sigmoid";
}

}  // namespace onnxc
