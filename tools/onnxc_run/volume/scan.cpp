#include "onnxc_run/volume/scan.h"

#include <algorithm>
#include <cstring>

#include "onnxc_run/files/npy.h"
#include "onnxc_run/volume/nifti.h"
#include "support/checked.h"
#include "support/count_text.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::string dims_text(const std::vector<int64_t>& dims) { return fmt::format("{}", fmt::join(dims, "x")); }

// Row-major, or with the first axis the fastest.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims, bool first_is_fastest) {
  std::vector<int64_t> strides(dims.size(), 1);
  if (first_is_fastest) {
    for (size_t i = 1; i < dims.size(); ++i) strides[i] = checked_multiply(strides[i - 1], dims[i - 1]);
  } else {
    for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = checked_multiply(strides[i], dims[i]);
  }
  return strides;
}

// [channels, axes] or [axes] of an array without a header of its own; a batch of one may stand in front of channels.
void set_axes(Scan& scan, std::vector<int64_t> dims, std::vector<int64_t> strides, int32_t rank,
              const std::string& name) {
  const auto axes = static_cast<size_t>(rank);
  if (dims.size() == axes + 2 && dims[0] == 1) {
    dims.erase(dims.begin());
    strides.erase(strides.begin());
  }
  user_check(dims.size() == axes || dims.size() == axes + 1,
             "{} has {} ({}), and the model takes {}, with or without channels in front", name,
             counted(dims.size(), "axis"), dims_text(dims), counted(rank, "spatial one"));
  const bool has_channels = dims.size() > axes;
  scan.channels = has_channels ? dims[0] : 1;
  scan.strides = {has_channels ? strides[0] : 0};
  scan.dims.assign(dims.end() - rank, dims.end());
  scan.strides.insert(scan.strides.end(), strides.end() - rank, strides.end());
  for (int64_t dim : dims) user_check(dim >= 1, "{} has no voxels: its dims are {}", name, dims_text(dims));
}

void map_data(Scan& scan, const std::filesystem::path& file, int64_t offset, int64_t bytes) {
  const std::shared_ptr<const MappedFile> mapped = map_file(file);
  user_check(static_cast<int64_t>(mapped->bytes().size()) >= checked_add(offset, bytes), "{} ends within its voxels",
             quote(file.string()));
  scan.data = mapped->bytes().data() + offset;
  scan.bytes = bytes;
  scan.mapped = mapped;
}

Scan read_nifti(const std::filesystem::path& file, int32_t rank, AxisOrder order) {
  const std::string name = quote(file.string());
  Scan scan;
  const auto header = std::make_shared<const NiftiHeader>(file);
  const std::vector<int64_t>& dims = header->dims();
  const auto axes = static_cast<size_t>(rank);
  // After the spatial axes, one axis may hold channels.
  int64_t channels = 1, further = 0;
  for (size_t i = axes; i < dims.size(); ++i) {
    channels = checked_multiply(channels, dims[i]);
    further += dims[i] > 1 ? 1 : 0;
  }
  user_check(dims.size() >= axes && further <= 1,
             "{} has {} ({}), and the model takes {} and at most one more, of channels", name,
             counted(dims.size(), "axis"), dims_text(dims), counted(rank, "spatial one"));
  scan.channels = channels;
  scan.dims.assign(dims.begin(), dims.begin() + rank);
  const std::vector<int64_t> strides = dense_strides(dims, true);
  scan.strides.assign(strides.begin(), strides.begin() + rank);
  if (order == AxisOrder::zyx) {
    std::ranges::reverse(scan.dims);
    std::ranges::reverse(scan.strides);
  }
  scan.strides.insert(scan.strides.begin(), checked_product(scan.dims));
  scan.dtype = header->dtype();
  scan.slope = header->slope();
  scan.intercept = header->intercept();
  scan.header = header;
  const bool is_aligned = header->data_offset() % element_size(scan.dtype) == 0;
  if (!header->is_compressed() && !header->is_swapped() && is_aligned && file.extension() == ".nii") {
    map_data(scan, file, header->data_offset(), header->bytes());
  } else {
    const std::shared_ptr<std::byte[]> data = header->read_data();
    scan.data = data.get();
    scan.bytes = header->bytes();
    scan.memory = data;
  }
  return scan;
}

void check_dtype(const Scan& scan, const std::string& name) {
  const bool is_known = scan.dtype == DType::float32 || scan.dtype == DType::float64 || scan.dtype == DType::boolean ||
                        (is_integer(scan.dtype) && element_size(scan.dtype) <= 4);
  user_check(is_known, "{} has elements of {}; whole numbers of up to 32 bits, float32 and float64 are read", name,
             info(scan.dtype).name);
}

}  // namespace

bool is_nifti(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".nii") || name.ends_with(".nii.gz");
}

bool is_whole_volume(const std::filesystem::path& file) {
  try {
    if (is_nifti(file)) {
      const NiftiHeader header(file);
      if (header.is_compressed()) header.read_data();
    } else {
      read_npy_layout(map_file(file)->bytes(), quote(file.string()));
    }
    return true;
  } catch (const UserError&) {
    return false;
  }
}

Scan read_scan(const std::filesystem::path& file, int32_t rank, AxisOrder order, const std::optional<RawFormat>& raw) {
  const std::string name = quote(file.string());
  if (is_nifti(file)) return read_nifti(file, rank, order);
  Scan scan;
  if (file.extension() == ".npy") {
    const NpyLayout layout = read_npy_layout(map_file(file)->bytes(), name);
    user_check(!layout.is_swapped, "{} is in the other byte order; save it in this machine's", name);
    scan.dtype = layout.dtype;
    check_dtype(scan, name);
    set_axes(scan, layout.dims, dense_strides(layout.dims, layout.fortran_order), rank, name);
    map_data(scan, file, static_cast<int64_t>(layout.data_offset),
             checked_multiply(checked_product(layout.dims), element_size(layout.dtype)));
    user_check(layout.data_offset % static_cast<size_t>(element_size(scan.dtype)) == 0,
               "{}: its elements begin at byte {}, which is not a multiple of their size", name, layout.data_offset);
    return scan;
  }
  user_check(raw.has_value(),
             "{} is not known by its name: volumes are .nii, .nii.gz and .npy; for a raw file say --raw "
             "DIMS:TYPE, such as 512x512x304:int16",
             name);
  scan.dtype = raw->dtype;
  check_dtype(scan, name);
  set_axes(scan, raw->dims, dense_strides(raw->dims, false), rank, name);
  const int64_t bytes = checked_multiply(checked_product(raw->dims), element_size(raw->dtype));
  map_data(scan, file, 0, bytes);
  user_check(static_cast<int64_t>(std::filesystem::file_size(file)) == bytes, "{} has {} bytes, and {} of {} are {}",
             name, std::filesystem::file_size(file), dims_text(raw->dims), info(raw->dtype).name, bytes);
  return scan;
}

}  // namespace onnxc
