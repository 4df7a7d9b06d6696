#include "toolchain/ptxas.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "machine/gpu_machines.h"
#include "support/diagnostics.h"
#include "support/environment_error.h"
#include "support/processes/subprocess.h"
#include "support/text.h"
#include "toolchain/python_packages.h"

namespace onnxc {

namespace fs = std::filesystem;

std::optional<std::string> find_ptxas(const std::string& named) {
  if (!named.empty()) return named;
  const char* chosen = std::getenv("ONNXC_PTXAS");
  if (chosen != nullptr && *chosen != '\0') {
    std::error_code error;
    if (!fs::is_regular_file(chosen, error))
      throw EnvironmentError("ONNXC_PTXAS", fmt::format(" is {}, and there is no such file", quote(chosen)));
    return chosen;
  }
  std::optional<fs::path> found = find_program("ptxas");
  // The packages of CUDA 13 and of CUDA 12.
  if (!found) found = find_in_python_packages({"nvidia/cu13/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas"});
  return found ? std::optional(found->string()) : std::nullopt;
}

std::string required_ptxas(const std::string& named) {
  const std::optional<std::string> found = find_ptxas(named);
  user_check(found.has_value(),
             "--gpu-code cubin: NVIDIA's assembler ptxas is not there: pip install nvidia-cuda-nvcc, put a CUDA "
             "toolkit's on the PATH, or set ONNXC_PTXAS to the file; --gpu-code ptx needs none");
  return *found;
}

// With -v always: the options become part of the cubin, whose bytes must not depend on a report.
std::vector<std::string> ptxas_command(const std::string& ptxas, const machine::GpuMachine& gpu, const std::string& ptx,
                                       const std::string& cubin) {
  return {ptxas, "-v", "-arch=" + machine::cubin_architecture(gpu), ptx, "-o", cubin};
}

std::string advice_on_ptxas(const std::string& said, const machine::GpuMachine& gpu) {
  const bool is_old = said.find("is not defined for option") != std::string::npos ||
                      said.find("Unsupported .version") != std::string::npos;
  return is_old ? fmt::format("it is too old for {}; take a newer one: pip install -U nvidia-cuda-nvcc",
                              machine::cubin_architecture(gpu))
                : "";
}

}  // namespace onnxc
