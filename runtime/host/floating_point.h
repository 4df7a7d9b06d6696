// While one lives, this thread computes with IEEE arithmetic: rounding to nearest, denormals kept, no traps. A host
// application's own mode, which differs between its threads, would make results depend on which thread ran a task. The
// mode and the exception flags of before are restored at the end.
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
