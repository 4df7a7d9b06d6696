// Matrix multiply-accumulate (MFMA): D = A * B + C over small blocks that are spread over the lanes of a wave.
//
// Layout, for blocks of M x N with M = N, K deep (AMD's matrix instruction calculator gives the same): the lanes fall
// into groups of M. Lane i of a group holds row i of A and column i of B, `depth` consecutive k of them. Groups hold
// either successive k of the one block or the blocks. In D, lane j of a group holds column j; the rows of a block are
// dealt to (register, group) in runs of four registers, for float64 in runs of one.
//
// Products and sums: float32 and float64 as a chain of fused multiply-adds over ascending k; narrower floats are
// widened to float32 exactly and then summed in the same way, integers wrap. AMD does not say how the hardware rounds
// inside a sum of narrow products, so results for those agree within float32 rounding and exactly if all sums are
// exact. GFX942SIM_MATRIX=measured has them as an MI300X was seen to make them (measured_matrix.h).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "gfx942sim/operations/float_functions.h"
#include "gfx942sim/operations/matrix/eight_bit_floats.h"
#include "gfx942sim/operations/matrix/measured_matrix.h"
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {
namespace {

// The element types of A and B: how one is taken out of a lane's registers, and of narrow floats what measured_matrix.h
// has to know.
struct Single {
  using Value = float;
  static constexpr int bits = 32;
  static float decode(uint64_t raw) { return std::bit_cast<float>(static_cast<uint32_t>(raw)); }
};
// xf32: a float with 10 bits of mantissa that the matrix unit sees. It cuts off the others: MMA-Sim, and AMD in
// ROCm/rocm-libraries, pull request 9176 ("truncates"). A NaN that has bits only there becomes an infinity.
struct ReducedSingle {
  using Value = float;
  static constexpr int bits = 32;
  static constexpr MeasuredFormat measured{-126};
  static constexpr MeasuredGroups groups{.depth = 4};
  static float decode(uint64_t raw) { return std::bit_cast<float>(static_cast<uint32_t>(raw) & 0xffffe000U); }
};
struct Half {
  using Value = float;
  static constexpr int bits = 16;
  static constexpr MeasuredFormat measured{-14};
  static constexpr MeasuredGroups groups{.depth = 8};
  static float decode(uint64_t raw) { return widen(half_bits(static_cast<uint16_t>(raw))); }
};
struct BrainFloat {
  using Value = float;
  static constexpr int bits = 16;
  static constexpr MeasuredFormat measured{-126};
  static constexpr MeasuredGroups groups{.depth = 8};
  static float decode(uint64_t raw) { return from_bfloat16(static_cast<uint16_t>(raw)); }
};
template <class Format>
struct EightBit {
  using Value = float;
  static constexpr int bits = 8;
  static constexpr MeasuredFormat measured{Format::least_exponent};
  static constexpr MeasuredGroups groups{.depth = 16, .is_in_halves = true};
  static float decode(uint64_t raw) { return Format::decode(static_cast<uint8_t>(raw)); }
};
struct SignedByte {
  using Value = int32_t;
  static constexpr int bits = 8;
  static int32_t decode(uint64_t raw) { return static_cast<int8_t>(raw); }
};
struct Double {
  using Value = double;
  static constexpr int bits = 64;
  static double decode(uint64_t raw) { return std::bit_cast<double>(raw); }
};

struct Shape {
  int size;    // M and N
  int depth;   // K
  int blocks;  // independent products
  constexpr int groups() const { return wave_size / size; }
  constexpr int elements_per_lane() const { return depth / (groups() / blocks_across_groups()); }
  // Blocks lie in the groups; all of them, or there is one.
  constexpr int blocks_across_groups() const { return blocks; }
  constexpr int results_per_lane() const { return size * size * blocks / wave_size; }
};

// Row and block of the result that register r of a lane in group g holds.
struct ResultPlace {
  int block, row;
};
constexpr ResultPlace result_place(Shape shape, bool is_double, int r, int g) {
  if (shape.size == 4 && shape.blocks == 16) return {g, r};
  const int run = is_double ? 1 : 4;
  if (shape.size == 4) return {g % shape.blocks, g / shape.blocks};  // float64 4x4x4: four blocks, one register
  const int per_block = shape.size * shape.size / wave_size;
  const int in_block = r % per_block;
  return {r / per_block, in_block / run * run * shape.groups() + run * g + in_block % run};
}

template <class Element>
uint64_t element_bits(const LaneWords* words, int lane, int e) {
  if constexpr (Element::bits == 64) return words[0][lane] | uint64_t{words[1][lane]} << 32;
  constexpr int per_word = Element::bits >= 32 ? 1 : 32 / Element::bits;
  return words[e / per_word][lane] >> (Element::bits % 32 * (e % per_word));
}

constexpr LaneBits all_lanes = ~LaneBits{0};

template <class Element>
concept NarrowFloat = requires { Element::measured; };

// Whether narrow products are summed as measured_matrix.h does it.
bool is_measured(const Wave& wave) { return wave.group().matrix_arithmetic == MatrixArithmetic::measured; }

// The registers of A or B as rows of a matrix: out[block][k][i].
template <class Element, Shape shape>
void load_factor(Wave& wave, const Operand& operand,
                 typename Element::Value (&out)[shape.blocks][shape.depth][shape.size]) {
  constexpr int count = shape.elements_per_lane();
  constexpr int words = (count * Element::bits + 31) / 32;
  LaneWords registers[words];
  for (int word = 0; word < words; ++word) registers[word] = wave.read_vector(operand, word, all_lanes);
  for (int lane = 0; lane < wave_size; ++lane) {
    const int group = lane / shape.size;
    const int block = group % shape.blocks, first_k = group / shape.blocks * count;
    for (int e = 0; e < count; ++e)
      out[block][first_k + e][lane % shape.size] = Element::decode(element_bits<Element>(registers, lane, e));
  }
}

// The columns that one register of one group of lanes holds: 4, 16 or 32 values, a row of a block.
template <class Value, int size>
void accumulate_row(Value* sums, const Value* a_column, const Value* b, int depth, int a_stride) {
  for (int k = 0; k < depth; ++k) {
    const Value a = a_column[k * a_stride];
    for (int j = 0; j < size; ++j) {
      if constexpr (std::is_same_v<Value, int32_t>)
        sums[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + static_cast<uint32_t>(a * b[k * size + j]));
      else
        sums[j] = std::fma(a, b[k * size + j], sums[j]);
    }
  }
}

template <class Value>
void negate_all(Value* values, size_t count) {
  std::transform(values, values + count, values, std::negate());
}

// The words of the results as numbers. All of C is read before any of D is written: they may be the same registers.
template <class Value, Shape shape>
class Results {
 public:
  static constexpr bool is_double = sizeof(Value) == 8;
  static constexpr int words = shape.results_per_lane() * (is_double ? 2 : 1);

  Results(Wave& wave, const Operand& addend) {
    for (int word = 0; word < words; ++word) {
      if (addend.kind == OperandKind::constant)
        words_[word].fill(static_cast<uint32_t>(is_double ? addend.bits >> (32 * (word % 2)) : addend.bits));
      else
        words_[word] = wave.read_vector(addend, word, all_lanes);
    }
  }

  Value get(int r, int lane) const {
    if constexpr (is_double)
      return std::bit_cast<Value>(words_[2 * r][lane] | uint64_t{words_[2 * r + 1][lane]} << 32);
    else
      return std::bit_cast<Value>(words_[r][lane]);
  }

  void set(int r, int lane, Value value) {
    if constexpr (is_double) {
      const auto bits = std::bit_cast<uint64_t>(value);
      words_[2 * r][lane] = static_cast<uint32_t>(bits);
      words_[2 * r + 1][lane] = static_cast<uint32_t>(bits >> 32);
    } else {
      words_[r][lane] = std::bit_cast<uint32_t>(value);
    }
  }

  void write(Wave& wave, const Operand& operand) const {
    for (int word = 0; word < words; ++word) wave.write_vector(operand, word, words_[word], all_lanes);
  }

 private:
  alignas(64) LaneWords words_[words];
};

template <class ElementA, class ElementB, Shape shape>
void execute_product(Wave& wave, const Instruction& instruction) {
  using Value = typename ElementA::Value;
  constexpr bool is_double = sizeof(Value) == 8;
  if (instruction.cbsz || instruction.abid || instruction.blgp)
    wave.fail(-1, "permutes its sources (cbsz, abid, blgp), which is not known to the simulator");
  if (instruction.operands.size() != 4) wave.fail(-1, "has another number of operands than the simulator expects");

  alignas(64) Value a[shape.blocks][shape.depth][shape.size];
  alignas(64) Value b[shape.blocks][shape.depth][shape.size];
  load_factor<ElementA, shape>(wave, instruction.operands[1], a);
  load_factor<ElementB, shape>(wave, instruction.operands[2], b);
  if (is_double && (instruction.neg_lo & 1)) negate_all(&a[0][0][0], sizeof a / sizeof(Value));
  if (is_double && (instruction.neg_lo & 2)) negate_all(&b[0][0][0], sizeof b / sizeof(Value));

  Results<Value, shape> results(wave, instruction.operands[3]);
  std::optional<MeasuredProduct> measured;
  if constexpr (NarrowFloat<ElementA>)
    if (is_measured(wave))
      measured.emplace(MeasuredProduct::Shape{shape.size, shape.depth}, ElementA::groups, &a[0][0][0],
                       ElementA::measured, &b[0][0][0], ElementB::measured, shape.blocks * shape.depth * shape.size);
  for (int r = 0; r < shape.results_per_lane(); ++r) {
    for (int g = 0; g < shape.groups(); ++g) {
      const ResultPlace place = result_place(shape, is_double, r, g);
      Value sums[shape.size];
      for (int j = 0; j < shape.size; ++j) sums[j] = results.get(r, g * shape.size + j);
      if (is_double && (instruction.neg_lo & 4)) negate_all(sums, shape.size);
      if constexpr (NarrowFloat<ElementA>)
        if (measured) measured->add_row(sums, place.block, place.row);
      if (!measured)
        accumulate_row<Value, shape.size>(sums, &a[place.block][0][place.row], &b[place.block][0][0], shape.depth,
                                          shape.size);
      for (int j = 0; j < shape.size; ++j) results.set(r, g * shape.size + j, sums[j]);
    }
  }
  results.write(wave, instruction.operands[0]);
}

// Sparse products (v_smfmac): of each four successive k of a row of A, at most two are stored. A lane's two bits for
// each stored element tell which of the four it is. They stand in a register of the third operand, in which abid
// chooses 8 bits (16 for bytes) if cbsz is 0; else they are the lowest. D is the addend too; B is dense, in runs of the
// same k as the stored elements of A stand for.
template <class ElementA, class ElementB, Shape shape>
void execute_sparse_product(Wave& wave, const Instruction& instruction) {
  using Value = typename ElementA::Value;
  constexpr int stored = shape.elements_per_lane() / 2;  // in a lane
  constexpr int index_bits = 2 * stored;
  if (instruction.blgp) wave.fail(-1, "permutes its sources (blgp), which is not known to the simulator");
  if (NarrowFloat<ElementA> && is_measured(wave))
    wave.fail(-1, "is a sparse product of floats, whose sums nobody measured (GFX942SIM_MATRIX)");
  const int chosen = instruction.cbsz == 0 ? instruction.abid % (32 / index_bits) : 0;
  const Operand& result = instruction.operands[0];

  alignas(64) Value a[1][shape.depth][shape.size] = {};
  alignas(64) Value b[1][shape.depth][shape.size];
  load_factor<ElementB, shape>(wave, instruction.operands[2], b);
  constexpr int words = stored * ElementA::bits / 32;
  LaneWords packed[words];
  for (int word = 0; word < words; ++word) packed[word] = wave.read_vector(instruction.operands[1], word, all_lanes);
  const LaneWords& indices = wave.read_vector(instruction.operands[3], 0, all_lanes);
  for (int lane = 0; lane < wave_size; ++lane) {
    const int first_k = lane / shape.size * shape.elements_per_lane();
    const uint32_t bits = indices[lane] >> (chosen * index_bits);
    for (int e = 0; e < stored; ++e) {
      const int k = first_k + e / 2 * 4 + static_cast<int>(bits >> (2 * e) & 3);
      a[0][k][lane % shape.size] += ElementA::decode(element_bits<ElementA>(packed, lane, e));
    }
  }
  for (int r = 0; r < shape.results_per_lane(); ++r) {
    LaneWords sums_of_register = wave.read_vector(result, r, all_lanes);
    for (int g = 0; g < shape.groups(); ++g) {
      const ResultPlace place = result_place(shape, false, r, g);
      Value sums[shape.size];
      for (int j = 0; j < shape.size; ++j) sums[j] = std::bit_cast<Value>(sums_of_register[g * shape.size + j]);
      accumulate_row<Value, shape.size>(sums, &a[0][0][place.row], &b[0][0][0], shape.depth, shape.size);
      for (int j = 0; j < shape.size; ++j) sums_of_register[g * shape.size + j] = std::bit_cast<uint32_t>(sums[j]);
    }
    wave.write_vector(result, r, sums_of_register, all_lanes);
  }
}

// The depth of a sparse product is that of B. It takes the time of the dense one of half the depth.
template <class ElementA, class ElementB, Shape shape>
void add_sparse_product(Operations& rows, std::string name, int cycles) {
  const Type type = std::is_same_v<typename ElementA::Value, float> ? Type::f32 : Type::i32;
  const int64_t flops = int64_t{2} * shape.size * shape.size * shape.depth;
  rows.push_back({std::move(name),
                  Unit::matrix,
                  &execute_sparse_product<ElementA, ElementB, shape>,
                  {type, type, type, Type::u32},
                  cycles,
                  flops});
}

template <class A, class B>
void add_sparse_products_of_bytes(Operations& rows, const std::string& types) {
  add_sparse_product<EightBit<A>, EightBit<B>, Shape{16, 64, 1}>(rows, "v_smfmac_f32_16x16x64_" + types, 16);
  add_sparse_product<EightBit<A>, EightBit<B>, Shape{32, 32, 1}>(rows, "v_smfmac_f32_32x32x32_" + types, 32);
}

void add_sparse_products(Operations& rows) {
  add_sparse_product<Half, Half, Shape{16, 32, 1}>(rows, "v_smfmac_f32_16x16x32_f16", 16);
  add_sparse_product<Half, Half, Shape{32, 16, 1}>(rows, "v_smfmac_f32_32x32x16_f16", 32);
  add_sparse_product<BrainFloat, BrainFloat, Shape{16, 32, 1}>(rows, "v_smfmac_f32_16x16x32_bf16", 16);
  add_sparse_product<BrainFloat, BrainFloat, Shape{32, 16, 1}>(rows, "v_smfmac_f32_32x32x16_bf16", 32);
  add_sparse_product<SignedByte, SignedByte, Shape{16, 64, 1}>(rows, "v_smfmac_i32_16x16x64_i8", 16);
  add_sparse_product<SignedByte, SignedByte, Shape{32, 32, 1}>(rows, "v_smfmac_i32_32x32x32_i8", 32);
  add_sparse_products_of_bytes<Fp8, Fp8>(rows, "fp8_fp8");
  add_sparse_products_of_bytes<Fp8, Bf8>(rows, "fp8_bf8");
  add_sparse_products_of_bytes<Bf8, Fp8>(rows, "bf8_fp8");
  add_sparse_products_of_bytes<Bf8, Bf8>(rows, "bf8_bf8");
}

// Cycles are four for each pass of the instruction.
template <class ElementA, class ElementB, Shape shape>
void add_product(Operations& rows, std::string name, int cycles) {
  using Value = typename ElementA::Value;
  const Type type = sizeof(Value) == 8 ? Type::f64 : std::is_same_v<Value, float> ? Type::f32 : Type::i32;
  const int64_t flops = int64_t{2} * shape.size * shape.size * shape.depth * shape.blocks;
  rows.push_back({std::move(name),
                  Unit::matrix,
                  &execute_product<ElementA, ElementB, shape>,
                  {type, type, type, type},
                  cycles,
                  flops,
                  ElementA::bits == 64 || std::is_same_v<ElementA, Single>});
}

template <class Element>
void add_products_of_halves(Operations& rows, const std::string& type) {
  add_product<Element, Element, Shape{32, 8, 1}>(rows, "v_mfma_f32_32x32x8_" + type, 32);
  add_product<Element, Element, Shape{16, 16, 1}>(rows, "v_mfma_f32_16x16x16_" + type, 16);
  add_product<Element, Element, Shape{32, 4, 2}>(rows, "v_mfma_f32_32x32x4_2b_" + type, 64);
  add_product<Element, Element, Shape{16, 4, 4}>(rows, "v_mfma_f32_16x16x4_4b_" + type, 32);
  add_product<Element, Element, Shape{4, 4, 16}>(rows, "v_mfma_f32_4x4x4_16b_" + type, 8);
}

template <class A, class B>
void add_products_of_bytes(Operations& rows, const std::string& types) {
  add_product<EightBit<A>, EightBit<B>, Shape{32, 16, 1}>(rows, "v_mfma_f32_32x32x16_" + types, 32);
  add_product<EightBit<A>, EightBit<B>, Shape{16, 32, 1}>(rows, "v_mfma_f32_16x16x32_" + types, 16);
}

}  // namespace

void add_matrix_operations(Operations& rows) {
  add_product<Single, Single, Shape{32, 2, 1}>(rows, "v_mfma_f32_32x32x2_f32", 64);
  add_product<Single, Single, Shape{16, 4, 1}>(rows, "v_mfma_f32_16x16x4_f32", 32);
  add_product<Single, Single, Shape{32, 1, 2}>(rows, "v_mfma_f32_32x32x1_2b_f32", 64);
  add_product<Single, Single, Shape{16, 1, 4}>(rows, "v_mfma_f32_16x16x1_4b_f32", 32);
  add_product<Single, Single, Shape{4, 1, 16}>(rows, "v_mfma_f32_4x4x1_16b_f32", 8);
  add_product<ReducedSingle, ReducedSingle, Shape{32, 4, 1}>(rows, "v_mfma_f32_32x32x4_xf32", 32);
  add_product<ReducedSingle, ReducedSingle, Shape{16, 8, 1}>(rows, "v_mfma_f32_16x16x8_xf32", 16);
  add_products_of_halves<Half>(rows, "f16");
  add_products_of_halves<BrainFloat>(rows, "bf16");
  add_products_of_bytes<Fp8, Fp8>(rows, "fp8_fp8");
  add_products_of_bytes<Fp8, Bf8>(rows, "fp8_bf8");
  add_products_of_bytes<Bf8, Fp8>(rows, "bf8_fp8");
  add_products_of_bytes<Bf8, Bf8>(rows, "bf8_bf8");
  add_product<SignedByte, SignedByte, Shape{32, 16, 1}>(rows, "v_mfma_i32_32x32x16_i8", 32);
  add_product<SignedByte, SignedByte, Shape{16, 32, 1}>(rows, "v_mfma_i32_16x16x32_i8", 16);
  add_product<SignedByte, SignedByte, Shape{32, 4, 2}>(rows, "v_mfma_i32_32x32x4_2b_i8", 64);
  add_product<SignedByte, SignedByte, Shape{16, 4, 4}>(rows, "v_mfma_i32_16x16x4_4b_i8", 32);
  add_product<SignedByte, SignedByte, Shape{4, 4, 16}>(rows, "v_mfma_i32_4x4x4_16b_i8", 8);
  add_product<Double, Double, Shape{16, 4, 1}>(rows, "v_mfma_f64_16x16x4_f64", 32);
  add_product<Double, Double, Shape{4, 4, 4}>(rows, "v_mfma_f64_4x4x4_4b_f64", 16);
  add_sparse_products(rows);
}

}  // namespace gfx942sim
