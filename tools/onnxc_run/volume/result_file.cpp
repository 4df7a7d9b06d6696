#include "onnxc_run/volume/result_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "onnxc_run/files/npy.h"
#include "support/checked.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::string header_of(const std::filesystem::path& target, const Scan& scan, const ResultFormat& format) {
  std::vector<int64_t> dims = format.dims;
  if (target.extension() == ".npy") {
    if (format.channels > 0) dims.insert(dims.begin(), format.channels);
    return npy_header(format.dtype, dims);
  }
  if (!is_nifti(target)) return "";
  std::vector<ResultAxis> axes = format.axes;
  if (format.order == AxisOrder::zyx) {
    std::ranges::reverse(dims);
    std::ranges::reverse(axes);
  }
  if (format.channels > 1) {
    dims.resize(3, 1);
    dims.push_back(format.channels);
  }
  return scan.header != nullptr ? scan.header->header_of(dims, format.dtype, axes)
                                : plain_nifti_header(dims, format.dtype, axes);
}

}  // namespace

ResultFile::ResultFile(const std::filesystem::path& target, const Scan& scan, const ResultFormat& format)
    : format_(format), name_(quote(target.string())), file_(target) {
  // NIfTI's first axis is the fastest.
  const bool is_reversed = is_nifti(target) && format.order == AxisOrder::xyz;
  const size_t rank = format.dims.size();
  slab_axis_ = is_reversed ? static_cast<int32_t>(rank) - 1 : 0;
  strides_.assign(rank, 1);
  int64_t elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = is_reversed ? i : rank - 1 - i;
    strides_[axis] = elements;
    elements = checked_multiply(elements, format.dims[axis]);
  }
  slice_elements_ = elements / format.dims[static_cast<size_t>(slab_axis_)];
  if (format.channels > 0) strides_.insert(strides_.begin(), elements);
  bytes_ =
      checked_multiply(checked_multiply(elements, std::max<int64_t>(format.channels, 1)), element_size(format.dtype));

  const std::string header = header_of(target, scan, format);
  header_bytes_ = static_cast<int64_t>(header.size());
  if (target.string().ends_with(".nii.gz")) {
    gzip_ = std::make_unique<GzipFile>(file_.temporary_path(), name_);
    gzip_->write(header.data(), header.size());
    if (format.channels > 1) waiting_.resize(static_cast<size_t>(bytes_));
  } else {
    descriptor_ = FileDescriptor(open(file_.temporary_path().c_str(), O_WRONLY | O_CLOEXEC));
    user_check(descriptor_.is_open(), "cannot write {}: {}", name_, std::strerror(errno));
    write_at(-header_bytes_, header.data(), header_bytes_);
  }
}

// `offset` counts from the first element.
void ResultFile::write_at(int64_t offset, const void* data, int64_t bytes) {
  if (!waiting_.empty()) {
    std::memcpy(waiting_.data() + offset, data, static_cast<size_t>(bytes));
  } else if (gzip_ != nullptr) {
    internal_check(offset == written_, "the slices of a compressed file come in its order");
    gzip_->write(data, static_cast<size_t>(bytes));
    written_ += bytes;
  } else {
    const char* next = static_cast<const char*>(data);
    for (int64_t place = header_bytes_ + offset; bytes > 0;) {
      const ssize_t count = pwrite(descriptor_.get(), next, static_cast<size_t>(bytes), place);
      if (count < 0 && errno == EINTR) continue;
      user_check(count > 0, "cannot write {}: {}", name_, std::strerror(errno));
      next += count;
      place += count;
      bytes -= count;
    }
  }
}

void ResultFile::write_slice(int64_t slice, const void* data) {
  const int64_t size = element_size(format_.dtype), slice_bytes = slice_elements_ * size;
  const int64_t channel_bytes = slice_bytes * format_.dims[static_cast<size_t>(slab_axis_)];
  const bool is_turned = slab_axis_ == 2;  // x, y, z: within a slice the file has x the fastest, the caller y
  turned_.resize(is_turned ? static_cast<size_t>(slice_bytes) : 0);
  for (int64_t channel = 0; channel < std::max<int64_t>(format_.channels, 1); ++channel) {
    const std::byte* source = static_cast<const std::byte*>(data) + channel * slice_bytes;
    if (is_turned) {
      const int64_t nx = format_.dims[0], ny = format_.dims[1];
      for (int64_t y = 0; y < ny; ++y)
        for (int64_t x = 0; x < nx; ++x)
          std::memcpy(turned_.data() + (y * nx + x) * size, source + (x * ny + y) * size, static_cast<size_t>(size));
      source = turned_.data();
    }
    write_at(channel * channel_bytes + slice * slice_bytes, source, slice_bytes);
  }
}

void ResultFile::write_all(const void* data) { write_at(0, data, bytes_); }

void ResultFile::finish() {
  if (gzip_ != nullptr) {
    if (!waiting_.empty()) gzip_->write(waiting_.data(), waiting_.size());
    gzip_->close();
  }
  descriptor_.close();
  file_.sync();
}

}  // namespace onnxc
