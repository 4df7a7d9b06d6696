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
  machine::GpuMachine machine;    // that the program is planned for
  std::vector<std::string> gpus;  // that the code is compiled for
  std::string model_hash;
  std::string options;
  std::vector<std::string> build_lines;  // how a person builds the code object, for the head of the source
};

struct EmittedDevice {
  std::vector<std::string> gpus;
  std::string source;  // one HIP file: all kernels
  // Text of the host file, inside of namespace onnxc::runtime: defines device_program (runtime/hip/program.h).
  std::string host;
  std::vector<std::string> host_headers;  // that it needs
  WeightBytes weights;
  std::vector<DeviceKernel> kernels;
};

// The object in model.so that is the code of a GPU.
inline std::string device_code_symbol(const std::string& gpu) { return "onnxc_device_code_" + gpu; }

// The program is one for hip_target. The same program and options give the same bytes.
EmittedDevice emit_hip(const Program& program, const HipEmitOptions& options);

}  // namespace onnxc
