// The result of a model on a volume, as a file: NIfTI with the scan's place in the world, .npy or raw. It is seen under
// its name only when it is whole.
#pragma once

#include <memory>
#include <vector>

#include "onnxc_run/volume/nifti.h"
#include "onnxc_run/volume/scan.h"
#include "support/file_descriptor.h"
#include "support/safe_file.h"

namespace onnxc {

struct ResultFormat {
  std::vector<int64_t> dims;  // of the spatial axes, in the network's order
  int64_t channels;           // 0: labels, which have no such axis
  DType dtype;
  AxisOrder order;
  std::vector<ResultAxis> axes;  // their place in the scan
};

class ResultFile {
 public:
  ResultFile(const std::filesystem::path& target, const Scan& scan, const ResultFormat& format);

  // The axis along which the file's slices lie one after the other.
  int32_t slab_axis() const { return slab_axis_; }
  // Strides of the elements as the file has them: of the channels, if there are any, then of each axis.
  const std::vector<int64_t>& strides() const { return strides_; }
  int64_t bytes() const { return bytes_; }

  // A slice along slab_axis: dense, the channels, then the other axes in their order.
  void write_slice(int64_t slice, const void* data);
  // All elements, in the file's order.
  void write_all(const void* data);
  // After the last element: brings all of it to the disk, under its other name.
  void finish();
  const std::filesystem::path& temporary_path() const { return file_.temporary_path(); }
  void commit() { file_.commit(); }

 private:
  void write_at(int64_t offset, const void* data, int64_t bytes);

  ResultFormat format_;
  std::string name_;  // of the target, for errors
  OutputFile file_;
  std::unique_ptr<GzipFile> gzip_;
  std::vector<std::byte> waiting_;  // of a compressed file whose slices do not come in the file's order
  int64_t written_ = 0;             // bytes of a compressed file
  int32_t slab_axis_ = 0;
  std::vector<int64_t> strides_;
  int64_t header_bytes_ = 0, bytes_ = 0, slice_elements_ = 0;
  std::vector<std::byte> turned_;  // a slice in the file's order
  FileDescriptor descriptor_;
};

}  // namespace onnxc
