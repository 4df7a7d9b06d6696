#include "wmma.h"

#include <algorithm>
#include <bit>

#include "block.h"

namespace onnxc::host_blocks {
namespace {

constexpr int side = 16, depth = 16, results = 8;

// A row of either operand: its words, from one lane or two.
struct Row {
  uint32_t words[depth / 2];
};
Row row_of(const Exchanged& lanes, int row, int first, int count, int whole) {
  Row result;
  if (count == whole &&
      !std::equal(&lanes.words[row][first], &lanes.words[row][first + count], &lanes.words[row + side][first]))
    fail("lanes %d and %d have different elements of a row", row, row + side);
  for (int i = 0; i < whole; ++i) result.words[i] = lanes.words[row + i / count * side][first + i % count];
  return result;
}

// `whole`: words of a row.
template <class Sum, class Add>
void multiply(const char* word, const uint32_t* words, int count, int whole, Sum* sums, const Add& add) {
  const Exchanged& lanes = exchange(word, words, 2 * count);
  const int lane = static_cast<int>(thread_index()) % warp_lanes, half = lane / side;
  const Row b = row_of(lanes, lane % side, count, count, whole);
  for (int r = 0; r < results; ++r) {
    const int row = count == whole ? 2 * r + half : results * half + r;
    sums[r] = add(row_of(lanes, row, 0, count, whole), b, sums[r]);
  }
}

float half_at(MatrixType type, const Row& row, int k) {
  const auto bits = static_cast<uint16_t>(row.words[k / 2] >> k % 2 * 16);
  return type == MatrixType::float16 ? static_cast<float>(std::bit_cast<_Float16>(bits))
                                     : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
uint8_t byte_at(const Row& row, int k) { return static_cast<uint8_t>(row.words[k / 4] >> k % 4 * 8); }

}  // namespace

void multiply_halves(MatrixType type, const uint32_t* words, int count, float* sums) {
  multiply("wmma of halves", words, count, depth / 2, sums, [type](const Row& a, const Row& b, float addend) {
    double sum = addend;
    for (int k = 0; k < depth; ++k) sum += static_cast<double>(half_at(type, a, k)) * half_at(type, b, k);
    return static_cast<float>(sum);
  });
}

void multiply_bytes(bool is_b_signed, const uint32_t* words, int count, int32_t* sums) {
  multiply("wmma of bytes", words, count, depth / 4, sums, [is_b_signed](const Row& a, const Row& b, int32_t addend) {
    auto sum = static_cast<uint32_t>(addend);  // wraps around
    for (int k = 0; k < depth; ++k) {
      const int factor = is_b_signed ? static_cast<int8_t>(byte_at(b, k)) : byte_at(b, k);
      sum += static_cast<uint32_t>(static_cast<int8_t>(byte_at(a, k)) * factor);
    }
    return static_cast<int32_t>(sum);
  });
}

}  // namespace onnxc::host_blocks
