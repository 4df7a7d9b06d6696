#include "host/options.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>

#include "base/random_seed.h"
#include "threads/thread_count.h"

namespace onnxc::runtime {
namespace {

onnxc_status copy_struct(const void* given, void* known, size_t known_size, const char* name, ErrorText& error) {
  memset(known, 0, known_size);
  if (given == nullptr) return ONNXC_OK;
  uint32_t size;
  memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > 4096) {
    error.append("%s.struct_size is %u: set it to sizeof(%s)", name, size, name);
    return ONNXC_INVALID_ARGUMENT;
  }
  memcpy(known, given, std::min<size_t>(size, known_size));
  for (size_t i = known_size; i < size; ++i) {
    if (static_cast<const char*>(given)[i] == 0) continue;
    error.append("%s sets a field that this model's onnxc (%s) does not know", name, shared_object.onnxc_version);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status check_flags(uint32_t flags, uint32_t known, const char* name, ErrorText& error) {
  if ((flags & ~known) == 0) return ONNXC_OK;
  error.append("%s.flags has unknown bits: 0x%x", name, flags & ~known);
  return ONNXC_INVALID_ARGUMENT;
}

// Else a run would differ from what was asked for without a word. OpenMP's variable is not ours to refuse.
onnxc_status check_environment(ErrorText& error) {
  if (const EnvironmentNumber threads = asked_threads(); threads.is_refused()) {
    error.append("the environment variable ONNXC_THREADS is '%.64s'; a number of threads from 1 to %d is expected",
                 threads.text, most_threads);
    return ONNXC_INVALID_ARGUMENT;
  }
  if (const EnvironmentNumber seed = asked_seed(); seed.is_refused()) {
    error.append("the environment variable ONNXC_SEED is '%.64s'; an integer is expected", seed.text);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

}  // namespace

onnxc_status read_options(const ModelDescription& model, const onnxc_options* given, onnxc_options& options,
                          ErrorText& error) {
  onnxc_status status = copy_struct(given, &options, sizeof options, "onnxc_options", error);
  constexpr uint32_t known_flags = ONNXC_SHARED_POOL | ONNXC_POISON | ONNXC_GPU_GRAPH;
  if (status == ONNXC_OK) status = check_flags(options.flags, known_flags, "onnxc_options", error);
  if (status == ONNXC_OK) status = check_environment(error);
  if (status != ONNXC_OK) return status;
  if (options.device == ONNXC_CPU && model.cpu_program_count == 0) {
    error.append(
        "this model was compiled for '%s' and has no code for the CPU; run it on its GPU, or compile it with --target "
        "cpu,gpu to run it on either",
        model.target);
    return ONNXC_UNSUPPORTED_DEVICE;
  }
  if (options.device != ONNXC_CPU && (options.device != ONNXC_GPU || model.device_program_count == 0)) {
    error.append(
        "this model was compiled for '%s' and has no code for a GPU; compile it with --target gpu (or cpu,gpu) to run "
        "it on one",
        model.target);
    return ONNXC_UNSUPPORTED_DEVICE;
  }
  if ((options.flags & ONNXC_GPU_GRAPH) != 0 && options.device != ONNXC_GPU) {
    error.append("a graph is asked for, and the model is to run on the CPU");
    return ONNXC_INVALID_ARGUMENT;
  }
  if (options.threads < 0 || options.threads > most_threads) {
    error.append("the number of threads is %d, and it ranges from 0 (left to the model) to %d", options.threads,
                 most_threads);
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status read_options(const onnxc_run_options* given, onnxc_run_options& options, ErrorText& error) {
  onnxc_status status = copy_struct(given, &options, sizeof options, "onnxc_run_options", error);
  if (status == ONNXC_OK)
    status = check_flags(options.flags, ONNXC_OWN_STREAM | ONNXC_ENQUEUE, "onnxc_run_options", error);
  if (status != ONNXC_OK) return status;
  if ((options.flags & ONNXC_OWN_STREAM) != 0 && (options.stream != nullptr || (options.flags & ONNXC_ENQUEUE) != 0)) {
    error.append(
        "onnxc_run_options.flags has ONNXC_OWN_STREAM, beside %s: a run in the instance's own stream is waited for",
        options.stream != nullptr ? "a stream" : "ONNXC_ENQUEUE");
    return ONNXC_INVALID_ARGUMENT;
  }
  return ONNXC_OK;
}

onnxc_status read_options(const onnxc_volume* given, onnxc_volume& volume, ErrorText& error) {
  if (given == nullptr) {
    error.append("the volume is null");
    return ONNXC_INVALID_ARGUMENT;
  }
  const onnxc_status status = copy_struct(given, &volume, sizeof volume, "onnxc_volume", error);
  return status == ONNXC_OK ? check_flags(volume.flags, 0, "onnxc_volume", error) : status;
}

onnxc_status read_options(const onnxc_volume_result* given, onnxc_volume_result& result, ErrorText& error) {
  return copy_struct(given, &result, sizeof result, "onnxc_volume_result", error);
}

}  // namespace onnxc::runtime
