// The GPU programs that generated code hands to the runtime: the same model, planned for one card each, as kernels in
// code that the vendor's library loads. Generated code and runtime are always built together.
#pragma once

#include "base/model.h"

namespace onnxc::runtime {

// One launch of a kernel: blocks and threads along one axis.
struct DeviceLaunch {
  int32_t kernel;  // index into DeviceProgram::kernels
  int64_t blocks;
  uint32_t threads;       // of a block
  const void* arguments;  // as the kernel's one argument, a structure, lies in memory
  size_t arguments_size;
};

// The environment of a step; buffers are device pointers.
struct DeviceFrame {
  void* const* buffers;
  const int64_t* symbols;
  void (*launch)(const DeviceFrame& frame, const DeviceLaunch& launch);
  void* instance;
};

// The numbers of the kernels for runs over volumes (kernels/hip/volume/volume_geometry.h); one that a model lacks is
// -1.
struct VolumeKernels {
  static constexpr int32_t types = 3;  // of windows: float32, float16, bfloat16

  int32_t cut[types] = {-1, -1, -1}, add[types] = {-1, -1, -1};
  int32_t finish = -1;
};

// Weights that lie in model.so once, and in a GPU's memory. The programs of several entries may share them.
struct WeightBlock {
  const unsigned char* bytes;
  int64_t size;
};

struct DeviceProgram {
  const char* architecture;          // that the code is for: "gfx942", "sm_80" (program_choice.h: which cards run it)
  int32_t compute_units;             // of the card that it is planned for
  const unsigned char* code_object;  // AMD's; NVIDIA's is the text of PTX with its zero, or a cubin
  const char* const* kernels;
  int32_t kernel_count;
  VolumeKernels volume = {};
  // The shared memory that launches of each kernel ask for, beyond what it declares; null: none does.
  const uint32_t* shared_bytes = nullptr;

  int32_t level_count = 1;
  int32_t (*sizes)(int32_t level, const int64_t* symbols, int64_t* buffer_bytes, int64_t* scratch_bytes);
  int32_t buffer_count;
  const BufferDescription* buffers;
  int32_t step_count;
  const StepDescription* steps;
  const WeightBlock* weights = nullptr;  // none: the model has no weights

  uint32_t shared_bytes_of(int32_t kernel) const { return shared_bytes == nullptr ? 0 : shared_bytes[kernel]; }
};

// More blocks would only wait in the queue: an MI300X holds 304 times 32 wavefronts.
inline constexpr int64_t most_blocks = int64_t{1} << 20;

// Launches the kernel of a loop nest, in which a block of `threads` computes `points_a_block` points at a time. The
// caller sets `arguments.points`; a thread's stride to its next point follows from the number of blocks.
template <class Arguments>
void launch_points(const DeviceFrame& frame, int32_t kernel, int64_t points_a_block, uint32_t threads,
                   Arguments& arguments) {
  if (arguments.points == 0) return;
  const int64_t needed = (arguments.points - 1) / points_a_block + 1;
  const int64_t blocks = needed < most_blocks ? needed : most_blocks;
  arguments.point_stride = blocks * points_a_block;
  frame.launch(frame, {kernel, blocks, threads, &arguments, sizeof arguments});
}

// Launches a kernel on so many blocks.
template <class Arguments>
void launch_blocks(const DeviceFrame& frame, int32_t kernel, int64_t blocks, uint32_t threads,
                   const Arguments& arguments) {
  if (blocks == 0) return;
  frame.launch(frame, {kernel, blocks, threads, &arguments, sizeof arguments});
}

}  // namespace onnxc::runtime
