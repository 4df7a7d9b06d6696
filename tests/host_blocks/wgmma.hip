// A product of each of the block's two warpgroups: a [2, 64, 8 words], b [2, columns, 8 words] (by columns), c and d [2,
// 64, columns]. Operands lie in the half `half` of rows of 64 bytes. If it is in_lines, rows lie without a swizzle, and
// if it is exchanged their descriptor has its two strides the wrong way round.
#include "kernels/hip/nvidia/wgmma_words.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels {

using host_blocks::MatrixType;

constexpr int group_bytes = 32 * 1024, factors_at = 8 * 1024;
constexpr int in_lines = 2, exchanged = 3;

// Of rows that follow one another, eight after eight.
uint64_t descriptor(LdsAddress first) {
  return uint64_t{2} << 62 | uint64_t{512 / 16} << 32 | uint64_t{1} << 16 | first / 16;
}

// A row is four chunks of 16 bytes, whose order changes every second row.
void store(char* matrix, int rows, const uint32_t* words, int half) {
  for (int i = thread_index() % 128; i < rows * 8; i += 128) {
    const int row = i / 8, chunk = 2 * half + i % 8 / 4;
    reinterpret_cast<uint32_t*>(matrix + row * 64 + (chunk ^ row / 2 % 4) * 16)[i % 4] = words[i];
  }
}

// Without a swizzle: eight rows follow one another, 16 bytes each; the next eight are a line further, the other 16 bytes
// of each row a plane. As in the halo of a brick of voxels, lines are longer than eight rows, and begin anywhere.
constexpr int line_bytes = 10 * 16, plane_bytes = 8 * line_bytes + 32, first_row_at = 48;
uint64_t descriptor_of_lines(LdsAddress first, bool is_exchanged) {
  const uint64_t next_chunk = (is_exchanged ? line_bytes : plane_bytes) / 16, next_line = (is_exchanged ? plane_bytes : line_bytes) / 16;
  return next_line << 32 | next_chunk << 16 | (first + first_row_at) / 16;
}
void store_lines(char* matrix, const uint32_t* words) {
  for (int i = thread_index() % 128; i < 64 * 8; i += 128) {
    const int row = i / 8;
    reinterpret_cast<uint32_t*>(matrix + first_row_at + row / 8 * line_bytes + row % 8 * 16 + i % 8 / 4 * plane_bytes)[i % 4] = words[i];
  }
}

// What a kernel may forget.
enum Fault { no_fault, no_fence, no_show, no_wait, early_write };

template <int columns, MatrixType type>
void product(const uint32_t* a, const uint32_t* b, const float* c, float* d, int layout, int fault = no_fault) {
  const bool are_in_lines = layout == in_lines || layout == exchanged;
  const int half = are_in_lines ? 0 : layout;
  const int group = thread_index() / 128, warp = thread_index() / 32 % 4, lane = thread_index() % 32;
  char* const rows = launch_lds() + group * group_bytes;
  char* const factors = rows + factors_at;
  if (are_in_lines)
    store_lines(rows, a + group * 64 * 8);
  else
    store(rows, 64, a + group * 64 * 8, half);
  store(factors, columns, b + group * columns * 8, half);
  barrier();
  float sums[columns / 8][4];
  const auto place = [&](int j, int e) {
    return (group * 64 + warp * 16 + lane / 4 + e / 2 * 8) * columns + j * 8 + lane % 4 * 2 + e % 2;
  };
  for (int j = 0; j < columns / 8; ++j)
    for (int e = 0; e < 4; ++e) sums[j][e] = c[place(j, e)];
  const uint64_t row = are_in_lines ? descriptor_of_lines(lds_address(rows), layout == exchanged) : descriptor(lds_address(rows)) + 2 * half,
                 factor = descriptor(lds_address(factors)) + 2 * half;
  if (fault == no_show) {
    copy_to_lds<true>(lds_address(launch_lds() + 2 * group_bytes), a, true);
    end_copies();
    wait_for_copies<0>();
    barrier();
  }
  if (fault != no_fence) begin_products();
  if constexpr (type == MatrixType::tf32) {
    if (are_in_lines) {
      start_tf32_products(sums, row, factor);
    } else {
    FourWords words;
    for (int word = 0; word < 4; ++word)
      words[word] = a[(group * 64 + warp * 16 + lane / 4 + word % 2 * 8) * 8 + lane % 4 + word / 2 * 4];
    start_tf32_products(sums, words, factor);
    }
  } else if constexpr (type == MatrixType::float16) {
    start_float16_products(sums, row, factor);
  } else {
    start_bfloat16_products(sums, row, factor);
  }
  end_products();
  if (fault == early_write && thread_index() % 128 == 0) factors[half] = 1;
  if (fault == no_wait)
    wait_for_products<1>();
  else
    wait_for_products<0>();
  settle(sums);
  for (int j = 0; j < columns / 8; ++j)
    for (int e = 0; e < 4; ++e) d[place(j, e)] = sums[j][e];
}

extern "C" __global__ __launch_bounds__(nest_threads) void f16_32(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<32, MatrixType::float16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void f16_48(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<48, MatrixType::float16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void f16_64(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<64, MatrixType::float16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void f16_128(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<128, MatrixType::float16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void bf16_32(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<32, MatrixType::bfloat16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void bf16_48(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<48, MatrixType::bfloat16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void bf16_64(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<64, MatrixType::bfloat16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void bf16_128(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<128, MatrixType::bfloat16>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void tf32_32(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<32, MatrixType::tf32>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void tf32_48(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<48, MatrixType::tf32>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void tf32_64(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<64, MatrixType::tf32>(a, b, c, d, half); }
extern "C" __global__ __launch_bounds__(nest_threads) void tf32_128(const uint32_t* a, const uint32_t* b, const float* c, float* d, int half) { product<128, MatrixType::tf32>(a, b, c, d, half); }

// One sum of each thread, of products of ones.
extern "C" __global__ __launch_bounds__(nest_threads) void faulty(float* output, int fault) {
  static uint32_t ones[2 * 64 * 8];
  static float zeros[2 * 64 * 32], sums[2 * 64 * 32];
  for (uint32_t& word : ones) word = 0x3c003c00u;
  product<32, MatrixType::float16>(ones, ones, zeros, sums, 0, fault);
  barrier();
  output[thread_index()] = sums[thread_index() * 16];
}

extern "C" __global__ __launch_bounds__(nest_threads) void at_place(float* output, int place) {
  reinterpret_cast<float*>(launch_lds())[place] = 1.0f;
  barrier();
  output[thread_index()] = load_from_lds<float>(lds_address(launch_lds()) + static_cast<LdsAddress>(4 * place));
}

}  // namespace onnxc::kernels
