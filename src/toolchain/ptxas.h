// NVIDIA's assembler, which makes machine code (a cubin) of PTX before a driver does. No compile needs it that does not
// ask for cubins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/gpu_machine.h"

namespace onnxc {

// `named` if that is not empty, else the file that $ONNXC_PTXAS names, else ptxas on the PATH, else that of the Python
// package nvidia-cuda-nvcc beside an installed onnxc or in the active virtual environment. EnvironmentError if the
// variable names no file.
std::optional<std::string> find_ptxas(const std::string& named = {});
// Throws UserError, which says what to install, if it is missing.
std::string required_ptxas(const std::string& named);

// The command that assembles PTX for a card, and tells on standard error what each kernel takes.
std::vector<std::string> ptxas_command(const std::string& ptxas, const machine::GpuMachine& gpu, const std::string& ptx,
                                       const std::string& cubin);

// Why ptxas may have refused PTX that clang made, with advice; empty if nothing is known.
std::string advice_on_ptxas(const std::string& said, const machine::GpuMachine& gpu);

}  // namespace onnxc
