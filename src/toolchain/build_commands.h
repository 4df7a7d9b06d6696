// The commands that build a model.so from emitted source. toolchain.h runs them; the source's head shows them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "toolchain/compiler.h"
#include "toolchain/installation.h"
#include "toolchain/toolchain.h"

namespace onnxc {

std::vector<std::string> compile_command(const Compiler& compiler, const CpuMachine& machine, const BuildParts& parts,
                                         const std::string& source, const std::string& object);
std::vector<std::string> assemble_command(const Compiler& compiler, const std::string& assembly,
                                          const std::string& object);
// Compiles into one object.
std::vector<std::string> link_command(const Compiler& compiler, const std::vector<std::string>& objects,
                                      const std::string& output);
std::vector<std::string> link_shared_command(const Compiler& compiler, const std::vector<std::string>& objects,
                                             const BuildParts& parts, const std::string& output);

// For a further CPU (EmittedModel::variants): puts all names of onnxc into a namespace of its own.
std::string namespace_option(const CpuMachine& machine);
// A source with the functions that the runtime library holds for each vector unit.
std::string kernel_instances(const BuildParts& parts);

// A command of clang's driver that only prints, on standard error, what it would run; and the last command printed
// there, or nothing if there is none.
std::vector<std::string> dry_run(std::vector<std::string> command);
std::vector<std::string> command_of_dry_run(const std::string& shown);

// Sections of data that may pass 2 GiB.
constexpr const char* weights_section = ".lrodata";  // other linkers, which a model.o may meet, know it by this name
constexpr const char* device_code_section = ".onnxc_device_code";
// Assembly that puts a file's bytes into an object.
std::string data_assembly(const std::string& section, const std::string& symbol, const std::string& file);

// How a person builds what write_source wrote: lines for a shell in its folder, where $SOURCE is the source's name and
// $PREFIX the folder under which onnxc is installed. The same on every machine.
std::vector<std::string> build_lines(const CpuMachine& machine);

}  // namespace onnxc
