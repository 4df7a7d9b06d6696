#include "gfx942sim/kernel_tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <stdexcept>

#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace gfx942sim {
namespace {

std::vector<std::byte> run_clang(std::vector<std::string> arguments, const std::string& source, const char* file_name) {
  const onnxc::TemporaryFolder folder("gfx942sim-tests");
  onnxc::write_file(folder.path() / file_name, source);
  arguments.insert(arguments.begin(), {"env", "-C", folder.path().string(), "clang-19"});
  arguments.insert(arguments.end(), {"-o", "kernel.co", file_name});
  const onnxc::ProcessResult result = onnxc::run_process(arguments);
  if (!result.succeeded()) throw std::runtime_error(result.errors);
  const auto file = onnxc::map_file(folder.path() / "kernel.co");
  return {file->bytes().begin(), file->bytes().end()};
}

std::string kernel_text(const AssemblyKernel& kernel) {
  return fmt::format(R"(
.text
.globl {0}
.p2align 8
.type {0},@function
{0}:
{1}
s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel {0}
  .amdhsa_group_segment_fixed_size {2}
  .amdhsa_kernarg_size {3}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 128
  .amdhsa_accum_offset 64
  .amdhsa_next_free_sgpr 96
  .amdhsa_float_denorm_mode_32 3
.end_amdhsa_kernel
)",
                     kernel.name, kernel.body, kernel.lds_bytes, kernel.argument_bytes);
}

std::string metadata_text(const std::vector<AssemblyKernel>& kernels) {
  std::string text = ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n";
  for (const AssemblyKernel& kernel : kernels) {
    text += fmt::format(
        "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: {1}\n    .kernarg_segment_align: 8\n"
        "    .group_segment_fixed_size: {2}\n    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n"
        "    .sgpr_count: 96\n    .vgpr_count: 128\n    .max_flat_workgroup_size: 1024\n    .args:\n",
        kernel.name, kernel.argument_bytes, kernel.lds_bytes);
    for (uint32_t offset = 0; offset < kernel.argument_bytes; offset += 4)
      text += fmt::format("      - {{.offset: {}, .size: 4, .value_kind: by_value}}\n", offset);
  }
  return text + "...\n.end_amdgpu_metadata\n";
}

}  // namespace

std::vector<std::byte> assemble(const std::vector<AssemblyKernel>& kernels) {
  std::string text = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n";
  for (const AssemblyKernel& kernel : kernels) text += kernel_text(kernel);
  text += metadata_text(kernels);
  return run_clang({"-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-x", "assembler", "-nogpulib"}, text, "kernel.s");
}

std::vector<std::string> assembler_errors(const std::vector<std::string>& lines) {
  const onnxc::TemporaryFolder folder("gfx942sim-tests");
  onnxc::write_file(folder.path() / "lines.s", fmt::format("{}\n", fmt::join(lines, "\n")));
  const onnxc::ProcessResult result =
      onnxc::run_process({"env", "-C", folder.path().string(), "llvm-mc-19", "-triple=amdgcn-amd-amdhsa",
                          "-mcpu=gfx942", "-filetype=null", "lines.s"});
  std::vector<std::string> errors(lines.size());
  std::istringstream stream(result.errors);
  for (std::string line; std::getline(stream, line);) {
    // "lines.s:12:1: error: invalid instruction"
    const size_t mark = line.find(": error: ");
    if (!line.starts_with("lines.s:") || mark == std::string::npos) continue;
    errors.at(static_cast<size_t>(std::stoi(line.substr(8))) - 1) = line.substr(mark + 9);
  }
  return errors;
}

std::vector<std::byte> compile_hip(const std::string& source, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {"-x",
                                        "hip",
                                        "--cuda-device-only",
                                        "--no-gpu-bundle-output",
                                        "--offload-arch=gfx942",
                                        "-nogpulib",
                                        "-nogpuinc",
                                        "-D__global__=__attribute__((global))",
                                        "-D__shared__=__attribute__((shared))",
                                        "-D__device__=__attribute__((device))"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_clang(arguments, source, "kernel.hip");
}

}  // namespace gfx942sim
