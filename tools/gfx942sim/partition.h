// The part of an MI300X that a device is. GFX942SIM_PARTITION says in which modes the machine's GPUs are:
//
//   spx        each GPU is one device; so it is without the variable
//   cpx        each of its eight XCDs is a device, and all eight share its memory
//   cpx,nps4   the same, and memory is in four quarters: each belongs to the two XCDs beside it
//
// AMD, "MI300X GPU Partitioning Overview" and "Quick Start Guide to Partitioning MI300X GPUs" (38 compute units an XCD,
// four memory partitions of 48 GB).
#pragma once

#include <cstdint>

#include "machine/gpu_machine.h"

namespace gfx942sim {

struct Partition {
  onnxc::machine::GpuMachine gpu = onnxc::machine::gfx942;  // a device, with its compute units and XCDs
  int devices = 1;                                          // of an MI300X
  int memory_domains = 1;                                   // of an MI300X

  static constexpr uint64_t whole_memory = uint64_t{192} << 30;  // of an MI300X
  // Bytes of a domain.
  uint64_t memory_bytes() const { return whole_memory / static_cast<uint64_t>(memory_domains); }
  // Which domain a device allocates in, through all GPUs.
  int domain_of(int device) const { return device / (devices / memory_domains); }
  // The share of this device in caches and memory, which all devices of a GPU share, when the others are as busy.
  double share() const { return 1.0 / devices; }
};

// Reads the variable each time; throws UserError for another value.
Partition partition_from_environment();

}  // namespace gfx942sim
