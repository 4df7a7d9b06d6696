// Epilogues of a few simple operators. The emitter marks them; a kernel applies such a one to a tile whose accumulators
// are all in registers, where others, which need registers of their own, wait until the tile is in memory.
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Epilogue>
concept is_light_epilogue = requires { requires Epilogue::is_light; };

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
