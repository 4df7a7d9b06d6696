// The texts about a result: for the head of the source, and in a line for people.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/program/program.h"
#include "machine/cpu_machine.h"
#include "pipeline/options.h"

namespace onnxc {

// The command-line options that shape the result, for the head of the source.
std::string describe(const Options& options, std::span<const CpuMachine> machines);

// The file, its size, its target, the entries if it has several, and the legal sizes: "wrote unet.so: 21.8 MB, cpu
// x86-64-v4 (of this machine), ...".
std::string result_line(const Options& options, const std::vector<const Program*>& programs,
                        std::span<const CpuMachine> machines);

}  // namespace onnxc
