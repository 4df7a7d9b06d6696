#include "provider/loaded_model.h"

#include <dlfcn.h>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc::provider {

LoadedModel::LoadedModel(const std::filesystem::path& file)
    : content_(map_file(file)), library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) user_error("cannot load {}: {}", quote(file.string()), printable(dlerror()));
  if (void* get_api = dlsym(library_, "onnxc_get_api"))
    api_ = reinterpret_cast<onnxc_get_api_function>(get_api)(ONNXC_ABI_VERSION);
  if (api_ != nullptr) return;
  dlclose(library_);
  user_error("{} is not a model of this version of onnxc", quote(file.string()));
}

LoadedModel::~LoadedModel() { dlclose(library_); }

}  // namespace onnxc::provider
