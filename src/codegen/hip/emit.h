// A program as device code for a GPU and as the part of the host file that launches it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codegen/hip/kernel_report.h"
#include "codegen/host/weights.h"
#include "ir/program/program.h"
#include "machine/gpu_machine.h"

namespace onnxc {

struct HipEmitOptions {
  machine::GpuMachine machine;  // that the program is planned and compiled for
  std::string model_hash;
  std::string options;
  std::vector<std::string> build_lines;  // how a person builds the code object, for the head of the source
  bool is_cubin = false;                 // NVIDIA's code, assembled for the card; else PTX
  size_t card = 0, entry = 0;            // the numbers of the card and of the graph among those of the model.so
};

struct EmittedDevice {
  machine::GpuMachine machine;
  bool is_cubin = false;
  size_t card = 0, entry = 0;
  std::string source;  // one HIP file: all kernels
  // Text of the host file, inside of the entry's namespace: defines the DeviceProgram (runtime/gpu/program.h) that
  // `program` names.
  std::string host, program;
  std::vector<std::string> host_headers;  // that it needs
  std::vector<DeviceKernel> kernels;
};

// A card's name in generated code: the constant of machine/gpu_machine.h.
std::string identifier(const machine::GpuMachine& gpu);

// The architecture that a model's code is for, by which the runtime chooses: "gfx942", "sm_80".
std::string code_architecture(const machine::GpuMachine& gpu, bool is_cubin);

// "hip gfx942", and of a card that is not its architecture's default "hip gfx942 (mi300a)"; "cuda sm_80" is PTX, "cuda
// sm_89 cubin (rtx4090)" a cubin.
std::string target_text(const machine::GpuMachine& gpu, bool is_cubin);

// The object in model.so that is the code of an entry for a card.
std::string device_code_symbol(const machine::GpuMachine& gpu, size_t entry);

// The WeightBlock of a card in the host file, which all its programs name.
std::string device_weight_block(size_t card);

// The program is one for hip_target. Its weights are added to those of the card. The same program and options give the
// same bytes.
EmittedDevice emit_hip(const Program& program, const HipEmitOptions& options, WeightBytes& weights);

}  // namespace onnxc
