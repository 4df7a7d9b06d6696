// Independent work on all cores.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace onnxc {

// Threads that call `work` with their number, from 1 on: `count` of them, or as many as the machine grants.
std::vector<std::jthread> start_threads(int64_t count, const std::function<void(int64_t)>& work);

// A thread of its own, which nobody waits for. If the machine grants none, returns why: "Resource temporarily
// unavailable".
std::string start_detached(std::function<void()> work);

// Calls `work` with 0, 1, ... count - 1, in any order and on so many threads at most; 0: one a core. All calls are
// made; what the first that failed threw, in the order of their numbers, is thrown.
void parallel_for(int64_t count, const std::function<void(int64_t)>& work, int threads = 0);

}  // namespace onnxc
