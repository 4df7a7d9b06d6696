// Every matrix instruction against a triple loop over matrices that are laid out by the formulas of AMD's matrix
// instruction calculator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "gfx942sim/kernel_tools.h"

namespace gfx942sim {
namespace {

// How an element of A or B is stored, and small values that it holds exactly.
struct ElementType {
  int bits;
  std::function<uint64_t(int)> encode;
};

uint64_t encode_float(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); }
uint64_t encode_half(int value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
uint64_t encode_bfloat16(int value) { return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16; }
uint64_t encode_byte(int value) { return static_cast<uint8_t>(value); }
uint64_t encode_double(int value) { return std::bit_cast<uint64_t>(static_cast<double>(value)); }
// Integers up to 4 in size, by hand from the formats' tables: 1.0 has the exponent's bias, no fraction.
uint64_t encode_fp8(int value) {
  constexpr uint8_t magnitudes[] = {0x00, 0x40, 0x48, 0x4c, 0x50};
  return magnitudes[std::abs(value)] | (value < 0 ? 0x80 : 0);
}
uint64_t encode_bf8(int value) {
  constexpr uint8_t magnitudes[] = {0x00, 0x40, 0x44, 0x46, 0x48};
  return magnitudes[std::abs(value)] | (value < 0 ? 0x80 : 0);
}

struct MatrixCase {
  const char* instruction;
  int size, depth, blocks;
  ElementType a, b;
  bool is_double = false, is_integer = false;
};

const ElementType single{32, encode_float}, half{16, encode_half}, brain{16, encode_bfloat16}, byte{8, encode_byte},
    fp8{8, encode_fp8}, bf8{8, encode_bf8}, wide{64, encode_double};

const MatrixCase cases[] = {
    {"v_mfma_f32_32x32x2_f32", 32, 2, 1, single, single},
    {"v_mfma_f32_16x16x4_f32", 16, 4, 1, single, single},
    {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, single, single},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, single, single},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, single, single},
    {"v_mfma_f32_32x32x4_xf32", 32, 4, 1, single, single},
    {"v_mfma_f32_16x16x8_xf32", 16, 8, 1, single, single},
    {"v_mfma_f32_32x32x8_f16", 32, 8, 1, half, half},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 1, half, half},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, half, half},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, half, half},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, half, half},
    {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, brain, brain},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, brain, brain},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, brain, brain},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, brain, brain},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, brain, brain},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, fp8, fp8},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, fp8, bf8},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1, bf8, fp8},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1, bf8, bf8},
    {"v_mfma_i32_32x32x16_i8", 32, 16, 1, byte, byte, false, true},
    {"v_mfma_i32_16x16x32_i8", 16, 32, 1, byte, byte, false, true},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, byte, byte, false, true},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, byte, byte, false, true},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, byte, byte, false, true},
    {"v_mfma_f64_16x16x4_f64", 16, 4, 1, wide, wide, true},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, wide, wide, true},
};

// Lane and element (within the lane) of A[i][k] or B[k][i] of a block.
std::pair<int, int> factor_place(const MatrixCase& shape, int i, int k, int block) {
  const int lane_groups = 64 / shape.size, per_lane = shape.depth * shape.blocks / lane_groups;
  return {shape.size * block + shape.size * shape.blocks * (k / per_lane) + i, k % per_lane};
}

// Lane and value (within the lane) of D[i][j] of a block.
std::pair<int, int> result_place(const MatrixCase& shape, int i, int j, int block) {
  if (shape.is_double)
    return shape.size == 16 ? std::pair{16 * (i % 4) + j, i / 4} : std::pair{16 * (i % 4) + 4 * block + j, 0};
  switch (shape.size) {
    case 32:
      return {32 * (i / 4) % 64 + j, 16 * block + 4 * (i / 8) + i % 4};
    case 16:
      return {16 * (i / 4) + j, 4 * block + i % 4};
    default:
      return {4 * block + j, i};
  }
}

struct Registers {
  int a, b, c;  // 32-bit words of each lane
};

Registers registers_of(const MatrixCase& shape) {
  const int elements = shape.size * shape.depth * shape.blocks / 64;
  const int results = shape.size * shape.size * shape.blocks / 64;
  return {std::max(1, elements * shape.a.bits / 32), std::max(1, elements * shape.b.bits / 32),
          results * (shape.is_double ? 2 : 1)};
}

std::string range(char file, int first, int count) {
  return count == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

// Loads A, B and C word by word (64 lanes a word), multiplies, and stores D in the same way.
AssemblyKernel kernel_of(const MatrixCase& shape, int index) {
  const Registers count = registers_of(shape);
  std::string body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";
  int word = 0;
  auto load = [&](char file, int first, int words) {
    for (int i = 0; i < words; ++i)
      body += fmt::format("global_load_dword {}{}, v1, s[4:5]\nv_add_u32 v1, 0x100, v1\n", file, first + i), ++word;
  };
  // C and D lie in accumulators or in vector registers, as compilers use both.
  const char file = index % 2 ? 'a' : 'v';
  const int result = file == 'a' ? 0 : 32;
  load('v', 2, count.a);
  load('v', 16, count.b);
  load(file, result, count.c);
  body += "s_waitcnt vmcnt(0)\n";
  body += fmt::format("{0} {1}, {2}, {3}, {1}\n", shape.instruction, range(file, result, count.c),
                      range('v', 2, count.a), range('v', 16, count.b));
  body += "s_nop 15\ns_nop 15\nv_lshlrev_b32 v1, 2, v0\n";
  for (int i = 0; i < count.c; ++i)
    body += fmt::format("global_store_dword v1, {}{}, s[6:7]\nv_add_u32 v1, 0x100, v1\n", file, result + i);
  return {fmt::format("matrix_{}", index), body};
}

class Matrix : public testing::Test {
 protected:
  static Device& device() {
    static Device shared = [] {
      std::vector<AssemblyKernel> kernels;
      for (size_t i = 0; i < std::size(cases); ++i) kernels.push_back(kernel_of(cases[i], static_cast<int>(i)));
      return Device(assemble(kernels));
    }();
    return shared;
  }
};

void put(std::vector<uint32_t>& words, int first_word, int lane, int element, int bits, uint64_t value) {
  const int bit = element * bits;
  uint32_t& word = words[static_cast<size_t>((first_word + bit / 32) * 64 + lane)];
  if (bits == 64)
    words[static_cast<size_t>((first_word + bit / 32 + 1) * 64 + lane)] = static_cast<uint32_t>(value >> 32);
  word = bits >= 32 ? static_cast<uint32_t>(value) : word | static_cast<uint32_t>(value << bit % 32);
}

uint64_t encode_result(const MatrixCase& shape, int64_t value) {
  if (shape.is_double) return encode_double(static_cast<int>(value));
  return shape.is_integer ? static_cast<uint32_t>(value) : encode_float(static_cast<int>(value));
}

TEST_F(Matrix, EqualsATripleLoopOnSmallIntegers) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> factor(-4, 4), addend(-100, 100);
  for (size_t index = 0; index < std::size(cases); ++index) {
    const MatrixCase& shape = cases[index];
    SCOPED_TRACE(shape.instruction);
    const Registers count = registers_of(shape);
    std::vector<uint32_t> input(static_cast<size_t>(64 * (count.a + count.b + count.c)), 0);
    std::vector<uint32_t> expected(static_cast<size_t>(64 * count.c), 0);
    const int result_bits = shape.is_double ? 64 : 32;
    for (int block = 0; block < shape.blocks; ++block) {
      std::vector<int> a(static_cast<size_t>(shape.size * shape.depth)), b(a.size());
      for (int i = 0; i < shape.size; ++i)
        for (int k = 0; k < shape.depth; ++k) {
          const auto [lane, element] = factor_place(shape, i, k, block);
          put(input, 0, lane, element, shape.a.bits,
              shape.a.encode(a[static_cast<size_t>(i * shape.depth + k)] = factor(random)));
          put(input, count.a, lane, element, shape.b.bits,
              shape.b.encode(b[static_cast<size_t>(i * shape.depth + k)] = factor(random)));
        }
      for (int i = 0; i < shape.size; ++i)
        for (int j = 0; j < shape.size; ++j) {
          int64_t sum = addend(random);
          const auto [lane, element] = result_place(shape, i, j, block);
          put(input, count.a + count.b, lane, element, result_bits, encode_result(shape, sum));
          for (int k = 0; k < shape.depth; ++k)
            sum += a[static_cast<size_t>(i * shape.depth + k)] * b[static_cast<size_t>(j * shape.depth + k)];
          put(expected, 0, lane, element, result_bits, encode_result(shape, sum));
        }
    }
    const uint64_t in = device().upload(input), out = device().reserve<uint32_t>(expected.size());
    device().run(fmt::format("matrix_{}", index), 1, 64, in, out);
    EXPECT_EQ(device().download<uint32_t>(out, expected.size()), expected);
  }
}

// A sparse product: A is stored as pairs of each four k, with their places. The set of indices that abid chooses holds
// the places; the others are filled with ones that would be wrong.
struct SparseCase {
  const char* instruction;
  int size, depth;  // of B
  ElementType a, b;
  const char* modifiers;
  int chosen;  // the set of indices
  bool is_integer = false;
};

const SparseCase sparse_cases[] = {
    {"v_smfmac_f32_16x16x32_f16", 16, 32, half, half, "", 0},
    {"v_smfmac_f32_16x16x32_f16", 16, 32, half, half, "abid:3", 3},
    {"v_smfmac_f32_16x16x32_f16", 16, 32, half, half, "cbsz:1 abid:3", 0},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, half, half, "abid:1", 1},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, brain, brain, "", 0},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, brain, brain, "abid:2", 2},
    {"v_smfmac_i32_16x16x64_i8", 16, 64, byte, byte, "abid:1", 1, true},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, byte, byte, "", 0, true},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, fp8, fp8, "", 0},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, fp8, bf8, "abid:1", 1},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, bf8, fp8, "", 0},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, bf8, bf8, "abid:1", 1},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, fp8, fp8, "", 0},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, fp8, bf8, "abid:1", 1},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, bf8, fp8, "", 0},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, bf8, bf8, "abid:1", 1},
};

TEST(SparseMatrix, EqualsATripleLoopOnSmallIntegers) {
  std::mt19937 random(2);
  std::uniform_int_distribution<int> factor(-4, 4), addend(-100, 100), place(0, 3);
  for (const SparseCase& shape : sparse_cases) {
    SCOPED_TRACE(std::string(shape.instruction) + " " + shape.modifiers);
    const MatrixCase dense{shape.instruction, shape.size, shape.depth, 1, shape.a, shape.b, false, shape.is_integer};
    const int per_lane = shape.size * shape.depth / 64, stored = per_lane / 2;
    const int a_words = stored * shape.a.bits / 32, b_words = per_lane * shape.b.bits / 32;
    const int c_words = shape.size * shape.size / 64;
    std::vector<uint32_t> input(static_cast<size_t>(64 * (a_words + b_words + 1 + c_words)), 0);
    std::vector<uint32_t> expected(static_cast<size_t>(64 * c_words), 0);
    std::vector<int> a(static_cast<size_t>(shape.size * shape.depth), 0), b(a.size());
    for (int lane = 0; lane < 64; ++lane) {
      const int i = lane % shape.size, first_k = lane / shape.size * per_lane;
      uint64_t indices = 0;
      for (int pair = 0; pair < stored / 2; ++pair) {
        int places[2] = {place(random), place(random)};
        while (places[1] == places[0]) places[1] = place(random);
        for (int e = 0; e < 2; ++e) {
          const int value = factor(random), element = 2 * pair + e;
          a[static_cast<size_t>(i * shape.depth + first_k + 4 * pair + places[e])] = value;
          put(input, 0, lane, element, shape.a.bits, shape.a.encode(value));
          indices |= static_cast<uint64_t>(places[e]) << (2 * element);
        }
      }
      const int index_bits = 2 * stored;
      const uint64_t set = (uint64_t{1} << index_bits) - 1;
      uint64_t all = 0;
      for (int i_set = 0; i_set < 32 / index_bits; ++i_set)
        all |= (i_set == shape.chosen ? indices : ~indices & set) << (i_set * index_bits);
      put(input, a_words + b_words, lane, 0, 32, all);
    }
    for (int j = 0; j < shape.size; ++j)
      for (int k = 0; k < shape.depth; ++k) {
        const auto [lane, element] = factor_place(dense, j, k, 0);
        put(input, a_words, lane, element, shape.b.bits,
            shape.b.encode(b[static_cast<size_t>(j * shape.depth + k)] = factor(random)));
      }
    for (int i = 0; i < shape.size; ++i)
      for (int j = 0; j < shape.size; ++j) {
        int64_t sum = addend(random);
        const auto [lane, element] = result_place(dense, i, j, 0);
        put(input, a_words + b_words + 1, lane, element, 32, encode_result(dense, sum));
        for (int k = 0; k < shape.depth; ++k)
          sum += a[static_cast<size_t>(i * shape.depth + k)] * b[static_cast<size_t>(j * shape.depth + k)];
        put(expected, 0, lane, element, 32, encode_result(dense, sum));
      }

    std::string body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n";
    auto load = [&](int first, int words) {
      for (int i = 0; i < words; ++i)
        body += fmt::format("global_load_dword v{}, v1, s[4:5]\nv_add_u32 v1, 0x100, v1\n", first + i);
    };
    load(2, a_words);
    load(16, b_words);
    load(10, 1);
    load(32, c_words);
    body += fmt::format("s_waitcnt vmcnt(0)\n{} {}, {}, {}, v10 {}\n", shape.instruction, range('v', 32, c_words),
                        range('v', 2, a_words), range('v', 16, b_words), shape.modifiers);
    body += "s_nop 15\ns_nop 15\nv_lshlrev_b32 v1, 2, v0\n";
    for (int i = 0; i < c_words; ++i)
      body += fmt::format("global_store_dword v1, v{}, s[6:7]\nv_add_u32 v1, 0x100, v1\n", 32 + i);
    Device device(assemble({{"sparse", body}}));
    const uint64_t in = device.upload(input), out = device.reserve<uint32_t>(expected.size());
    device.run("sparse", 1, 64, in, out);
    EXPECT_EQ(device.download<uint32_t>(out, expected.size()), expected);
  }
}

}  // namespace
}  // namespace gfx942sim
