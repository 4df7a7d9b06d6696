// A program as device code for a GPU and as the part of the host file that launches it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "codegen/hip/kernel_report.h"
#include "codegen/host/weights.h"
#include "ir/program/program.h"
#include "machine/gpu_machine.h"

namespace onnxc {

struct EmittedDevice;

struct HipEmitOptions {
  machine::GpuMachine machine;  // that the program is planned and compiled for
  std::string model_hash;
  std::string options;
  std::vector<std::string> build_lines;         // how a person builds the code object, for the head of the source
  std::span<const EmittedDevice> earlier = {};  // the same model for other cards, whose weights may serve this one
  bool is_cubin = false;                        // NVIDIA's code, assembled for the card; else PTX
};

struct EmittedDevice {
  machine::GpuMachine machine;
  bool is_cubin = false;
  std::string source;  // one HIP file: all kernels
  // Text of the host file, inside of namespace onnxc::runtime: defines the DeviceProgram (runtime/gpu/program.h) that
  // `program` names.
  std::string host, program;
  std::vector<std::string> host_headers;  // that it needs
  WeightBytes weights;
  std::string weights_symbol;  // the object in model.so; that of an earlier program if its weights are the same
  bool has_own_weights = true;
  std::vector<DeviceKernel> kernels;
};

// A card's name in generated code: the constant of machine/gpu_machine.h.
std::string identifier(const machine::GpuMachine& gpu);

// The architecture that a model's code is for, by which the runtime chooses: "gfx942", "sm_80".
std::string code_architecture(const machine::GpuMachine& gpu, bool is_cubin);

// "hip gfx942", and of a card that is not its architecture's default "hip gfx942 (mi300a)"; "cuda sm_80" is PTX, "cuda
// sm_89 cubin (rtx4090)" a cubin.
std::string target_text(const machine::GpuMachine& gpu, bool is_cubin);

// The object in model.so that is the code for a card.
std::string device_code_symbol(const machine::GpuMachine& gpu);

// The program is one for hip_target. The same program and options give the same bytes.
EmittedDevice emit_hip(const Program& program, const HipEmitOptions& options);

}  // namespace onnxc
