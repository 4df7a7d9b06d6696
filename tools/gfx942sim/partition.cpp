#include "gfx942sim/partition.h"

#include <cstdlib>
#include <string_view>

#include "support/diagnostics.h"

namespace gfx942sim {

Partition partition_from_environment() {
  const char* const text = std::getenv("GFX942SIM_PARTITION");
  const std::string_view modes = text == nullptr ? "" : text;
  Partition partition;
  if (modes.empty() || modes == "spx") return partition;
  onnxc::user_check(modes == "cpx" || modes == "cpx,nps4",
                    "GFX942SIM_PARTITION is '{}'; known are spx, cpx and cpx,nps4", modes);
  partition.devices = partition.gpu.xcds;
  partition.memory_domains = modes == "cpx" ? 1 : 4;
  partition.gpu = onnxc::machine::mi300x_cpx;
  return partition;
}

}  // namespace gfx942sim
