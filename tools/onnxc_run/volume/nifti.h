// NIfTI files, by Debian's libnifti: .nii and .nii.gz, versions 1 and 2.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace onnxc {

// The places of the voxels of a result along an axis: voxel j at origin + j * step of the scan's voxels.
struct ResultAxis {
  double step = 1, origin = 0;
  bool operator==(const ResultAxis&) const = default;
};

class NiftiHeader {
 public:
  // UserError if the file is not a NIfTI image, or its header cannot be true.
  explicit NiftiHeader(const std::filesystem::path& file);
  ~NiftiHeader();
  NiftiHeader(const NiftiHeader&) = delete;
  NiftiHeader& operator=(const NiftiHeader&) = delete;

  const std::vector<int64_t>& dims() const { return dims_; }  // the fastest first: x, y, z, time, ...
  DType dtype() const { return dtype_; }
  double slope() const { return slope_; }
  double intercept() const { return intercept_; }
  bool is_compressed() const { return is_compressed_; }
  bool is_swapped() const { return is_swapped_; }
  int64_t data_offset() const { return data_offset_; }
  int64_t bytes() const { return bytes_; }

  // The elements of a compressed or swapped file, in this machine's byte order. libnifti's own reader is not used: it
  // makes NaN zero.
  std::shared_ptr<std::byte[]> read_data() const;

  // The header, with what follows it up to the elements, of a file with other elements. The spatial axes are the first
  // ones; their place in the world of this file is given by voxel sizes, sform and qform.
  std::string header_of(const std::vector<int64_t>& dims, DType dtype, const std::vector<ResultAxis>& axes) const;

 private:
  std::filesystem::path file_;
  void* image_ = nullptr;  // nifti_image
  std::vector<int64_t> dims_;
  DType dtype_ = DType::undefined;
  double slope_ = 1, intercept_ = 0;
  bool is_compressed_ = false, is_swapped_ = false;
  int64_t data_offset_ = 0, bytes_ = 0;
};

// The same for elements that come from no NIfTI file: voxels of 1 mm at the origin.
std::string plain_nifti_header(const std::vector<int64_t>& dims, DType dtype, const std::vector<ResultAxis>& axes);

// Bytes that go to a file one after the other, compressed by gzip.
class GzipFile {
 public:
  // `name` is how errors call the file.
  GzipFile(const std::filesystem::path& file, std::string name);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  // UserError with the reason, such as a full disk; so does close, which may be called once.
  void write(const void* data, size_t bytes);
  void close();

 private:
  std::string name_;
  void* file_ = nullptr;
};

}  // namespace onnxc
