// The one reader of tensor data: initializers, attributes, sparse tensors and external files all come through here, so
// that no way around its checks exists.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "ir/string_table.h"
#include "ir/tensor.h"
#include "onnx/onnx_pb.h"
#include "support/limits.h"
#include "support/safe_file.h"

namespace onnxc {

class TensorReader {
 public:
  // External data is looked for in `folder`, the model's own. Strings get their handles in `strings`.
  TensorReader(std::filesystem::path folder, const Limits& limits, ContainmentRules rules, StringTable& strings)
      : folder_(std::move(folder)), limits_(limits), rules_(rules), strings_(strings) {}

  // The tensor's dims and row-major bytes. Raw and external data are not copied if they are aligned: `owner` keeps the
  // message alive. `what` names the tensor in errors: "initializer 'weight'". UserError: a type that is not supported,
  // dims that are negative or overflow, more or fewer data than the dims say, data in a field of another type or in
  // several, external data that is missing or leads out of the folder.
  Tensor read(const onnx::TensorProto& tensor, const std::string& what, const std::shared_ptr<const void>& owner);
  // A sparse tensor (ONNX SparseTensorProto, COO format) as a dense one.
  Tensor read(const onnx::SparseTensorProto& tensor, const std::string& what, const std::shared_ptr<const void>& owner);

  // Strings as a tensor.
  Tensor read(const google::protobuf::RepeatedPtrField<std::string>& texts, std::vector<int64_t> dims,
              const std::string& what);

 private:
  struct Header;
  Header read_header(const onnx::TensorProto& tensor, const std::string& what);
  Tensor read_external(const onnx::TensorProto& tensor, const Header& header, const std::string& what);
  void check_memory(int64_t bytes, const std::string& what);

  std::filesystem::path folder_;
  Limits limits_;
  ContainmentRules rules_;
  StringTable& strings_;
  int64_t bytes_read_ = 0;  // of all tensors
  std::map<std::string, std::shared_ptr<const MappedFile>> external_files_;
};

}  // namespace onnxc
