// The words of MFMA are declared only: the host runs wavefronts of 32 lanes.
#pragma once

#include <stdint.h>

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float16 __attribute__((ext_vector_type(16)));

Float16 add_products(float column, float row, Float16 sum);
Float16 add_xf32_products(uint64_t column, uint64_t row, Float16 sum);
Float16 add_float16_products(uint64_t column, uint64_t row, Float16 sum);
Float16 add_bfloat16_products(uint64_t column, uint64_t row, Float16 sum);

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
