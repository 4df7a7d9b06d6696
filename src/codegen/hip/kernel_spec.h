// What the HIP emitter needs of a kernel template in order to launch it.
//
// A kernel is a function template in kernels/ that takes its arguments, a structure that both files know, and the
// epilogue. The emitter writes a __global__ function around each instance.
#pragma once

#include <string>

#include "codegen/kernel_text.h"

namespace onnxc {

class HipKernelSpec : public KernelSpec {
 public:
  // The header of the device file that defines the template, and the one of the host file that defines its arguments.
  virtual std::string device_header() const = 0;
  virtual std::string host_header() const = 0;
  // The type of the arguments: "ConvArguments<float, float>".
  virtual std::string arguments_type(const KernelCall& call, const Program& program) const = 0;
  // The function template's instance: "implicit_gemm<ConvShape{...}, ConvTile{128, 64}>".
  virtual std::string function() const = 0;
  // A braced initializer of the arguments.
  virtual std::string arguments(const KernelCall& call, const KernelText& text) const = 0;
  // Blocks of a launch, as an int64_t expression of the host file over `arguments`.
  virtual std::string blocks() const = 0;
};

}  // namespace onnxc
