// Steps of a GPU's program, for the models written by hand.
#pragma once

#include "gpu/program.h"

namespace onnxc::runtime {

// The step of a GPU's program that this one of a CPU's would be.
constexpr StepDescription on_gpu(StepDescription step, void (*launch)(const DeviceFrame& frame), int32_t read = -1) {
  step.launch = launch;
  step.read = read;
  return step;
}

}  // namespace onnxc::runtime
