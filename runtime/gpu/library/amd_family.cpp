#include "gpu/library/amd_family.h"

#include <string.h>

namespace onnxc::runtime {

// LLVM's AMDGPUUsage, "Generic processors": gfx1100 to gfx1103 and gfx1150 to gfx1153; gfx1200 and gfx1201.
const char* family_of(const char* architecture) {
  const auto begins_with = [&](const char* prefix) { return strncmp(architecture, prefix, strlen(prefix)) == 0; };
  if (begins_with("gfx110") || begins_with("gfx115")) return "gfx11-generic";
  return begins_with("gfx120") ? "gfx12-generic" : nullptr;
}

}  // namespace onnxc::runtime
