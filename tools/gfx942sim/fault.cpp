#include "gfx942sim/fault.h"

#include <fmt/format.h>

namespace gfx942sim {

std::string to_text(const FaultReport& report) {
  std::string text = fmt::format("gfx942sim: kernel {}: {}\n", report.kernel, report.message);
  text += fmt::format("  instruction: {} (at {:#x})\n", report.instruction, report.address);
  if (!report.source_line.empty()) text += fmt::format("  source:      {}\n", report.source_line);
  text +=
      fmt::format("  work group:  {},{},{}; wave {}", report.group[0], report.group[1], report.group[2], report.wave);
  if (report.lane >= 0) text += fmt::format("; lane {}", report.lane);
  return text + "\n";
}

}  // namespace gfx942sim
