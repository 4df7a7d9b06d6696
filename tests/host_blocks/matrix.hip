// One product of tiles for each of the block's eight warps: a [8, 16, k], b [8, 8, k] (by columns), c and d [8, 16, 8].
#include "kernels/hip/wave/wave.h"
#include "matrix.h"

namespace onnxc::kernels {

using host_blocks::MatrixType;

// Rows of eight words, which ldmatrix loads from LDS.
template <class Multiply, class Sum>
void product(const uint32_t* a, const uint32_t* b, const Sum* c, Sum* d, const Multiply& multiply) {
  alignas(16) __shared__ uint32_t rows[8][16][8], columns[8][8][8];
  for (int i = thread_index(); i < 8 * 16 * 8; i += nest_threads) (&rows[0][0][0])[i] = a[i];
  for (int i = thread_index(); i < 8 * 8 * 8; i += nest_threads) (&columns[0][0][0])[i] = b[i];
  barrier();
  const int warp = thread_index() / 32, lane = thread_index() % 32;
  uint32_t row[4], column[4];
  // Matrices of a: rows 0 to 7 and 8 to 15, in the first four words and the last.
  host_blocks::load_matrices(&rows[warp][lane % 16][lane / 16 * 4], row);
  host_blocks::load_matrices(&columns[warp][lane % 8][lane / 8 % 2 * 4], column);
  Sum sums[4];
  const auto place = [&](int i) { return (warp * 16 + lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2; };
  for (int i = 0; i < 4; ++i) sums[i] = c[place(i)];
  const uint32_t pair[2] = {column[0], column[1]};
  multiply(row, pair, sums);
  for (int i = 0; i < 4; ++i) d[place(i)] = sums[i];
}

template <MatrixType type>
void floats(const uint32_t* a, const uint32_t* b, const float* c, float* d) {
  product(a, b, c, d, [](const uint32_t(&row)[4], const uint32_t(&column)[2], float(&sums)[4]) {
    host_blocks::multiply_tiles(type, row, column, sums);
  });
}

extern "C" __global__ __launch_bounds__(nest_threads) void product_f16(const uint32_t* a, const uint32_t* b, const float* c, float* d) { floats<MatrixType::float16>(a, b, c, d); }
extern "C" __global__ __launch_bounds__(nest_threads) void product_bf16(const uint32_t* a, const uint32_t* b, const float* c, float* d) { floats<MatrixType::bfloat16>(a, b, c, d); }
extern "C" __global__ __launch_bounds__(nest_threads) void product_tf32(const uint32_t* a, const uint32_t* b, const float* c, float* d) { floats<MatrixType::tf32>(a, b, c, d); }
template <bool is_a_signed>
void bytes(const uint32_t* a, const uint32_t* b, const int32_t* c, int32_t* d) {
  product(a, b, c, d, [](const uint32_t(&row)[4], const uint32_t(&column)[2], int32_t(&sums)[4]) {
    host_blocks::multiply_tiles(is_a_signed, row, column, sums);
  });
}
extern "C" __global__ __launch_bounds__(nest_threads) void product_s8(const uint32_t* a, const uint32_t* b, const int32_t* c, int32_t* d) { bytes<true>(a, b, c, d); }
extern "C" __global__ __launch_bounds__(nest_threads) void product_u8(const uint32_t* a, const uint32_t* b, const int32_t* c, int32_t* d) { bytes<false>(a, b, c, d); }

}  // namespace onnxc::kernels
