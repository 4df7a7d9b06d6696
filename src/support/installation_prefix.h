// The folder in which this command, or the library that another program has loaded, is installed.
#pragma once

#include <dlfcn.h>
#include <sys/auxv.h>

#include <filesystem>
#include <system_error>

namespace onnxc {

// The file of the program that runs; without /proc as whoever started it named it.
inline std::filesystem::path program_file() {
  std::error_code error;
  std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return file;
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  file = std::filesystem::canonical(name != nullptr ? name : "", error);
  return error ? std::filesystem::path() : file;
}

// The folder above that of the file which holds this function's caller: a function in a header is a part of each file.
inline std::filesystem::path installation_prefix() {
  Dl_info found{};
  const bool is_known =
      dladdr(reinterpret_cast<const void*>(&installation_prefix), &found) != 0 && found.dli_fname != nullptr;
  const std::filesystem::path file = is_known ? found.dli_fname : "";
  const bool is_library = file.filename().string().find(".so") != std::string::npos;
  return (is_library ? std::filesystem::canonical(file) : program_file()).parent_path().parent_path();
}

}  // namespace onnxc
