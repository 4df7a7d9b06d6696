#include "toolchain/python_packages.h"

#include <cstdlib>
#include <system_error>

#include "support/installation_prefix.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_under(const fs::path& prefix, std::initializer_list<const char*> files) {
  std::error_code error;
  for (fs::directory_iterator folder(prefix / "lib", error), end; !error && folder != end; folder.increment(error)) {
    if (!folder->path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const char* file : files)
        if (const fs::path found = folder->path() / packages / file; fs::exists(found, error)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<fs::path> find_in_python_packages(std::initializer_list<const char*> files) {
  const char* environment = std::getenv("VIRTUAL_ENV");
  for (const fs::path& prefix : {installation_prefix(), fs::path(environment != nullptr ? environment : "")})
    if (!prefix.empty())
      if (const std::optional<fs::path> found = find_under(prefix, files)) return found;
  return std::nullopt;
}

}  // namespace onnxc
