// The highest rates of this machine, as the measure for the rates of steps.
#pragma once

namespace onnxc {

struct MachinePeak {
  double gflops;  // float32 fused multiply-adds of the widest vectors, two operations each, all threads together
  double gigabytes_read;  // a second, from memory
};

// Measures for about a quarter of a second. `threads`: how many compute at once.
MachinePeak measure_machine_peak(int threads);

}  // namespace onnxc
