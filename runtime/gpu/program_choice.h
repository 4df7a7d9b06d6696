// The programs of a model among which a device chooses.
#pragma once

#include "gpu/library/gpu_library.h"
#include "gpu/program.h"

namespace onnxc::runtime {

// The vendor of the code: NVIDIA's architectures are "sm_80" and the like.
GpuVendor vendor_of(const DeviceProgram& program);

// Whether NVIDIA's code is a cubin: machine code, which begins as every ELF file does.
bool is_cubin(const DeviceProgram& program);

// The program for the device; null if none runs on it.
// AMD: of the programs for its architecture the one whose card is nearest in compute units, since a card in partitions
// has fewer; else one for its family. A library that does not tell the architecture gets the first.
// NVIDIA: the newest that runs, and among several the nearest in compute units. PTX runs on its own compute capability
// and on newer ones. A cubin runs only up to the next whole number: sm_80 on 8.9, not on 9.0. "sm_90a" runs on 9.0
// only. `refused`: a program that the driver does not load, so that only older code is looked at; may be null.
const DeviceProgram* choose_program(const DeviceProgram* const* programs, int32_t count, GpuVendor vendor,
                                    const GpuDescription& device, const DeviceProgram* refused);

}  // namespace onnxc::runtime
