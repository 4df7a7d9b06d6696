// The form in which the CPU's kernels hold the weights of a model, the value of --weights.
#pragma once

namespace onnxc {

enum class WeightForm {
  fast,     // by the kernels' costs, among them the time to read the weights
  compact,  // not transformed, which takes up to six times the memory
};

}  // namespace onnxc
