#include "onnxc_run/volume/nifti.h"

#include <nifti2_io.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/checked.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

struct NiftiType {
  int code;
  DType dtype;
};
constexpr std::array types = {
    NiftiType{DT_UINT8, DType::uint8},     NiftiType{DT_INT8, DType::int8},       NiftiType{DT_INT16, DType::int16},
    NiftiType{DT_UINT16, DType::uint16},   NiftiType{DT_INT32, DType::int32},     NiftiType{DT_UINT32, DType::uint32},
    NiftiType{DT_FLOAT32, DType::float32}, NiftiType{DT_FLOAT64, DType::float64},
};

// More than deflate can compress.
constexpr int64_t most_expansion = 1100;
constexpr size_t extension_bytes = 4;  // four zeros: no extension follows the header

nifti_image* image_of(void* image) { return static_cast<nifti_image*>(image); }

int code_of(DType dtype) {
  const auto row = std::ranges::find_if(types, [&](const NiftiType& type) { return type.dtype == dtype; });
  internal_check(row != types.end(), "a type that NIfTI has");
  return row->code;
}

template <class Header>
std::string bytes_of(Header& header) {
  header.vox_offset = static_cast<decltype(header.vox_offset)>(sizeof header + extension_bytes);
  std::string result(reinterpret_cast<const char*>(&header), sizeof header);
  return result.append(extension_bytes, '\0');
}

// The columns of an affine for other axes, and the place of their first voxel.
void move_affine(nifti_dmat44& affine, const std::vector<ResultAxis>& axes) {
  for (auto& row : affine.m) {
    for (size_t i = 0; i < axes.size(); ++i) row[3] += row[i] * axes[i].origin;
    for (size_t i = 0; i < axes.size(); ++i) row[i] *= axes[i].step;
  }
}

// Puts the voxels at the places of the axes. The file's facts about slices are no longer true then.
void move_voxels(nifti_image& image, const std::vector<ResultAxis>& axes) {
  if (std::ranges::all_of(axes, [](const ResultAxis& axis) { return axis == ResultAxis(); })) return;
  move_affine(image.sto_xyz, axes);
  move_affine(image.qto_xyz, axes);
  if (image.qform_code > 0) {
    image.qoffset_x = image.qto_xyz.m[0][3];
    image.qoffset_y = image.qto_xyz.m[1][3];
    image.qoffset_z = image.qto_xyz.m[2][3];
  }
  for (size_t i = 0; i < axes.size(); ++i) image.pixdim[i + 1] *= axes[i].step;
  image.dx = image.pixdim[1], image.dy = image.pixdim[2], image.dz = image.pixdim[3];
  image.slice_code = NIFTI_SLICE_UNKNOWN;
  image.slice_start = image.slice_end = 0;
  image.slice_duration = 0;
}

// The begin of the elements of a single file.
int64_t offset_of_voxels(const std::filesystem::path& file, const std::string& name) {
  const auto read = [&](auto* header) {
    user_check(header != nullptr, "{} is not a NIfTI image, or its header is damaged", name);
    const std::unique_ptr<void, decltype(&std::free)> owner(header, std::free);
    const auto offset = static_cast<double>(header->vox_offset), least = double{sizeof *header + extension_bytes};
    constexpr double most = 1e15;  // far beyond any file, and within 64 bits
    user_check(offset == 0 || (offset >= least && offset <= most && offset == std::floor(offset)),
               "{}: the header says that the voxels begin at byte {} (vox_offset); expected 0, or a whole number from "
               "{} on, which is where the header ends",
               name, offset, least);
    return static_cast<int64_t>(offset == 0 ? least : offset);
  };
  constexpr int check = 0;
  int version = 0, is_swapped = 0;
  std::free(nifti_read_header(file.c_str(), &version, check));
  // These give it in this machine's byte order.
  return version == 2 ? read(nifti_read_n2_hdr(file.c_str(), &is_swapped, check))
                      : read(nifti_read_n1_hdr(file.c_str(), &is_swapped, check));
}

// Sets the type of the elements, and makes the header's bytes: NIfTI-1 if its 16-bit dims suffice.
std::string header_bytes(nifti_image& image, const std::vector<int64_t>& dims, DType dtype) {
  image.ndim = static_cast<int>(dims.size());
  image.nvox = 1;
  for (size_t i = 0; i < 7; ++i) {
    image.dim[i + 1] = i < dims.size() ? dims[i] : 1;
    image.nvox *= image.dim[i + 1];
    if (i >= dims.size()) image.pixdim[i + 1] = 1;
  }
  image.dim[0] = image.ndim;
  image.nx = image.dim[1], image.ny = image.dim[2], image.nz = image.dim[3], image.nt = image.dim[4];
  image.nu = image.dim[5], image.nv = image.dim[6], image.nw = image.dim[7];
  image.datatype = code_of(dtype);
  image.nbyper = static_cast<int>(element_size(dtype));
  image.scl_slope = 0;  // none
  image.scl_inter = 0;
  image.cal_min = image.cal_max = 0;
  image.intent_code = NIFTI_INTENT_NONE;
  image.nifti_type = NIFTI_FTYPE_NIFTI1_1;
  if (*std::ranges::max_element(dims) <= INT16_MAX) {
    nifti_1_header header;
    user_check(nifti_convert_nim2n1hdr(&image, &header) == 0, "libnifti cannot make the header of an image");
    return bytes_of(header);
  }
  nifti_2_header header;
  user_check(nifti_convert_nim2n2hdr(&image, &header) == 0, "libnifti cannot make the header of an image");
  return bytes_of(header);
}

}  // namespace

NiftiHeader::NiftiHeader(const std::filesystem::path& file) : file_(file) {
  const std::string name = quote(file.string());
  nifti_set_debug_level(0);  // it would print
  std::error_code failure;
  const bool is_there = std::filesystem::is_regular_file(file, failure);
  user_check(is_there, "cannot read {}: {}", name, failure ? failure.message() : "it is not a regular file");
  const int64_t file_bytes = static_cast<int64_t>(std::filesystem::file_size(file));
  image_ = nifti_image_read(file.c_str(), 0);
  user_check(image_ != nullptr, "{} is not a NIfTI image, or its header is damaged", name);
  try {
    const nifti_image& image = *image_of(image_);
    for (int64_t i = 1; i <= image.dim[0] && i < 8; ++i) dims_.push_back(image.dim[i]);
    user_check(!dims_.empty(), "{}: the header says that the image has {}", name, counted(image.dim[0], "axis"));
    for (const NiftiType& type : types)
      if (type.code == image.datatype) dtype_ = type.dtype;
    user_check(dtype_ != DType::undefined,
               "{} has elements of NIfTI type {} ({}); whole numbers of up to 32 bits, float32 and float64 are read",
               name, image.datatype, nifti_datatype_string(image.datatype));
    for (int64_t dim : dims_)
      user_check(dim >= 1, "{}: the header says that an axis has {}", name, counted(dim, "voxel"));
    bytes_ = checked_multiply(checked_product(dims_), element_size(dtype_));
    is_compressed_ = nifti_is_gzfile(image.iname) != 0;
    is_swapped_ = image.byteorder != nifti_short_order();
    const bool is_single = image.nifti_type == NIFTI_FTYPE_NIFTI1_1 || image.nifti_type == NIFTI_FTYPE_NIFTI2_1;
    data_offset_ = is_single ? offset_of_voxels(file, name) : image.iname_offset;
    const int64_t most = is_compressed_ ? checked_multiply(file_bytes, most_expansion) : file_bytes;
    user_check(data_offset_ >= 0 && checked_add(data_offset_, bytes_) <= most,
               "{}: the header says that {} bytes of voxels begin at byte {}, and the file has {}{}", name, bytes_,
               data_offset_, file_bytes, is_compressed_ ? " (compressed)" : "");
    if (image.scl_slope != 0) {
      slope_ = image.scl_slope;
      intercept_ = image.scl_inter;
    }
    user_check(std::isfinite(slope_) && std::isfinite(intercept_), "{}: its scale is {} and its offset {}", name,
               slope_, intercept_);
  } catch (...) {
    nifti_image_free(image_of(image_));
    throw;
  }
}

NiftiHeader::~NiftiHeader() { nifti_image_free(image_of(image_)); }

std::shared_ptr<std::byte[]> NiftiHeader::read_data() const {
  const std::string name = quote(file_.string());
  const nifti_image& image = *image_of(image_);
  const auto size = static_cast<size_t>(bytes_);
  std::shared_ptr<std::byte[]> data(new std::byte[size]);
  znzFile file = znzopen(image.iname, "rb", is_compressed_ ? 1 : 0);
  user_check(file != nullptr, "cannot read {}: {}", name, std::strerror(errno));
  bool is_whole = znzseek(file, data_offset_, SEEK_SET) >= 0;  // the place in a compressed file, 0 in another
  size_t done = 0;
  while (is_whole && done < size) {
    const size_t count = znzread(data.get() + done, 1, std::min<size_t>(size - done, size_t{1} << 26), file);
    is_whole = count > 0 && count <= size - done;
    if (is_whole) done += count;
  }
  // One more byte makes zlib check the sum at the end.
  std::byte further;
  if (is_whole && is_compressed_) is_whole = znzread(&further, 1, 1, file) <= 1;
  Xznzclose(&file);
  user_check(is_whole, "{} is truncated or damaged: {} of {} bytes of voxels could be read", name, done, bytes_);
  if (is_swapped_ && element_size(dtype_) > 1)
    nifti_swap_Nbytes(static_cast<int64_t>(size) / element_size(dtype_), static_cast<int>(element_size(dtype_)),
                      data.get());
  return data;
}

std::string NiftiHeader::header_of(const std::vector<int64_t>& dims, DType dtype,
                                   const std::vector<ResultAxis>& axes) const {
  nifti_image* copy = nifti_copy_nim_info(image_of(image_));
  user_check(copy != nullptr, "no memory for the header of an image");
  const std::unique_ptr<nifti_image, decltype(&nifti_image_free)> owner(copy, nifti_image_free);
  move_voxels(*copy, axes);
  return header_bytes(*copy, dims, dtype);
}

std::string plain_nifti_header(const std::vector<int64_t>& dims, DType dtype, const std::vector<ResultAxis>& axes) {
  const int64_t one_voxel[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const std::unique_ptr<nifti_image, decltype(&nifti_image_free)> image(
      nifti_make_new_nim(one_voxel, code_of(dtype), 0), nifti_image_free);
  user_check(image != nullptr, "no memory for the header of an image");
  image->sform_code = NIFTI_XFORM_SCANNER_ANAT;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) image->sto_xyz.m[i][j] = i == j ? 1 : 0;
  for (size_t i = 1; i < 8; ++i) image->pixdim[i] = 1;
  move_voxels(*image, axes);
  return header_bytes(*image, dims, dtype);
}

GzipFile::GzipFile(const std::filesystem::path& file, std::string name)
    : name_(std::move(name)), file_(znzopen(file.c_str(), "wb", 1)) {
  user_check(file_ != nullptr, "cannot write {}: {}", name_, std::strerror(errno));
}

GzipFile::~GzipFile() {
  znzFile file = static_cast<znzFile>(file_);
  if (file != nullptr) Xznzclose(&file);
}

void GzipFile::write(const void* data, size_t bytes) {
  errno = 0;
  const size_t written = znzwrite(data, 1, bytes, static_cast<znzFile>(file_));
  user_check(written == bytes, "cannot write {}: {}", name_,
             errno != 0 ? std::strerror(errno) : "the compression failed");
}

void GzipFile::close() {
  znzFile file = static_cast<znzFile>(std::exchange(file_, nullptr));
  errno = 0;
  const int status = Xznzclose(&file);
  user_check(status == 0, "cannot write {}: {}", name_, errno != 0 ? std::strerror(errno) : "the compression failed");
}

}  // namespace onnxc
