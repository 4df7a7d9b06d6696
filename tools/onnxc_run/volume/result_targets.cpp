#include "onnxc_run/volume/result_targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnxc_run/volume/scan.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

// A result has the format that its name says, so a name of another format would lie.
void check_format_of(const std::filesystem::path& output) {
  if (is_nifti(output) || output.extension() == ".npy" || output.extension() == ".raw") return;
  throw UsageError(fmt::format(
      "--output {}: its name ends in {}, and results are written as .nii, .nii.gz, .npy or .raw (bytes without a "
      "header): give such a name, or a folder as FOLDER/",
      quote(output.string()), output.has_extension() ? quote(output.extension().string()) : "no extension"));
}

}  // namespace

ResultTargets result_targets(const RunOptions& options) {
  const std::vector<std::filesystem::path>& volumes = options.volume.volumes;
  if (!options.output)
    throw UsageError("--volume: say where the result goes, as --output seg.nii.gz or --output FOLDER");
  const std::filesystem::path& output = *options.output;
  const bool names_folder = !output.has_filename() || std::filesystem::is_directory(output);
  if (volumes.size() == 1 && !names_folder) {
    check_format_of(output);
    return {{output}};
  }
  if (!names_folder && output.has_extension())
    throw UsageError(
        fmt::format("--output {}: the results of {} go to a folder, and this is the name of a file: give FOLDER/",
                    quote(output.string()), counted(volumes.size(), "volume")));
  std::vector<std::filesystem::path> targets;
  for (const std::filesystem::path& volume : volumes) {
    std::filesystem::path target = output / volume.filename();
    if (!is_nifti(volume)) target.replace_extension(".npy");
    if (std::ranges::find(targets, target) != targets.end())
      throw UsageError(fmt::format("--volume: two volumes would be written to {}", quote(target.string())));
    targets.push_back(target);
  }
  return {std::move(targets), output};
}

}  // namespace onnxc
