// Independent work on all cores.
#pragma once

#include <cstdint>
#include <functional>

namespace onnxc {

// Calls `work` with 0, 1, ... count - 1, in any order and on so many threads; 0: one a core. All calls are made; what
// the first that failed threw, in the order of their numbers, is thrown.
void parallel_for(int64_t count, const std::function<void(int64_t)>& work, int threads = 0);

}  // namespace onnxc
