// One loop nest as one kernel of the device file, and its launch in the host file.
//
//   struct Nest3_arguments { int64_t points, point_stride; const float* b0; float* b1; int64_t d0_N; };
//
// is in both files, from one text: what the host packs is what the kernel reads.
#pragma once

#include "codegen/hip/nests/nest_schedule.h"
#include "codegen/host/emit_context.h"

namespace onnxc {

// The structure of the arguments of kernel `name`. The nest's storages are numbered (number_storages).
void print_arguments_type(TextWriter& writer, const DeviceSchedule& schedule, const std::string& name,
                          const ModelNames& names);
// extern "C" __global__ void NAME(NAME_arguments)
void print_device_kernel(TextWriter& writer, const DeviceSchedule& schedule, const std::string& name,
                         const ModelNames& names);
// Statements of the host that launch kernel `name`, number `kernel` of the model, in a `const DeviceFrame& frame`.
void print_launch(TextWriter& writer, const DeviceSchedule& schedule, const std::string& name, size_t kernel,
                  const std::vector<NestMemory>& memory, const ModelNames& names);

}  // namespace onnxc
