// HIP's attributes on the host, in place of those for NVPTX.
#pragma once

#define ONNXC_PLANNED_WAVES
#define ONNXC_ONLY_TWO_WAVES

#define __global__
#define __device__
// One block runs at a time, so that one variable serves for all. Not zero at first: NaN is written there.
#define __shared__ static __attribute__((section(".block_memory")))
#define __launch_bounds__(...)
