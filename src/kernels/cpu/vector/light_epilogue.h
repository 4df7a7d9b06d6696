// Light epilogues: few simple operators, marked by the emitter. A kernel applies one to a tile whose accumulators are
// all in registers; any other epilogue needs registers of its own and runs after the tile has been stored to memory.
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Epilogue>
concept is_light_epilogue = requires { requires Epilogue::is_light; };

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
