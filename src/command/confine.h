// A compile in a sandbox: it reads the model's folder and the toolchain, writes in the folders of its output and its
// temporary files, and opens no socket. Clang and the linker inherit that.
#pragma once

#include <string>

#include "pipeline/options.h"

namespace onnxc {

// For the command, before any thread is started and before the model is opened (a library's process is its caller's). A
// compiler that only a search outside finds is named in the options. Returns what the kernel lacks, in words, or
// nothing. UserError if --sandbox asks for what the kernel lacks.
std::string confine(Options& options);

}  // namespace onnxc
