// The graphs of a model.so as one readable C++ file that defines onnxc::runtime::shared_object (runtime/base/model.h),
// and one more for each further CPU.
//
// Each graph is an entry, and has a namespace of its own in the file. Constants with equal bytes, packed as the kernels
// read them, lie once among the weights of all entries.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/hip/emit.h"
#include "codegen/host/weights.h"
#include "ir/program/program.h"
#include "machine/cpu_machine.h"
#include "passes/states/bind_states.h"

namespace onnxc {

// The same model's program for a further CPU.
struct CpuVariant {
  CpuMachine machine;
  Program program;
};

// One of the graphs of a model.so: an entry of the C ABI.
struct ModelEntry {
  std::string name;
  std::string model_hash;  // of the ONNX file
  // The CPU's program, or that of the GPU if only that runs the model: its dims are bound by the same text.
  const Program& program;
  std::vector<EmittedDevice> devices = {};    // the same model for GPUs, which become parts of the file
  std::span<const CpuVariant> variants = {};  // for CPUs that have what the first has and more, the most capable last
};

struct EmitOptions {
  CpuMachine machine;
  std::string options;                   // how onnxc was called, as far as it shapes the result
  std::vector<std::string> build_lines;  // how a person builds model.so, for the head of the source
  bool has_cpu_code = true;              // else only the GPU runs the model
  std::vector<StateNames> states = {};   // of all entries, for the facts that the model tells of itself
};

// A C++ file, and the CPU that it is compiled for.
struct EmittedSource {
  CpuMachine machine;
  std::string text;
  int parts;
};

// A block of bytes as an object of the model.so.
struct EmittedWeights {
  std::string symbol;
  WeightBytes bytes;
};

struct EmittedModel {
  std::string source;  // one C++ file
  WeightBytes weights;
  std::vector<EmittedWeights> device_weights;  // of the cards, equal blocks once
  std::vector<EmittedDevice> devices;          // for each entry and GPU; `source` holds their host parts
  // The number of parts that may be compiled in parallel, each with ONNXC_PART defined as its number; 1: one whole.
  int parts = 1;
  // The same model for further CPUs. Each is compiled with `onnxc` defined as a name of its own, so that no function of
  // another's is taken for its own.
  std::vector<EmittedSource> variants = {};
};

// At least one entry; as many programs in each, for the same CPUs and cards. `device_weights` are those of each card.
// The same programs and options give the same bytes. Throws UserError for a program whose input dims cannot be
// computed, naming the input and the dim.
EmittedModel emit_model(std::vector<ModelEntry> entries, const EmitOptions& options,
                        std::vector<WeightBytes> device_weights = {});

}  // namespace onnxc
