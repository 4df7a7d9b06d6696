// A compiled model in this process.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "onnxc.h"
#include "support/safe_file.h"

namespace onnxc::provider {

class LoadedModel {
 public:
  // The file may be removed once it is loaded. UserError if it is not a model of this ABI.
  explicit LoadedModel(const std::filesystem::path& file);
  ~LoadedModel();
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const onnxc_api& api() const { return *api_; }
  // The bytes of the file.
  std::span<const std::byte> bytes() const { return content_->bytes(); }

 private:
  std::shared_ptr<const MappedFile> content_;
  void* library_ = nullptr;
  const onnxc_api* api_ = nullptr;
};

}  // namespace onnxc::provider
