// A scan as it lies in memory, read from NIfTI (.nii, .nii.gz), .npy or a raw file.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "ir/dtype.h"
#include "onnxc_run/volume/volume_options.h"

namespace onnxc {

class MappedFile;
class NiftiHeader;

struct Scan {
  std::vector<int64_t> dims;  // of the spatial axes, in the network's order
  int64_t channels = 1;
  DType dtype = DType::undefined;
  const std::byte* data = nullptr;
  int64_t bytes = 0;
  std::vector<int64_t> strides;  // of the channels, then of each axis, in elements
  double slope = 1, intercept = 0;
  std::shared_ptr<const void> memory;         // that `data` is in, or
  std::shared_ptr<const MappedFile> mapped;   // the file
  std::shared_ptr<const NiftiHeader> header;  // null: not from NIfTI
};

// Whether an array's axes are those of the file reversed: NIfTI has x, y, z with x the fastest. MONAI's arrays are x,
// y, z; nnU-Net's z, y, x.
enum class AxisOrder { xyz, zyx };

// Uncompressed files are mapped, so nothing of them is copied. UserError that names the file and what is wrong with it.
// `rank` is the number of the network's spatial axes.
Scan read_scan(const std::filesystem::path& file, int32_t rank, AxisOrder order, const std::optional<RawFormat>& raw);

// Whether a .nii, .nii.gz or .npy file has all the voxels that its header tells of; a compressed one is read for it.
bool is_whole_volume(const std::filesystem::path& file);

bool is_nifti(const std::filesystem::path& file);

}  // namespace onnxc
