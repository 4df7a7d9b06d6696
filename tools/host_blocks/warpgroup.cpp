#include "warpgroup.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "block.h"

namespace onnxc::host_blocks {
namespace {

constexpr int row_bytes = 32;  // that a product takes of each row
constexpr uint32_t warpgroup_warps = 4;

int lane() { return static_cast<int>(thread_index()) % warp_lanes; }

// PTX ISA, "Matrix Descriptor Format", for operands whose rows are contiguous. With a swizzle of 64 bytes a row is that
// long. Without one a row is 16 bytes, of a matrix of eight rows, and the next 16 bytes are those of another matrix.
struct Descriptor {
  uint32_t first, next_chunk, next_rows, row_bytes;
  bool has_swizzle;
};
Descriptor decoded(uint64_t bits) {
  const auto field = [bits](int at, int width) { return static_cast<uint32_t>(bits >> at & ((1u << width) - 1)); };
  if (field(62, 2) % 2 != 0 || field(49, 3) != 0)
    fail("wgmma: a matrix that neither has a swizzle of 64 bytes nor none");
  const bool has_swizzle = field(62, 2) == 2;
  return {field(0, 14) << 4, has_swizzle ? 16 : field(16, 14) << 4, field(32, 14) << 4, has_swizzle ? 64u : 16u,
          has_swizzle};
}

// 32 bytes of a row. A swizzle combines bits 4 and 5 of an address with bits 7 and 8.
std::array<uint32_t, operand_words> read_row(uint64_t descriptor, int row) {
  const Descriptor matrix = decoded(descriptor);
  std::array<uint32_t, operand_words> words;
  for (uint32_t chunk = 0; chunk < row_bytes / 16; ++chunk) {
    const uint32_t address = matrix.first + static_cast<uint32_t>(row / 8) * matrix.next_rows +
                             static_cast<uint32_t>(row % 8) * matrix.row_bytes + chunk * matrix.next_chunk;
    const uint32_t swizzled = matrix.has_swizzle ? address ^ (address >> 7 & 3) << 4 : address;
    std::memcpy(&words[static_cast<size_t>(chunk) * 4], block_memory_place(swizzled), 16);
  }
  return words;
}

// A lane has rows lane / 4 and 8 further of the 16 of its warp, and two adjacent columns of each eight.
int own_row(int i) { return static_cast<int>(thread_index() / warp_lanes % warpgroup_warps) * 16 + lane() / 4 + i * 8; }
int own_column(int i) { return i / 2 * 8 + lane() % 4 * 2 + i % 2; }

template <class Row>
std::vector<Row> read_rows(uint64_t descriptor) {
  return {read_row(descriptor, own_row(0)), read_row(descriptor, own_row(1))};
}
template <class Row>
std::vector<Row> read_columns(uint64_t descriptor, int count) {
  std::vector<Row> columns;
  for (int i = 0; i < count; ++i) columns.push_back(read_row(descriptor, own_column(i)));
  return columns;
}

}  // namespace

void WarpgroupProducts::begin_group() { has_begun_ = true; }

void WarpgroupProducts::start(MatrixType type, WarpgroupSums sums, uint64_t rows, uint64_t factors) {
  Product product{type, sums, false, rows, factors, read_rows<Row>(rows), read_columns<Row>(factors, 2 * sums.count)};
  exchange("wgmma", nullptr, 0);
  add(std::move(product));
}

void WarpgroupProducts::start(MatrixType type, WarpgroupSums sums, const uint32_t (&rows)[4], uint64_t factors) {
  Product product{type, sums, true, 0, factors, {Row(), Row()}, read_columns<Row>(factors, 2 * sums.count)};
  const Exchanged& lanes = exchange("wgmma of registers", rows, 4);
  // As in a product of one warp.
  for (size_t i = 0; i < 2; ++i)
    for (size_t word = 0; word < operand_words; ++word)
      product.rows[i][word] = lanes.words[static_cast<size_t>(lane()) / 4 * 4 + word % 4][(word < 4 ? 0 : 2) + i];
  add(std::move(product));
}

void WarpgroupProducts::add(Product product) {
  if (!has_begun_) fail("wgmma: no wgmma.fence since the last group");
  if (!all_copies_are_ordered()) fail("wgmma: no fence.proxy.async after copies to shared memory");
  UnderWay& sums = under_way_[product.sums.first];
  const size_t count = 4 * static_cast<size_t>(product.sums.count);
  if (sums.products++ == 0) {
    sums.values.assign(product.sums.first, product.sums.first + count);
    std::fill_n(product.sums.first, count, std::numeric_limits<float>::quiet_NaN());
  }
  open_.push_back(std::move(product));
}

void WarpgroupProducts::end_group() {
  groups_.push_back(std::exchange(open_, {}));
  has_begun_ = false;
}

void WarpgroupProducts::make(const Product& product) {
  const bool is_changed = (!product.has_rows_in_registers && read_rows<Row>(product.rows_descriptor) != product.rows) ||
                          read_columns<Row>(product.factors_descriptor, 2 * product.sums.count) != product.factors;
  if (is_changed) fail("wgmma: operands changed while products were under way");
  const auto decoded_rows = [&](const std::vector<Row>& rows) {
    std::vector<OperandRow> result;
    for (const Row& row : rows)
      result.push_back(decoded_row(product.type, *reinterpret_cast<const uint32_t(*)[operand_words]>(row.data())));
    return result;
  };
  const std::vector<OperandRow> rows = decoded_rows(product.rows), factors = decoded_rows(product.factors);
  UnderWay& sums = under_way_.at(product.sums.first);
  for (size_t i = 0; i < 4 * static_cast<size_t>(product.sums.count); ++i)
    sums.values[i] = sum_of_products(hopper, rows[i / 2 % 2], factors[i / 4 * 2 + i % 2], sums.values[i]);
  if (--sums.products > 0) return;
  std::ranges::copy(sums.values, product.sums.first);
  under_way_.erase(product.sums.first);
}

void WarpgroupProducts::wait(size_t left) {
  for (; groups_.size() > left; groups_.pop_front())
    for (const Product& product : groups_.front()) make(product);
}

void WarpgroupProducts::clear() {
  has_begun_ = false;
  open_.clear();
  groups_.clear();
  under_way_.clear();
}

}  // namespace onnxc::host_blocks
