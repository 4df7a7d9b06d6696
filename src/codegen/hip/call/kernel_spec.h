// The GPU's kernel descriptor: what the HIP emitter needs of a kernel template in order to launch it.
//
// A kernel is a function template in kernels/hip/. It takes its arguments, a structure that host and device file share,
// and the epilogue. The emitter writes a __global__ function around each instance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/call/kernel_text.h"

namespace onnxc {

// The cost model's expectation of a launch.
struct Expected {
  double microseconds;
  const char* bound;  // what takes them: "MFMA", "LDS", "memory", ...
};

// The planned figures of a kernel; tests compare the code object with them.
struct KernelFigures {
  int64_t lds_bytes;
  int64_t waves;                          // for which a SIMD unit has registers, and its compute unit LDS
  std::optional<Expected> expected = {};  // nothing if only the run knows a size
  int64_t launch_lds_bytes = 0;           // of lds_bytes: what the launch asks for, and the kernel does not declare
};

// An instance of a function template, and the number of blocks of its launch: an int64_t expression of the host file
// over `arguments`, and `planned_gpu`, the row that the program is planned for.
struct DeviceFunction {
  std::string instance, blocks;
  std::optional<KernelFigures> figures = std::nullopt;
};

class HipKernelSpec : public KernelSpec {
 public:
  // The header of the device file that defines the template, and the one of the host file that defines its arguments.
  virtual std::string device_header() const = 0;
  virtual std::string host_header() const = 0;
  // The type of the arguments: "GemmArguments<float, float, float>".
  virtual std::string arguments_type(const KernelCall& call, const Program& program) const = 0;
  // The function template's instance: "implicit_gemm<GemmPlan{...}>".
  virtual std::string function(const KernelCall& call, const Program& program) const = 0;
  // A braced initializer of the arguments.
  virtual std::string arguments(const KernelCall& call, const KernelText& text) const = 0;
  virtual std::string blocks() const = 0;  // as in DeviceFunction
  // The functions launched after it, with the same arguments.
  virtual std::vector<DeviceFunction> further(const KernelCall&, const Program&) const { return {}; }
  // Whether the output may be row-major, besides the layout that the call was made with.
  virtual bool writes_row_major() const { return false; }
  // The logical axes of an output of this rank, as the kernel passes them to the epilogue: expressions of n, g, c, d, h
  // and w.
  virtual std::vector<std::string> coordinates(size_t rank) const = 0;
  // The same for an inner epilogue, which the function takes before the other one.
  virtual std::vector<std::string> inner_coordinates(size_t rank) const { return coordinates(rank); }
  virtual KernelFigures figures() const = 0;
  // Whether the compiler shall plan registers for two wavefronts on a SIMD unit, even if fewer registers would do.
  virtual bool wants_registers() const { return false; }
};

}  // namespace onnxc
