// Kernels of one word each, and kernels with a fault.
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels {

extern "C" __global__ __launch_bounds__(nest_threads) void reverse(const float* input, float* output) {
  __shared__ float places[nest_threads];
  const int64_t first = block_index() * nest_threads;
  places[thread_index()] = input[first + thread_index()];
  barrier();
  output[first + thread_index()] = places[nest_threads - 1 - thread_index()];
}

extern "C" __global__ __launch_bounds__(nest_threads) void sums_of_lanes(const float* input, float* output) {
  output[thread_index()] = fold_lanes<1, wave_lanes>(input[thread_index()], [](float a, float b) { return a + b; });
}

extern "C" __global__ __launch_bounds__(nest_threads) void scattered_sums(const float* input, float* output) {
  float values[16];
  for (int i = 0; i < 16; ++i) values[i] = input[thread_index() * 16 + i];
  output[thread_index() / 16 * 16 + value_of_lane()] = scatter_sums(values);
}

extern "C" __global__ __launch_bounds__(nest_threads) void one_lane(const int32_t* input, int32_t* output, int lane) {
  output[thread_index()] = of_lane(input[thread_index()], lane);
}

extern "C" __global__ __launch_bounds__(nest_threads) void halves(const uint32_t* input, uint32_t* output) {
  output[thread_index()] = upper_halves(input[2 * thread_index()], input[2 * thread_index() + 1]);
}

// Faults.

extern "C" __global__ __launch_bounds__(nest_threads) void missing_barrier(float* output) {
  __shared__ float places[nest_threads];
  places[thread_index()] = 1.0f;
  output[thread_index()] = places[nest_threads - 1 - thread_index()];
}

extern "C" __global__ __launch_bounds__(nest_threads) void unwritten(float* output, int written) {
  __shared__ float places[nest_threads];
  if (thread_index() == written) places[written] = 1.0f;
  barrier();
  output[thread_index()] = places[thread_index()];
}

extern "C" __global__ __launch_bounds__(nest_threads) void beyond_shared_memory(float* output, int place) {
  __shared__ float places[nest_threads];
  float* const first = places;
  first[place] = 1.0f;
  barrier();
  output[thread_index()] = places[thread_index()];
}

extern "C" __global__ __launch_bounds__(nest_threads) void one_thread_leaves(float* output) {
  if (thread_index() != 7) barrier();
  output[thread_index()] = 1.0f;
}

extern "C" __global__ __launch_bounds__(nest_threads) void lanes_apart(float* output) {
  output[thread_index()] = thread_index() % 2 == 0 ? exchange<1, true>(1.0f) : static_cast<float>(of_lane(1, 0));
}

}  // namespace onnxc::kernels
