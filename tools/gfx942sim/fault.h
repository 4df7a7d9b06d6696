// The simulator's report when a kernel does something that hardware would not forgive, or would forgive only by luck.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gfx942sim {

// Raised by the execution of an instruction: what is wrong, and the lane, or -1 when it concerns the whole wave.
class InstructionFault : public std::runtime_error {
 public:
  InstructionFault(int lane, const std::string& message) : std::runtime_error(message), lane(lane) {}
  int lane;
};

// The full report of a fault of a kernel.
struct FaultReport {
  std::string kernel;
  std::string message;
  std::string instruction;
  uint64_t address = 0;     // within the code object
  std::string source_line;  // FILE:LINE, empty without debug information
  uint32_t group[3] = {};
  int wave = 0;
  int lane = -1;
};

std::string to_text(const FaultReport& report);

// A kernel stopped by a fault.
class SimulationFault : public std::runtime_error {
 public:
  explicit SimulationFault(const FaultReport& report) : std::runtime_error(to_text(report)), report(report) {}
  FaultReport report;
};

}  // namespace gfx942sim
