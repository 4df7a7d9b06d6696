#include "frontend/file/external_data.h"

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

}  // namespace

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
