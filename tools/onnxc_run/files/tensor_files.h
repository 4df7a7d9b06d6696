// Tensors in files: .npy, and .pb for a serialized TensorProto.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace onnxc {

// Reads a file by its ending. UserError naming the file.
Tensor read_tensor(const std::filesystem::path& file);

// Whether a TensorFolder writes tensors of these names to files of this one.
bool is_file_of_tensor(const std::string& file, const std::vector<std::string>& tensors);

// A folder that tensors are written to.
class TensorFolder {
 public:
  // Makes the folder where it is missing.
  explicit TensorFolder(std::filesystem::path path);

  // Writes the tensor called `name` (any text) to NAME.npy, or NAME.pb for a type that numpy lacks; a name whose file
  // was already written by this object gets a number after it. Returns the file.
  std::filesystem::path write(const std::string& name, const Tensor& tensor);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::set<std::string> used_;
};

}  // namespace onnxc
