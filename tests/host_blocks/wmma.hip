// One product of WMMA for each of the block's eight wavefronts: a [8, 16, 16], b [8, 16, 16] (by columns), c and d [8, 16, 16].
// Lanes as the ISA guides of RDNA3 and RDNA4 have them.
#include "kernels/hip/amd/wmma_words.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels {

inline constexpr bool is_whole = own_gpu.matrix_unit == machine::MatrixUnit::wmma;

// `bytes`: of 16 elements.
template <int bytes, class Sums, class Sum, class Multiply>
void product(const uint32_t* a, const uint32_t* b, const Sum* c, Sum* d, const Multiply& multiply) {
  constexpr int count = (is_whole ? bytes : bytes / 2) / 4;
  typedef uint32_t Words __attribute__((ext_vector_type(count)));
  const int wave = thread_index() / 32, lane = thread_index() % 32, own = lane % 16, half = lane / 16;
  Words column, row;
  for (int i = 0; i < count; ++i) {
    const int word = (wave * 16 + own) * (bytes / 4) + (is_whole ? i : half * count + i);
    column[i] = a[word];
    row[i] = b[word];
  }
  const auto place = [&](int r) { return (wave * 16 + (is_whole ? 2 * r + half : half * 8 + r)) * 16 + own; };
  Sums sums;
  for (int r = 0; r < 8; ++r) sums[r] = c[place(r)];
  sums = multiply(column, row, sums);
  for (int r = 0; r < 8; ++r) d[place(r)] = sums[r];
}

extern "C" __global__ __launch_bounds__(nest_threads) void product_f16(const uint32_t* a, const uint32_t* b, const float* c, float* d) {
  product<32, Float8>(a, b, c, d, [](auto column, auto row, Float8 sums) { return add_float16_products(column, row, sums); });
}
extern "C" __global__ __launch_bounds__(nest_threads) void product_bf16(const uint32_t* a, const uint32_t* b, const float* c, float* d) {
  product<32, Float8>(a, b, c, d, [](auto column, auto row, Float8 sums) { return add_bfloat16_products(column, row, sums); });
}
extern "C" __global__ __launch_bounds__(nest_threads) void product_s8(const uint32_t* a, const uint32_t* b, const int32_t* c, int32_t* d) {
  product<16, Int8>(a, b, c, d, [](auto column, auto row, Int8 sums) { return add_byte_products<true>(column, row, sums); });
}
extern "C" __global__ __launch_bounds__(nest_threads) void product_u8(const uint32_t* a, const uint32_t* b, const int32_t* c, int32_t* d) {
  product<16, Int8>(a, b, c, d, [](auto column, auto row, Int8 sums) { return add_byte_products<false>(column, row, sums); });
}
// Lanes that should have the same row have others.
extern "C" __global__ __launch_bounds__(nest_threads) void unequal(float* d) {
  typedef uint32_t Words __attribute__((ext_vector_type(8)));
  d[thread_index()] = add_float16_products(Words(uint32_t(thread_index() % 32)), Words(0u), Float8(0.0f))[0];
}

}  // namespace onnxc::kernels
