#include "matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "block.h"
#include "machine/gpu_machine.h"

namespace onnxc::host_blocks {
namespace {

struct Format {
  int exponent_bits, fraction_bits;
};
constexpr Format half_format{5, 10}, bfloat16_format{8, 7}, float_format{8, 23};

// The value that the low bits of `word` hold; of TF32 only the upper bits count.
Term decoded(uint32_t word, Format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint32_t fraction = word & ((1u << format.fraction_bits) - 1);
  const int stored = static_cast<int>(word >> format.fraction_bits & ((1u << format.exponent_bits) - 1));
  const bool is_negative = (word >> (format.fraction_bits + format.exponent_bits) & 1) != 0;
  Term term{};
  term.bits = format.fraction_bits;
  if (stored == (1 << format.exponent_bits) - 1) {
    term.is_special = true;
    term.special = fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    if (is_negative) term.special = -term.special;
    return term;
  }
  const int64_t magnitude = fraction + (stored == 0 ? 0u : 1u << format.fraction_bits);
  term.significand = is_negative ? -magnitude : magnitude;
  term.exponent = std::max(stored, 1) - bias;
  return term;
}

float value_of(const Term& term) {
  return term.is_special ? term.special
                         : static_cast<float>(
                               std::copysign(term.significand != 0 ? 1.0 : 0.0, static_cast<double>(term.significand)));
}

Term product(const Term& a, const Term& b) {
  if (a.is_special || b.is_special) return {.special = value_of(a) * value_of(b), .is_special = true};
  return {a.significand * b.significand, a.exponent + b.exponent, a.bits + b.bits, 0, false};
}

int elements_a_word(MatrixType type) { return type == MatrixType::tf32 ? 1 : 2; }

Term element(MatrixType type, uint32_t word, int index) {
  if (type == MatrixType::tf32) return decoded(word & ~0x1fffu, float_format);
  const uint32_t half = word >> 16 * index & 0xffffu;
  return decoded(half, type == MatrixType::float16 ? half_format : bfloat16_format);
}

// sum * 2^exponent, cut to float32.
float cut(int64_t sum, int exponent) {
  if (sum == 0) return 0.0f;
  const bool is_negative = sum < 0;
  uint64_t magnitude = is_negative ? 0 - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum);
  // No more than 24 bits, and none below 2^-149.
  const int excess = std::max(64 - std::countl_zero(magnitude) - 24, -149 - exponent);
  if (excess >= 64) return is_negative ? -0.0f : 0.0f;
  if (excess > 0) {
    magnitude >>= excess;
    exponent += excess;
  }
  const auto value = static_cast<float>(std::ldexp(static_cast<double>(magnitude), exponent));
  return is_negative ? -value : value;
}

constexpr float canonical_nan() { return std::bit_cast<float>(0x7fffffffu); }

constexpr int most_terms = 17;

float add_group(MatrixArithmetic arithmetic, const Term* terms, int count) {
  float special = 0;
  bool has_special = false;
  int largest = std::numeric_limits<int>::min();
  for (int i = 0; i < count; ++i) {
    const Term& term = terms[i];
    if (term.is_special) {
      special = has_special ? special + term.special : term.special;
      has_special = true;
    }
    largest = std::max(largest, term.significand == 0 ? arithmetic.zero_exponent : term.exponent);
  }
  if (has_special) return std::isnan(special) ? canonical_nan() : special;
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const Term& term = terms[i];
    if (term.significand == 0) continue;  // its exponent may be above the largest
    const int shift = arithmetic.fraction_bits - term.bits + term.exponent - largest;
    const int64_t magnitude = std::abs(term.significand);
    const int64_t kept = shift >= 0 ? magnitude << shift : shift > -63 ? magnitude >> -shift : 0;
    sum += term.significand < 0 ? -kept : kept;
  }
  return cut(sum, largest - arithmetic.fraction_bits) + 0.0f;
}

constexpr MatrixArithmetic arithmetic_of(const machine::GpuMachine& gpu) {
  return gpu.compute_capability >= 90 ? hopper : ampere;
}

// The words of a row of a, or of a column of b, from all lanes. Word w of row r is in lane 4 (r % 8) + w % 4: the lower
// four words in register `first`, the upper four in `second`.
void gather(const Exchanged& lanes, int row, int first, int second, uint32_t (&words)[operand_words]) {
  for (int word = 0; word < operand_words; ++word)
    words[word] = lanes.words[row % 8 * 4 + word % 4][word < 4 ? first : second];
}

template <class T, class Sum>
void multiply(const char* word, const uint32_t (&a)[4], const uint32_t (&b)[2], T (&sums)[4], const Sum& sum) {
  const uint32_t own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  const Exchanged& lanes = exchange(word, own, 6);
  const int lane = static_cast<int>(thread_index()) % warp_lanes;
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    uint32_t of_row[operand_words], of_column[operand_words];
    gather(lanes, row, row < 8 ? 0 : 1, row < 8 ? 2 : 3, of_row);
    gather(lanes, column, 4, 5, of_column);
    sums[i] = sum(of_row, of_column, sums[i]);
  }
}

}  // namespace

OperandRow decoded_row(MatrixType type, const uint32_t (&words)[operand_words]) {
  OperandRow row;
  for (const uint32_t word : words)
    for (int i = 0; i < elements_a_word(type); ++i) row.terms[row.count++] = element(type, word, i);
  return row;
}

float sum_of_products(MatrixArithmetic arithmetic, const OperandRow& a, const OperandRow& b, float addend) {
  const int groups = std::max(operand_words * 4 / arithmetic.group_bytes, 1), each = a.count / groups;
  float sum = addend;
  for (int first = 0; first < a.count; first += each) {
    Term terms[most_terms];
    for (int i = 0; i < each; ++i) terms[i] = product(a.terms[first + i], b.terms[first + i]);
    terms[each] = decoded(std::bit_cast<uint32_t>(sum), float_format);
    sum = add_group(arithmetic, terms, each + 1);
  }
  return sum;
}

float sum_of_products(MatrixArithmetic arithmetic, MatrixType type, const uint32_t (&a)[operand_words],
                      const uint32_t (&b)[operand_words], float addend) {
  return sum_of_products(arithmetic, decoded_row(type, a), decoded_row(type, b), addend);
}

int32_t sum_of_products(bool is_a_signed, const uint32_t (&a)[operand_words], const uint32_t (&b)[operand_words],
                        int32_t addend) {
  auto sum = static_cast<uint32_t>(addend);  // wraps around
  for (int word = 0; word < operand_words; ++word)
    for (int shift = 0; shift < 32; shift += 8) {
      const auto byte = static_cast<uint8_t>(a[word] >> shift);
      const int factor = is_a_signed ? static_cast<int8_t>(byte) : byte;
      sum += static_cast<uint32_t>(factor * static_cast<int8_t>(b[word] >> shift));
    }
  return static_cast<int32_t>(sum);
}

void multiply_tiles(MatrixType type, const uint32_t (&a)[4], const uint32_t (&b)[2], float (&sums)[4]) {
  static constexpr MatrixArithmetic arithmetic = arithmetic_of(machine::ONNXC_GPU);
  multiply("mma.sync", a, b, sums, [type](const auto& row, const auto& column, float sum) {
    return sum_of_products(arithmetic, type, row, column, sum);
  });
}

void multiply_tiles(bool is_a_signed, const uint32_t (&a)[4], const uint32_t (&b)[2], int32_t (&sums)[4]) {
  multiply("mma.sync of bytes", a, b, sums, [is_a_signed](const auto& row, const auto& column, int32_t sum) {
    return sum_of_products(is_a_signed, row, column, sum);
  });
}

void load_matrices(const void* row, uint32_t (&words)[4]) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) fail("ldmatrix of a row that is not aligned to 16 bytes");
  // Before the others come: what another warp stores meanwhile needs a barrier to be seen.
  uint32_t own[4];
  std::memcpy(own, row, sizeof own);
  const Exchanged& lanes = exchange("ldmatrix", own, 4);
  const uint32_t lane = thread_index() % warp_lanes;
  for (uint32_t matrix = 0; matrix < 4; ++matrix) words[matrix] = lanes.words[8 * matrix + lane / 4][lane % 4];
}

}  // namespace onnxc::host_blocks
