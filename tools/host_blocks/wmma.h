// The matrix unit of AMD's RDNA on the host: v_wmma_f32_16x16x16 of 16-bit types and v_wmma_i32_16x16x16_iu8, with the
// lanes of the RDNA3 and RDNA4 ISA guides, "Wave Matrix Multiply Accumulate".
//
// A sum is that of 16 products and an addend, rounded to float32 once. How the hardware rounds is not published.
#pragma once

#include "matrix.h"

namespace onnxc::host_blocks {

// `words`: the calling lane's `count` words of a [16, k], and as many of b [16, k]. Its eight results are of one row of
// b. If a lane has all 16 elements of its rows it is RDNA3's, and the lane 16 further must have the same; else RDNA4's.
void multiply_halves(MatrixType type, const uint32_t* words, int count, float* sums);
// The same of bytes, which are signed in a, and in b if that is said.
void multiply_bytes(bool is_b_signed, const uint32_t* words, int count, int32_t* sums);

}  // namespace onnxc::host_blocks
