// While such an object lives, its thread computes with IEEE arithmetic: rounding to nearest, denormals kept, no traps.
// A host application's modes may differ between its threads, and results would then depend on which thread ran a task.
// The destructor restores the earlier mode and exception flags.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

namespace onnxc::runtime {

class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
#if defined(__x86_64__)
  DefaultFloatingPoint() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  DefaultFloatingPoint() {
    fegetenv(&saved_);
    fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { fesetenv(&saved_); }

 private:
  fenv_t saved_;
#endif
};

}  // namespace onnxc::runtime
