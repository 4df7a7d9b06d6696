#include "onnxc_run/files/tensor_files.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "frontend/file/tensor_data.h"
#include "onnxc_run/files/npy.h"
#include "support/safe_file.h"
#include "support/text.h"

namespace onnxc {
namespace {

Tensor read_tensor_proto(const std::filesystem::path& file) {
  auto message = std::make_shared<onnx::TensorProto>();
  std::shared_ptr<const MappedFile> mapped = map_file(file);
  std::string name = quote(file.string());
  user_check(mapped->bytes().size() <= INT32_MAX &&
                 message->ParseFromArray(mapped->bytes().data(), static_cast<int>(mapped->bytes().size())),
             "{}: this is not a serialized TensorProto", name);
  user_check(message->data_type() != onnx::TensorProto::STRING,
             "{}: onnxc-run does not take strings; run the model from Python or C", name);
  StringTable no_strings;
  TensorReader reader(file.parent_path(), Limits(), {}, no_strings);
  return reader.read(*message, name, message);
}

std::string write_tensor_proto(const std::string& name, const Tensor& tensor) {
  onnx::TensorProto message;
  message.set_name(name);
  message.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (int64_t dim : tensor.dims()) message.add_dims(dim);
  const Tensor packed = pack(tensor);
  message.set_raw_data(packed.bytes().data(), packed.bytes().size());
  return message.SerializeAsString();
}

}  // namespace

Tensor read_tensor(const std::filesystem::path& file) {
  if (file.extension() == ".pb") return read_tensor_proto(file);
  user_check(file.extension() == ".npy", "{}: a tensor's file ends in .npy, or in .pb for a serialized TensorProto",
             quote(file.string()));
  return read_npy(map_file(file)->bytes(), quote(file.string()));
}

bool is_file_of_tensor(const std::string& file, const std::vector<std::string>& tensors) {
  const std::filesystem::path path = file;
  if (path.extension() != ".npy" && path.extension() != ".pb") return false;
  const std::string stem = path.stem().string();
  return std::ranges::any_of(tensors, [&](const std::string& name) {
    const std::string own = safe_file_name(name);
    if (!stem.starts_with(own)) return false;
    // Another one of the name has a number.
    const std::string_view rest = std::string_view(stem).substr(own.size());
    return rest.empty() || (rest.size() > 1 && rest.find_first_not_of("0123456789", 1) == rest.npos && rest[0] == '-');
  });
}

TensorFolder::TensorFolder(std::filesystem::path path) : path_(std::move(path)) { make_folder(path_); }

std::filesystem::path TensorFolder::write(const std::string& name, const Tensor& tensor) {
  std::string stem = safe_file_name(name), unique = stem;
  for (int number = 2; !used_.insert(unique).second; ++number) unique = fmt::format("{}-{}", stem, number);
  bool npy = has_npy_type(tensor.dtype());
  std::filesystem::path file = path_ / (unique + (npy ? ".npy" : ".pb"));
  write_file(file, npy ? write_npy(tensor) : write_tensor_proto(name, tensor));
  return file;
}

}  // namespace onnxc
