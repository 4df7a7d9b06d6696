// numpy's file format for arrays (numpy.lib.format, versions 1.0 to 3.0).
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace onnxc {

// Whether numpy has the type: not bfloat16.
bool has_npy_type(DType dtype);

// The array as a row-major tensor. Either byte order and Fortran order are converted; a two-byte void type ("<V2"), as
// which bfloat16 arrays are saved, is read as bfloat16. UserError that names `file` for anything else: no array, a type
// without a dtype, more or fewer bytes than the shape says.
Tensor read_npy(std::span<const std::byte> bytes, const std::string& file);

// The facts in the header of a .npy file, checked against the file's size.
struct NpyLayout {
  DType dtype;
  bool is_swapped;     // its elements are in the other byte order
  bool fortran_order;  // the first axis is the fastest
  std::vector<int64_t> dims;
  size_t data_offset;
};
NpyLayout read_npy_layout(std::span<const std::byte> bytes, const std::string& file);

// The header that numpy.save writes before the elements of a row-major array.
std::string npy_header(DType dtype, std::span<const int64_t> dims);

// The bytes of a .npy file, as numpy.save writes them.
std::string write_npy(const Tensor& tensor);

}  // namespace onnxc
