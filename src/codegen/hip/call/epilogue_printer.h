// An epilogue as a structure: its members are what it loads from, its device function computes one element.
//
//   struct Epilogue0 {
//     const float* p0;
//     __device__ float operator()(float accumulator, int64_t n, int64_t g, int64_t c, int64_t d, int64_t h,
//                                 int64_t w) const;
//   };
#pragma once

#include "codegen/host/emit_context.h"

namespace onnxc {

enum class EpilogueSide { host, device };

// Prints the structure and returns the initializer of its members, in a scope with `const DeviceFrame& frame`.
// `coordinates` are the output's logical axes in terms of the function's arguments (HipKernelSpec::coordinates).
std::string print_device_epilogue(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue,
                                  const std::vector<std::string>& coordinates, const std::string& name,
                                  EpilogueSide side);

}  // namespace onnxc
