// A model as one readable C++ file that defines onnxc::runtime::model (runtime/host/model.h).
#pragma once

#include <string>

#include "codegen/hip/emit.h"
#include "ir/program/program.h"
#include "toolchain/toolchain.h"

namespace onnxc {

struct EmitOptions {
  CpuMachine architecture;
  std::string model_hash;                 // of the ONNX file
  std::string options;                    // how onnxc was called, as far as it shapes the result
  const EmittedDevice* device = nullptr;  // the same model for a GPU, when it is to be part of the file
  bool has_cpu_code = true;               // else only the GPU runs the model
};

// `program` is the CPU's, or that of the GPU where only it runs the model: its dims are bound by the same text. The
// same program and options give the same bytes. Throws UserError for a program whose input dims cannot be computed,
// naming the input and the dim.
EmittedModel emit_model(const Program& program, const EmitOptions& options);

}  // namespace onnxc
