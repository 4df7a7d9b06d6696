#include "frontend/file/external_data.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <set>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

uint64_t read_number(const std::string& text, const std::string& key, const std::string& what) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  user_check(error == std::errc() && stopped == end && !text.empty(),
             "{}: the {} {} of its external data is not a number of bytes", what, key, quote(text));
  return value;
}

// All tensors are found by reflection: those of initializers, attributes, functions and training alike.
void add_file_names(const google::protobuf::Message& message, std::set<std::string>& names) {
  if (const auto* tensor = dynamic_cast<const onnx::TensorProto*>(&message)) {
    if (tensor->data_location() != onnx::TensorProto::EXTERNAL) return;
    for (const onnx::StringStringEntryProto& entry : tensor->external_data())
      if (entry.key() == "location") names.insert(entry.value());
    return;
  }
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      add_file_names(reflection.GetMessage(message, field), names);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      add_file_names(reflection.GetRepeatedMessage(message, field, i), names);
  }
}

}  // namespace

std::vector<std::string> external_file_names(const onnx::ModelProto& model) {
  std::set<std::string> names;
  add_file_names(model, names);
  return {names.begin(), names.end()};
}

ExternalLocation read_external_location(const onnx::TensorProto& tensor, const std::string& what) {
  ExternalLocation location;
  std::set<std::string> seen;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    const std::string& key = entry.key();
    user_check(seen.insert(key).second, "{}: its external data gives {} twice", what, quote(key));
    if (key == "location") {
      location.file = entry.value();
    } else if (key == "offset") {
      location.offset = read_number(entry.value(), key, what);
    } else if (key == "length") {
      location.length = read_number(entry.value(), key, what);
    } else {
      // The checksum (SHA-1 of the file) is optional and guards against accidents only, so it is not checked.
      user_check(key == "checksum",
                 "{}: its external data has the unknown key {}; location, offset, length and checksum are known", what,
                 quote(key));
    }
  }
  user_check(!location.file.empty(), "{}: its external data names no file (location)", what);
  return location;
}

}  // namespace onnxc
