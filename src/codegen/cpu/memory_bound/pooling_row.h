// Pools of NCHWc tensors, as a fusion with the kernel before them sees them. Their offers: kernel_rows.h.
#pragma once

#include <array>
#include <optional>

#include "codegen/cpu/call/kernel_spec.h"
#include "ops/network/conv_spec.h"

namespace onnxc {

class PoolCallSpec : public CpuKernelSpec {
 public:
  // The axes of a max pool of floats without padding, dilation or overlap; nothing for any other.
  virtual std::optional<std::array<WindowAxis, 3>> separate_maximum_windows() const = 0;
};

}  // namespace onnxc
