// The elementary functions of wave/elementary.h from OCML, the math library of AMD's device libraries (Debian:
// rocm-device-libs), as bitcode that clang links into each code object.
#pragma once

extern "C" {
__device__ float __ocml_exp_f32(float);
__device__ double __ocml_exp_f64(double);
__device__ float __ocml_log_f32(float);
__device__ double __ocml_log_f64(double);
__device__ float __ocml_sqrt_f32(float);
__device__ double __ocml_sqrt_f64(double);
__device__ float __ocml_sin_f32(float);
__device__ double __ocml_sin_f64(double);
__device__ float __ocml_cos_f32(float);
__device__ double __ocml_cos_f64(double);
__device__ float __ocml_tan_f32(float);
__device__ double __ocml_tan_f64(double);
__device__ float __ocml_asin_f32(float);
__device__ double __ocml_asin_f64(double);
__device__ float __ocml_acos_f32(float);
__device__ double __ocml_acos_f64(double);
__device__ float __ocml_atan_f32(float);
__device__ double __ocml_atan_f64(double);
__device__ float __ocml_sinh_f32(float);
__device__ double __ocml_sinh_f64(double);
__device__ float __ocml_cosh_f32(float);
__device__ double __ocml_cosh_f64(double);
__device__ float __ocml_tanh_f32(float);
__device__ double __ocml_tanh_f64(double);
__device__ float __ocml_asinh_f32(float);
__device__ double __ocml_asinh_f64(double);
__device__ float __ocml_acosh_f32(float);
__device__ double __ocml_acosh_f64(double);
__device__ float __ocml_atanh_f32(float);
__device__ double __ocml_atanh_f64(double);
__device__ float __ocml_erf_f32(float);
__device__ double __ocml_erf_f64(double);
__device__ float __ocml_pow_f32(float, float);
__device__ double __ocml_pow_f64(double, double);
__device__ float __ocml_fmod_f32(float, float);
__device__ double __ocml_fmod_f64(double, double);
}

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

__device__ inline float exponential(float a) { return __ocml_exp_f32(a); }
__device__ inline double exponential(double a) { return __ocml_exp_f64(a); }
__device__ inline float logarithm(float a) { return __ocml_log_f32(a); }
__device__ inline double logarithm(double a) { return __ocml_log_f64(a); }
__device__ inline float square_root(float a) { return __ocml_sqrt_f32(a); }
__device__ inline double square_root(double a) { return __ocml_sqrt_f64(a); }
__device__ inline float sine(float a) { return __ocml_sin_f32(a); }
__device__ inline double sine(double a) { return __ocml_sin_f64(a); }
__device__ inline float cosine(float a) { return __ocml_cos_f32(a); }
__device__ inline double cosine(double a) { return __ocml_cos_f64(a); }
__device__ inline float tangent(float a) { return __ocml_tan_f32(a); }
__device__ inline double tangent(double a) { return __ocml_tan_f64(a); }
__device__ inline float arc_sine(float a) { return __ocml_asin_f32(a); }
__device__ inline double arc_sine(double a) { return __ocml_asin_f64(a); }
__device__ inline float arc_cosine(float a) { return __ocml_acos_f32(a); }
__device__ inline double arc_cosine(double a) { return __ocml_acos_f64(a); }
__device__ inline float arc_tangent(float a) { return __ocml_atan_f32(a); }
__device__ inline double arc_tangent(double a) { return __ocml_atan_f64(a); }
__device__ inline float hyperbolic_sine(float a) { return __ocml_sinh_f32(a); }
__device__ inline double hyperbolic_sine(double a) { return __ocml_sinh_f64(a); }
__device__ inline float hyperbolic_cosine(float a) { return __ocml_cosh_f32(a); }
__device__ inline double hyperbolic_cosine(double a) { return __ocml_cosh_f64(a); }
__device__ inline float hyperbolic_tangent(float a) { return __ocml_tanh_f32(a); }
__device__ inline double hyperbolic_tangent(double a) { return __ocml_tanh_f64(a); }
__device__ inline float arc_hyperbolic_sine(float a) { return __ocml_asinh_f32(a); }
__device__ inline double arc_hyperbolic_sine(double a) { return __ocml_asinh_f64(a); }
__device__ inline float arc_hyperbolic_cosine(float a) { return __ocml_acosh_f32(a); }
__device__ inline double arc_hyperbolic_cosine(double a) { return __ocml_acosh_f64(a); }
__device__ inline float arc_hyperbolic_tangent(float a) { return __ocml_atanh_f32(a); }
__device__ inline double arc_hyperbolic_tangent(double a) { return __ocml_atanh_f64(a); }
__device__ inline float error_function(float a) { return __ocml_erf_f32(a); }
__device__ inline double error_function(double a) { return __ocml_erf_f64(a); }

__device__ inline float power(float a, float b) { return __ocml_pow_f32(a, b); }
__device__ inline double power(double a, double b) { return __ocml_pow_f64(a, b); }
__device__ inline float modulo_truncate(float a, float b) { return __ocml_fmod_f32(a, b); }
__device__ inline double modulo_truncate(double a, double b) { return __ocml_fmod_f64(a, b); }

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
