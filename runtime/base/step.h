// The functions that the steps of generated code call.
#pragma once

#include "base/model.h"

namespace onnxc::runtime {

// The memory that a loop nest runs over. Steps that run the same loops over other memory share one function.
struct NestCall {
  const Frame& frame;
  void* const* buffers;
};

// Runs a kernel template: all its tasks, in parallel. src/codegen/cpu/call/kernel_spec.h says what a Kernel is; it has
// one epilogue or none.
template <class Kernel, class... Epilogue>
void run_kernel(const Frame& frame, int64_t tasks, const typename Kernel::Arguments& arguments,
                const Epilogue&... epilogue) {
  const auto run_tasks = [&](int64_t begin, int64_t end, int thread) {
    Kernel::run(arguments, epilogue..., begin, end, frame.thread_scratch(thread));
  };
  const auto run = [](const void* context, int64_t begin, int64_t end, int thread) {
    (*static_cast<decltype(run_tasks)*>(context))(begin, end, thread);
  };
  frame.parallel_for(frame, tasks, run, &run_tasks);
}

}  // namespace onnxc::runtime
