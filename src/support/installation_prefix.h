// Where this command, or the library that another program has loaded, is installed.
#pragma once

#include <dlfcn.h>

#include <filesystem>

namespace onnxc {

// The folder above that of the file which holds this function's caller: a function in a header is a part of each file.
inline std::filesystem::path installation_prefix() {
  Dl_info found{};
  const bool is_known =
      dladdr(reinterpret_cast<const void*>(&installation_prefix), &found) != 0 && found.dli_fname != nullptr;
  const std::filesystem::path file = is_known ? found.dli_fname : "";
  const bool is_library = file.filename().string().find(".so") != std::string::npos;
  return (is_library ? std::filesystem::canonical(file) : std::filesystem::read_symlink("/proc/self/exe"))
      .parent_path()
      .parent_path();
}

}  // namespace onnxc
