// The elementary functions of wave/elementary.h from libclc, LLVM's library of OpenCL's functions (Debian: libclc-19),
// as bitcode that clang links into each program, under OpenCL's mangled names. Its errors are within 2.4 units of the
// last place; what it makes zero although it is subnormal is ours.
#pragma once

#pragma clang force_cuda_host_device begin
#include "kernels/shared/float_functions.h"
#pragma clang force_cuda_host_device end

extern "C" {
__device__ double _Z3expd(double);
__device__ float _Z3logf(float);
__device__ double _Z3logd(double);
__device__ float _Z3sinf(float);
__device__ double _Z3sind(double);
__device__ float _Z3cosf(float);
__device__ double _Z3cosd(double);
__device__ float _Z3tanf(float);
__device__ double _Z3tand(double);
__device__ float _Z4asinf(float);
__device__ double _Z4asind(double);
__device__ float _Z4acosf(float);
__device__ double _Z4acosd(double);
__device__ float _Z4atanf(float);
__device__ double _Z4atand(double);
__device__ float _Z4sinhf(float);
__device__ double _Z4sinhd(double);
__device__ float _Z4coshf(float);
__device__ double _Z4coshd(double);
__device__ float _Z4tanhf(float);
__device__ double _Z4tanhd(double);
__device__ float _Z5asinhf(float);
__device__ double _Z5asinhd(double);
__device__ float _Z5acoshf(float);
__device__ double _Z5acoshd(double);
__device__ float _Z5atanhf(float);
__device__ double _Z5atanhd(double);
__device__ float _Z3erff(float);
__device__ double _Z3erfd(double);
__device__ float _Z3powff(float, float);
__device__ double _Z3powdd(double, double);
__device__ double _Z4fmoddd(double, double);
}

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

__device__ inline float exponential(float a) { return exponential_of_float(a); }
__device__ inline double exponential(double a) { return _Z3expd(a); }
__device__ inline float logarithm(float a) { return _Z3logf(a); }
__device__ inline double logarithm(double a) { return _Z3logd(a); }
__device__ inline float square_root(float a) { return __builtin_elementwise_sqrt(a); }
__device__ inline double square_root(double a) { return __builtin_elementwise_sqrt(a); }
__device__ inline float sine(float a) { return _Z3sinf(a); }
__device__ inline double sine(double a) { return _Z3sind(a); }
__device__ inline float cosine(float a) { return _Z3cosf(a); }
__device__ inline double cosine(double a) { return _Z3cosd(a); }
__device__ inline float tangent(float a) { return _Z3tanf(a); }
__device__ inline double tangent(double a) { return _Z3tand(a); }
__device__ inline float arc_sine(float a) { return _Z4asinf(a); }
__device__ inline double arc_sine(double a) { return _Z4asind(a); }
__device__ inline float arc_cosine(float a) { return _Z4acosf(a); }
__device__ inline double arc_cosine(double a) { return _Z4acosd(a); }
__device__ inline float arc_tangent(float a) { return _Z4atanf(a); }
__device__ inline double arc_tangent(double a) { return _Z4atand(a); }
__device__ inline float hyperbolic_sine(float a) { return _Z4sinhf(a); }
__device__ inline double hyperbolic_sine(double a) { return _Z4sinhd(a); }
__device__ inline float hyperbolic_cosine(float a) { return _Z4coshf(a); }
__device__ inline double hyperbolic_cosine(double a) { return _Z4coshd(a); }
__device__ inline float hyperbolic_tangent(float a) { return _Z4tanhf(a); }
__device__ inline double hyperbolic_tangent(double a) { return _Z4tanhd(a); }
__device__ inline float arc_hyperbolic_sine(float a) { return _Z5asinhf(a); }
__device__ inline double arc_hyperbolic_sine(double a) { return _Z5asinhd(a); }
__device__ inline float arc_hyperbolic_cosine(float a) { return _Z5acoshf(a); }
__device__ inline double arc_hyperbolic_cosine(double a) { return _Z5acoshd(a); }
__device__ inline float arc_hyperbolic_tangent(float a) { return _Z5atanhf(a); }
__device__ inline double arc_hyperbolic_tangent(double a) { return _Z5atanhd(a); }
__device__ inline float error_function(float a) { return _Z3erff(a); }
__device__ inline double error_function(double a) { return _Z3erfd(a); }
// libclc's result of float32 is 0 if it is subnormal.
__device__ inline float power(float a, float b) {
  const float result = _Z3powff(a, b);
  constexpr float least = 0x1p-125f;
  return (result < least) & (result > -least) ? static_cast<float>(_Z3powdd(a, b)) : result;
}
__device__ inline double power(double a, double b) { return _Z3powdd(a, b); }
__device__ inline float modulo_truncate(float a, float b) { return modulo_of_floats(a, b); }
__device__ inline double modulo_truncate(double a, double b) { return _Z4fmoddd(a, b); }

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
