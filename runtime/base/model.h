// The table that generated code hands to the runtime to describe a model, and the frame in which its steps run. Both
// sides of this interface are always built together; users see include/onnxc.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "onnxc.h"

namespace onnxc::runtime {

// Runs body(context, begin, end, thread) over [0, tasks), cut into any pieces, `thread` below the number of threads.
using ParallelBody = void (*)(const void* context, int64_t begin, int64_t end, int thread);

class InternedStrings;  // strings/interned_strings.h

// The environment of a step.
struct Frame {
  void* const* buffers;    // by storage index; aligned to 64, but inputs and outputs to their element's size only
  const int64_t* symbols;  // values of the model's symbols, inputs' dims first
  void* scratch;           // scratch_stride bytes a thread
  int64_t scratch_stride;
  void (*parallel_for)(const Frame& frame, int64_t tasks, ParallelBody body, const void* context);
  void* instance;
  // Reports an element that the step cannot accept (static text that names node and input): the run ends after this
  // step with ONNXC_INVALID_DATA. Any thread may call it.
  void (*fail)(const Frame& frame, const char* text);
  InternedStrings* strings;

  void* thread_scratch(int thread) const { return static_cast<char*>(scratch) + thread * scratch_stride; }
};

// One tensor of the model's interface, or one that a step materialises.
using TensorDescription = onnxc_value_info;  // name, dtype, rank, dims as text

enum class BufferKind : int32_t { input, output, constant, temporary, state };

// A block of memory that the runtime plans or finds.
struct BufferDescription {
  BufferKind kind;
  int32_t index;       // input, output and state: which; constant: none
  int32_t first_step;  // temporary: alive from the step that first writes it to the last that reads it
  int32_t last_step;
  int64_t offset;  // constant: bytes from the start of the weights
  // temporary and output: the level at which its size is known, 0 for what follows from the inputs' dims
  int32_t level = 0;
};

inline int64_t count_temporaries(const BufferDescription* buffers, int32_t buffer_count) {
  int64_t count = 0;
  for (int32_t i = 0; i < buffer_count; ++i) count += buffers[i].kind == BufferKind::temporary ? 1 : 0;
  return count;
}

// One logical axis of a tensor in memory: element i is i / block_size * outer_step + i % block_size * inner_step
// elements from the first.
struct PlacedAxis {
  int64_t extent;
  int64_t block_size;  // 1 if the axis is not blocked
  int64_t outer_step, inner_step;
};

// A result of a step, described for traces: the logical tensor, its buffer and its layout.
struct StepOutput {
  TensorDescription tensor;
  int32_t buffer;  // storage index
  // Writes the tensor's axes, and returns the offset of its first element in the buffer, in elements.
  int64_t (*place)(const int64_t* symbols, PlacedAxis* axes);
};

// work: a step that runs. bind: reads data-dependent sizes into their symbols. The steps from loop_begin to loop_end
// run round by round.
enum class StepKind : int32_t { work, bind, loop_begin, loop_end };

struct DeviceFrame;  // gpu/program.h

// The work of a step, for the sizes of a run.
struct StepCounts {
  double operations;  // floating-point operations
  double bytes;       // of the tensors that it reads and writes, weights included, each counted once
};

// A step of the CPU's program, or of the GPU's.
struct StepDescription {
  const char* name;                              // "conv_direct 3x3x3 64->64"
  const char* nodes;                             // ONNX names of the nodes it computes, separated by newlines
  const char* operators;                         // their operator types, separated by newlines
  onnxc_step_source source;                      // the source lines that they come from
  void (*run)(const Frame& frame);               // on the CPU
  StepCounts (*counts)(const int64_t* symbols);  // or null
  int32_t output_count;
  const StepOutput* outputs;
  // For a step that begins the next level and has no function of its own: reads symbols, and checks the guards that
  // they complete. Returns null, or the text of the rule that fails. It and `condition` run on the host.
  const char* (*bind)(const Frame& frame, int64_t* symbols) = nullptr;
  StepKind kind = StepKind::work;
  bool (*condition)(const Frame& frame) = nullptr;     // whether the step, or the loop's next round, runs; null: always
  int32_t partner = 0;                                 // loop_begin: the loop_end, and the other way round
  int32_t round = 0;                                   // loop_begin: the place of the symbol that counts the rounds
  void (*launch)(const DeviceFrame& frame) = nullptr;  // on the GPU, in place of `run`
  int32_t read = -1;  // on the GPU: the buffer that `bind` or `condition` reads, which is copied to the host before
};

// The model's program for one CPU, with its own layouts and kernels.
struct CpuProgram {
  const char* march;            // "x86-64-v4"
  const char* const* features;  // null-terminated names __builtin_cpu_supports knows: "avx2", "avx512f"
  // Writes the bytes of the buffers whose size becomes known at a level of the plan, and the scratch bytes that a
  // thread needs in its steps. Returns 0, or 1 when a size does not fit in 63 bits.
  int32_t (*sizes)(int32_t level, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes);
  int32_t buffer_count;
  const BufferDescription* buffers;
  int32_t step_count;
  const StepDescription* steps;
};

struct DeviceProgram;
struct DeviceBackend;
struct EntryFunctions;  // base/entry.h

// One of the graphs that a model.so was compiled from.
struct ModelDescription {
  const char* name;                 // of the entry
  const char* target;               // "cpu x86-64-v4"
  const char* const* cpu_features;  // that all of it needs, as CpuProgram has them
  const char* information;          // JSON for --info: model hash, options, legal-size rules
  int32_t input_count, output_count;
  const TensorDescription* inputs;
  const TensorDescription* outputs;

  int32_t symbol_count;
  // The place of the symbol that is a number of the run; after it that of the one that counts rounds of loops. -1 in a
  // model that draws no random numbers.
  int32_t random_symbols = -1;
  // A model's sizes become known level by level (plan stages): at level 0 those that the inputs' dims give, at level n
  // those that follow from the n-th step with `bind`.
  int32_t level_count = 1;
  const int32_t* output_dim_levels = nullptr;  // of the outputs' dims, one after the other; null: all 0
  const char* const* symbol_names;
  // Computes the symbols from the inputs' dims, and checks every rule of the model. Returns null, or the text of the
  // rule that fails, with the input and the dim named (static text; the runtime adds the values).
  const char* (*bind)(const int64_t* const* input_dims, int64_t* symbols);
  // Writes the dims of the outputs that become known at a level, into the array of all outputs' dims.
  void (*output_dims)(int32_t level, const int64_t* symbols, int64_t* dims);

  // An instance runs the last that its CPU can run. None: only a GPU runs the model.
  const CpuProgram* const* cpu_programs = nullptr;
  int32_t cpu_program_count = 0;
  // The strings of its constants, in the order of their handles; none in a model without tensors of strings. Among the
  // weights, at these offsets: the bytes of all of them, and as int64 the end of each among these.
  int64_t string_count = 0, string_bytes = 0, string_ends = 0;
  // Its states, which a run finds as the run before left them, and the place of each among SharedObject::state_count.
  int32_t state_count = 0;
  const TensorDescription* states = nullptr;
  const int32_t* state_places = nullptr;
  // Writes the dims of all states, one after the other.
  void (*state_dims)(const int64_t* symbols, int64_t* dims) = nullptr;
  // The same model for GPUs (gpu/program.h), and their runtime (gpu/backend.h); none if compiled without.
  const DeviceProgram* const* device_programs = nullptr;
  int32_t device_program_count = 0;
  const DeviceBackend* device_backend = nullptr;
};

// The steps that a table shows: those of the program that this CPU runs, or of the first if it runs none; of the GPU's
// in a model for only a GPU.
struct ShownSteps {
  int32_t count;
  const StepDescription* steps;
};

// A graph in the C ABI (include/onnxc.h), with its table, which the first caller fills.
struct Entry {
  const ModelDescription* model;
  const EntryFunctions* functions;
  ShownSteps shown;
  onnxc_api table;
};

// All of a model.so. Its entries share the weights.
struct SharedObject {
  const char* onnxc_version;
  const unsigned char* weights;  // of the CPU programs of all entries; 64-byte aligned
  int64_t weights_size;
  Entry* entries;
  int32_t entry_count;
  int32_t state_count = 0;  // of all entries; those of one name are one
};

// Defined by generated code.
extern const SharedObject shared_object;
// The functions of the first entry. Those of the others are made by generated code (base/entry.h).
extern const EntryFunctions first_entry_functions;

// The advice for a machine without a GPU.
inline const char* on_the_cpu(const ModelDescription& model) {
  return model.cpu_program_count > 0 ? "the model also runs on the CPU"
                                     : "compile it with --target cpu,gpu to run it on the CPU as well";
}

}  // namespace onnxc::runtime
