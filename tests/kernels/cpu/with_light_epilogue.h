// A convolution kernel with PositionEpilogue as a light one, for run_and_compare.
#pragma once

#include "kernels/cpu/conv/conv_harness.h"

namespace onnxc::kernels {
namespace {

template <class Output>
struct LightPositionEpilogue : PositionEpilogue<Output> {
  static constexpr bool is_light = true;
};

template <template <ConvShape, class, class, class> class Kernel, ConvShape shape, class Input, class Output>
struct WithLightEpilogue {
  using Epilogue = LightPositionEpilogue<Output>;
  using Light = Kernel<shape, Input, Output, Epilogue>;
  using Arguments = typename Light::Arguments;

  static KernelWork work(const ConvSizes& sizes) { return Light::work(sizes); }
  static void run(const Arguments& arguments, const PositionEpilogue<Output>& epilogue, int64_t task_begin,
                  int64_t task_end, void* scratch) {
    Light::run(arguments, Epilogue{epilogue}, task_begin, task_end, scratch);
  }
};

}  // namespace
}  // namespace onnxc::kernels
