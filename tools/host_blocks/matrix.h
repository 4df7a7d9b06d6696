// The matrix unit of NVIDIA's GPUs on the host: mma.sync of a warp, to the bit.
//
// One result is the sum of an addend and `depth` products. The unit takes 16 bytes of either operand at once on Ampere,
// 32 on Hopper. It cuts each term to a unit that is 24 or 25 bits below the largest exponent among them. It adds these
// exactly and cuts the result to float32. Source: MMA-Sim (Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor
// Cores and Matrix Cores"), against which tests/host_blocks/test_matrix.py compares.
#pragma once

#include <cstdint>

namespace onnxc::host_blocks {

struct MatrixArithmetic {
  int fraction_bits;  // kept below the largest exponent
  int group_bytes;    // of a row that are multiplied at once
  int zero_exponent;  // that a term of 0 counts with
};
inline constexpr MatrixArithmetic ampere{24, 16, -132}, hopper{25, 32, -133};

enum class MatrixType { float16, bfloat16, tf32, int8 };

// Words (32 bits) of a row of either operand: 16 halves, 8 TF32 or 32 bytes.
inline constexpr int operand_words = 8;

// significand * 2^(exponent - bits). An infinity or NaN has a value only.
struct Term {
  int64_t significand;
  int exponent, bits;
  float special;
  bool is_special;
};
// A row of an operand, decoded once for all of its sums.
struct OperandRow {
  Term terms[2 * operand_words];
  int count = 0;
};
OperandRow decoded_row(MatrixType type, const uint32_t (&words)[operand_words]);

// addend + the products of two rows.
float sum_of_products(MatrixArithmetic arithmetic, const OperandRow& a, const OperandRow& b, float addend);
float sum_of_products(MatrixArithmetic arithmetic, MatrixType type, const uint32_t (&a)[operand_words],
                      const uint32_t (&b)[operand_words], float addend);
// The same of bytes, which are signed in b, and in a if that is said.
int32_t sum_of_products(bool is_a_signed, const uint32_t (&a)[operand_words], const uint32_t (&b)[operand_words],
                        int32_t addend);

// mma.sync.aligned.m16n8k16 (float16, bfloat16), .m16n8k8 (TF32) and .m16n8k32 (bytes): the calling lane's words of
// a [16, k] and b [k, 8] and its four sums of [16, 8]. PTX ISA, "Matrix Fragments for mma".
void multiply_tiles(MatrixType type, const uint32_t (&a)[4], const uint32_t (&b)[2], float (&sums)[4]);
void multiply_tiles(bool is_a_signed, const uint32_t (&a)[4], const uint32_t (&b)[2], int32_t (&sums)[4]);

// ldmatrix.sync.aligned.m8n8.x4: lanes 8 i to 8 i + 7 point to the rows, of 16 bytes, of matrix i.
void load_matrices(const void* row, uint32_t (&words)[4]);

}  // namespace onnxc::host_blocks
