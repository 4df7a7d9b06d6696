// The location of a tensor's data in another file (TensorProto.external_data).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace onnxc {

struct ExternalLocation {
  std::string file;                // as written: still to be contained
  uint64_t offset = 0;             // bytes from the start of the file
  std::optional<uint64_t> length;  // bytes; to the end of the file when absent
};

// Reads the entries by key. UserError for a key that ONNX does not define, one that is given twice, a missing location,
// and an offset or length that is not a decimal number of 64 bits.
ExternalLocation read_external_location(const onnx::TensorProto& tensor, const std::string& what);

// The files that the model's tensors lie in, also those that are not needed, each once: as written, not contained.
std::vector<std::string> external_file_names(const onnx::ModelProto& model);

}  // namespace onnxc
