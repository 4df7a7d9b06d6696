// The GPU that a model runs on.
#pragma once

#include "gpu/library/gpu_library.h"
#include "gpu/program.h"

namespace onnxc::runtime {

struct ChosenDevice {
  const GpuLibrary* gpu = nullptr;
  GpuDescription description = {};
};

// Asks the vendors in the order of the model's programs: the first whose GPU of this number runs one of them is taken.
// Returns false, and the reasons of all in `error`, if no GPU does.
bool choose_device(const ModelDescription& model, int index, ChosenDevice& chosen, ErrorText& error);

}  // namespace onnxc::runtime
