// Limits what this process may touch from now on, whatever its code is made to do: a second wall besides safe_file.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onnxc {

// Files, and folders with all that they hold. A name that is not there is left out.
struct SandboxRules {
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> runnable;  // read as well
  std::vector<std::filesystem::path> writable;  // read, written, made and removed
};

// Landlock limits the files; seccomp forbids sockets, looks into other processes, and the calls that change the
// machine. For the calling thread, the threads and programs that it starts from then on; there is no way back. Also
// sets no_new_privs. Returns what this kernel lacks for it, in words, and does the rest; empty if nothing lacks.
// UserError if the kernel has it and refuses it.
std::string enter_sandbox(const SandboxRules& rules);

}  // namespace onnxc
