#include "frontend/file/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>
#include <span>

#include "support/diagnostics.h"
#include "support/hash.h"
#include "support/safe_file.h"

namespace onnxc {
namespace {

// Files that are often given in place of a model, by how they begin.
void reject_other_kinds(std::string_view bytes) {
  user_check(!bytes.starts_with("version https://git-lfs"),
             "it is a Git LFS pointer, not the model itself; fetch it with: git lfs pull");
  user_check(!bytes.starts_with("\x1f\x8b"), "it is compressed by gzip; unpack it with: gunzip");
  user_check(!bytes.starts_with("PK\x03\x04"),
             "it is a zip archive (PyTorch's .pt and .pth files are), not an ONNX model; export the model with "
             "torch.onnx.export, or unpack the archive");
}

}  // namespace

std::shared_ptr<onnx::ModelProto> parse_model(std::string_view bytes) {
  user_check(!bytes.empty(), "the file is empty");
  reject_other_kinds(bytes);
  user_check(bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()),
             "the file has {} bytes, and a protobuf message holds at most 2 GiB; save the weights as external data",
             bytes.size());

  google::protobuf::LogSilencer silence;  // what it would print is in the error
  auto model = std::make_shared<onnx::ModelProto>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  const bool parsed = model->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  user_check(parsed, "it is not an ONNX model, or is cut short or damaged: protobuf cannot parse its {} bytes",
             bytes.size());
  user_check(model->has_graph(), "it is not an ONNX model, or is cut short: it holds no graph");
  return model;
}

ModelFile read_model_bytes(std::string_view bytes) {
  return {parse_model(bytes), sha256(std::as_bytes(std::span(bytes)))};
}

ModelFile read_model_file(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = map_file(path);
  return {parse_model(file->text()), sha256(file->bytes())};
}

}  // namespace onnxc
