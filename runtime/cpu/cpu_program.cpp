#include "cpu/cpu_program.h"

#include <stdlib.h>

#include "cpu/cpu_features.h"

// For kernels/cpu/vector/scalar.h, in which its value must not be seen.
extern "C" const float onnxc_negative_zero;
const float onnxc_negative_zero = -0.0f;

namespace onnxc::runtime {
namespace {

bool cpu_has_all(const char* const* features) {
  for (; features != nullptr && *features != nullptr; ++features)
    if (!cpu_has(*features)) return false;
  return true;
}

// "this model was compiled for 'cpu x86-64-v4', and this CPU lacks avx512f, avx512bw (it is '...'); ".
void append_lacks(const ModelDescription& model, const char* const* features, ErrorText& error) {
  error.append("this model was compiled for '%s', and this CPU lacks ", model.target);
  const char* separator = "";
  bool lacks_tiles = false;
  for (; features != nullptr && *features != nullptr; ++features) {
    if (cpu_has(*features)) continue;
    error.append("%s%s", separator, *features);
    separator = ", ";
    lacks_tiles |= (*features)[0] == 'a' && (*features)[1] == 'm' && (*features)[2] == 'x';
  }
  char name[64];
  cpu_name(name);
  error.append(" (it is '%s'); ", name);
  if (lacks_tiles)
    error.append(
        "AMX needs the system's permission too, which it refuses if a thread has a small alternate signal stack; ");
}

// Not strcmp: it would be one more function that a model asks of libc (SECURITY.md).
bool are_equal(const char* a, const char* b) {
  for (; *a != 0 && *a == *b; ++a) ++b;
  return *a == *b;
}

const CpuProgram* program_named(const ModelDescription& model, const char* march, ErrorText& error) {
  for (int32_t i = 0; i < model.cpu_program_count; ++i) {
    const CpuProgram& program = *model.cpu_programs[i];
    if (!are_equal(program.march, march)) continue;
    if (cpu_has_all(program.features)) return &program;
    append_lacks(model, program.features, error);
    error.append("the environment variable ONNXC_MARCH asks for %s", program.march);
    return nullptr;
  }
  error.append("the environment variable ONNXC_MARCH is '%.64s', and this model was compiled for '%s'; leave it out",
               march, model.target);
  return nullptr;
}

constexpr CpuProgram no_program = {};

}  // namespace

const CpuProgram* choose_cpu_program(const ModelDescription& model, ErrorText& error) {
  if (!cpu_has_all(model.cpu_features)) {
    append_lacks(model, model.cpu_features, error);
    error.append("compile the model on this machine, or with an older --march such as x86-64-v3");
    return nullptr;
  }
  if (model.cpu_program_count == 0) return &no_program;
  // A file for one CPU does not ask: --verify compiles one beside a file for several.
  const char* const march = model.cpu_program_count > 1 ? getenv("ONNXC_MARCH") : nullptr;
  if (march != nullptr && *march != 0) return program_named(model, march, error);
  for (int32_t i = model.cpu_program_count - 1; i > 0; --i)
    if (cpu_has_all(model.cpu_programs[i]->features)) return model.cpu_programs[i];
  return model.cpu_programs[0];
}

}  // namespace onnxc::runtime
