#include "gpu/library/amd_family.h"

#include "base/begins_with.h"

namespace onnxc::runtime {

// LLVM's AMDGPUUsage, "Generic processors": gfx1100 to gfx1103 and gfx1150 to gfx1153; gfx1200 and gfx1201.
const char* family_of(const char* architecture) {
  if (begins_with(architecture, "gfx110") || begins_with(architecture, "gfx115")) return "gfx11-generic";
  return begins_with(architecture, "gfx120") ? "gfx12-generic" : nullptr;
}

}  // namespace onnxc::runtime
