// The strings that a model's constants hold, each once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/checked.h"

namespace onnxc {

// Strings are any bytes. Their handles are 0, 1, 2, ... in the order in which they were first asked for; 0 is the empty
// string, so that a tensor of zero bytes holds empty strings.
class StringTable {
 public:
  StringTable() { handle(""); }
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;

  int64_t handle(std::string_view text) {
    const auto known = handles_.find(text);
    if (known != handles_.end()) return known->second;
    const auto added = handles_.emplace(text, std::ssize(texts_)).first;
    texts_.push_back(&added->first);
    bytes_ = checked_add(bytes_, std::ssize(text));
    return added->second;
  }

  std::string_view text(int64_t handle) const { return *texts_.at(static_cast<size_t>(handle)); }
  int64_t size() const { return std::ssize(texts_); }
  // The sum over all strings.
  int64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, int64_t, std::less<>> handles_;  // ordered: no choice of strings makes it slow
  std::vector<const std::string*> texts_;
  int64_t bytes_ = 0;
};

}  // namespace onnxc
