// Limits on what a model may cost. Each limit is checked before the work or the allocation that it bounds.
#pragma once

#include <cstdint>

namespace onnxc {

// The memory that this process may use: the machine's, or its control group's if that is less.
int64_t available_memory();

struct Limits {
  // Nodes of a graph once its functions are inlined, subgraphs included.
  int64_t max_nodes = 1'000'000;
  // Bytes, of one tensor and of all constants together, those that are computed when the model is compiled among them.
  // Each process of a compile may have as much, and no less than it needs to start (process_memory).
  int64_t max_memory = available_memory();
  // For the whole compile, clang's part included.
  int64_t max_seconds = 3600;
  // Subgraphs within subgraphs, and calls of functions within functions.
  int64_t max_nesting = 64;
  // Axes of a tensor.
  static constexpr int64_t max_rank = 64;

  int64_t process_memory() const;
};

// Limits the memory that this process, and each one that it starts, may write to: an allocation beyond it fails.
void limit_process_memory(int64_t bytes);

}  // namespace onnxc
