// Pools of NCHWc tensors, as a fusion with the kernel before them sees them. Their offers: kernel_rows.h.
#pragma once

#include <array>
#include <optional>

#include "ir/program/program.h"
#include "ops/network/conv_spec.h"

namespace onnxc {

// The axes of a max pool without padding, dilation or overlap; nothing for any other call.
std::optional<std::array<WindowAxis, 3>> separate_maximum_windows(const KernelCall& call);

}  // namespace onnxc
