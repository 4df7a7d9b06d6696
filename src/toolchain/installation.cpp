#include "toolchain/installation.h"

#include <dlfcn.h>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

namespace fs = std::filesystem;

fs::path installation_prefix() {
  Dl_info found{};
  const bool is_known = dladdr(reinterpret_cast<const void*>(&find_parts), &found) != 0 && found.dli_fname != nullptr;
  const fs::path file = is_known ? found.dli_fname : "";
  const bool is_library = file.filename().string().find(".so") != std::string::npos;
  return (is_library ? fs::canonical(file) : fs::read_symlink("/proc/self/exe")).parent_path().parent_path();
}

BuildParts installed_parts(const fs::path& prefix) {
  return {{prefix / "share/onnxc/include"}, prefix / "lib/onnxc/libonnxc_runtime_cpu.a"};
}

BuildParts find_parts() {
  BuildParts installed = installed_parts(installation_prefix());
  if (fs::exists(installed.runtime)) return installed;
  fs::path source = ONNXC_SOURCE_FOLDER;
  BuildParts built{{source / "src", source / "runtime/include", source / "runtime"}, ONNXC_RUNTIME_LIBRARY};
  user_check(fs::exists(built.runtime), "the runtime library {} is missing; build or install onnxc again",
             quote(installed.runtime.string()));
  return built;
}

}  // namespace onnxc
