// A model as one readable C++ file that defines onnxc::runtime::model (runtime/base/model.h), and one more for each
// further level of CPUs.
#pragma once

#include <span>
#include <string>

#include "codegen/hip/emit.h"
#include "ir/program/program.h"
#include "toolchain/toolchain.h"

namespace onnxc {

// The same model's program for the CPUs of a level.
struct CpuLevel {
  CpuMachine machine;
  Program program;
};

struct EmitOptions {
  CpuMachine architecture;
  std::string model_hash;                  // of the ONNX file
  std::string options;                     // how onnxc was called, as far as it shapes the result
  const EmittedDevice* device = nullptr;   // the same model for a GPU, when it is to be part of the file
  bool has_cpu_code = true;                // else only the GPU runs the model
  std::span<const CpuLevel> further = {};  // for CPUs that have what `architecture` has and more, the most capable last
};

// `program` is the CPU's, or that of the GPU if only that runs the model: its dims are bound by the same text. The same
// program and options give the same bytes. Throws UserError for a program whose input dims cannot be computed, naming
// the input and the dim.
EmittedModel emit_model(const Program& program, const EmitOptions& options);

}  // namespace onnxc
