// The CPU's kernel descriptor: what the emitter needs of a kernel template in order to call it.
//
// A kernel is a class template in kernels/cpu/ with
//   using Arguments = ...;                        // pointers, sizes, strides
//   static KernelWork work(const Sizes&);         // tasks, and scratch bytes a thread
//   static void run(const Arguments&, const Epilogue&, int64_t task_begin, int64_t task_end, void* scratch);
// (without an epilogue if the call has none). The emitter writes a step that fills the arguments and runs the tasks in
// parallel.
#pragma once

#include <string>
#include <vector>

#include "codegen/call/kernel_text.h"

namespace onnxc {

// The vector that a kernel stores at a time and its epilogue sees: a channel block (NCHWc; Position of vector.h), or
// elements of the last axis of a row-major tensor (MatrixPosition of matrix_position.h).
enum class EpilogueForm { blocks, rows };

// The types in memory of vectors of floats and of int32 (integers.h).
inline const std::vector<DType> vector_types{DType::int32,   DType::int8,    DType::uint8,
                                             DType::float32, DType::float16, DType::bfloat16};

class CpuKernelSpec : public KernelSpec {
 public:
  // The headers that define the template, as they are included: "kernels/cpu/conv/conv_direct.h".
  virtual std::vector<std::string> headers() const = 0;
  // The kernel's type, given the type of its epilogue, if it has one:
  // "DirectConvolution<ConvShape{...}, float, float, Epilogue3>".
  virtual std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const = 0;
  // A braced initializer of the sizes that work() takes; also used if there are no buffers yet.
  virtual std::string sizes(const KernelText& text) const = 0;
  // A braced initializer of Arguments.
  virtual std::string arguments(const KernelCall& call, const KernelText& text) const = 0;
  virtual EpilogueForm epilogue_form() const { return EpilogueForm::blocks; }
  // The type of its products.
  virtual std::string arithmetic() const { return "float32"; }
  // Whether it needs the machine's matrix tiles (AMX).
  virtual bool uses_tiles() const { return false; }
  // Floating-point operations of a run.
  virtual Expr operations() const = 0;
};

}  // namespace onnxc
