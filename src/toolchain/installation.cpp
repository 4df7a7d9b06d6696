#include "toolchain/installation.h"

#include "support/diagnostics.h"
#include "support/installation_prefix.h"
#include "support/text.h"

namespace onnxc {

namespace fs = std::filesystem;

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
