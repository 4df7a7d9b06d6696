// Reading the .onnx file into ONNX's message.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "onnx/onnx_pb.h"

namespace onnxc {

struct ModelFile {
  std::shared_ptr<onnx::ModelProto> model;
  std::string sha256;
};

// UserError if the file cannot be read, is empty, is too large for protobuf (2 GiB) or is not an ONNX model.
ModelFile read_model_file(const std::filesystem::path& path);
// The same for bytes in memory.
ModelFile read_model_bytes(std::string_view bytes);
// Without the hash.
std::shared_ptr<onnx::ModelProto> parse_model(std::string_view bytes);

}  // namespace onnxc
