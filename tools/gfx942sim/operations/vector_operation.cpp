#include "gfx942sim/operations/vector_operation.h"

#include <algorithm>

namespace gfx942sim {
namespace {

constexpr int row_size = 16;

// The lane that a lane reads under a DPP pattern, or -1 when the pattern leaves its row or the wave.
int dpp_source_lane(const DataParallelPrimitive& dpp, int lane) {
  const int row = lane / row_size * row_size, in_row = lane % row_size;
  auto within_row = [&](int position) { return position >= 0 && position < row_size ? row + position : -1; };
  auto within_wave = [](int position) { return position >= 0 && position < wave_size ? position : -1; };
  switch (dpp.kind) {
    case DppKind::none:
      return lane;
    case DppKind::quad_perm:
      return lane / 4 * 4 + dpp.quad[lane % 4];
    case DppKind::row_shl:
      return within_row(in_row + dpp.amount);
    case DppKind::row_shr:
      return within_row(in_row - dpp.amount);
    case DppKind::row_ror:
      return row + (in_row - dpp.amount + row_size) % row_size;
    case DppKind::wave_shl:
      return within_wave(lane + 1);
    case DppKind::wave_shr:
      return within_wave(lane - 1);
    case DppKind::wave_rol:
      return (lane + 1) % wave_size;
    case DppKind::wave_ror:
      return (lane + wave_size - 1) % wave_size;
    case DppKind::row_mirror:
      return row + row_size - 1 - in_row;
    case DppKind::row_half_mirror:
      return lane / 8 * 8 + 7 - lane % 8;
    // The last lane of each row (or of the first half of the wave) goes to the whole next row (or half).
    case DppKind::row_bcast:
      return dpp.amount == 15 ? row - 1 : lane < 32 ? -1 : 31;
    case DppKind::row_newbcast:
      return row + dpp.amount;
  }
  return -1;
}

void set_up_dpp(VectorContext& context, const DataParallelPrimitive& dpp, LaneBits exec) {
  context.has_dpp = true;
  for (int lane = 0; lane < wave_size; ++lane) {
    int source = dpp_source_lane(dpp, lane);
    if (source >= 0 && !(exec >> source & 1)) source = -1;
    context.dpp_source[lane] = static_cast<int8_t>(source);
    const bool row_enabled = dpp.row_mask >> (lane / row_size) & 1;
    const bool bank_enabled = dpp.bank_mask >> (lane % row_size / 4) & 1;
    if (!row_enabled || !bank_enabled || (source < 0 && !dpp.bound_control)) context.lanes &= ~(LaneBits{1} << lane);
  }
}

struct ByteRange {
  int first, count;
};

ByteRange bytes_of(SubDword selection) {
  switch (selection) {
    case SubDword::dword:
      return {0, 4};
    case SubDword::word0:
      return {0, 2};
    case SubDword::word1:
      return {2, 2};
    default:
      return {static_cast<int>(selection) - static_cast<int>(SubDword::byte0), 1};
  }
}

constexpr uint8_t byte_mask(ByteRange range) { return static_cast<uint8_t>(((1 << range.count) - 1) << range.first); }

uint32_t extract(uint32_t word, ByteRange range, bool sign_extend) {
  if (range.count == 4) return word;
  const int bits = 8 * range.count;
  const uint32_t value = word >> (8 * range.first) & ((1U << bits) - 1);
  return sign_extend ? static_cast<uint32_t>(static_cast<int32_t>(value << (32 - bits)) >> (32 - bits)) : value;
}

}  // namespace

VectorContext begin_vector(Wave& wave, const Instruction& instruction, size_t operands) {
  if (instruction.operands.size() < operands) wave.fail(-1, "has fewer operands than the simulator expects");
  VectorContext context;
  context.lanes = wave.exec();
  if (instruction.dpp.kind != DppKind::none) set_up_dpp(context, instruction.dpp, wave.exec());
  return context;
}

void load_words(Wave& wave, const Instruction& instruction, VectorContext& context, const Operand& operand, int source,
                int word, bool half, bool copies, LaneWords& out) {
  // The bytes of the register that are read.
  ByteRange range = half ? ByteRange{(instruction.op_sel >> source & 1) ? 2 : 0, 2} : ByteRange{0, 4};
  if (instruction.sdwa.used && source < 2 && instruction.sdwa.sources[source] != SubDword::dword)
    range = bytes_of(instruction.sdwa.sources[source]);

  if (operand.kind != OperandKind::vector && operand.kind != OperandKind::accumulator) {
    uint32_t uniform;
    if (copies && operand.kind == OperandKind::scalar) {
      Operand single = operand;
      single.index += word;
      const KnownBits bits = wave.peek_uniform(single, 1);
      if (static_cast<uint32_t>(bits.known) != ~0U) context.unwritten = ~LaneBits{0};
      uniform = static_cast<uint32_t>(bits.value);
    } else {
      uniform = wave.read_uniform(operand, word);
    }
    out.fill(extract(uniform, range, operand.sign_extend));
    return;
  }
  const bool through_dpp = context.has_dpp && source == 0;
  LaneBits lanes = context.lanes;
  if (through_dpp) {
    lanes = 0;
    for (int lane = 0; lane < wave_size; ++lane)
      if ((context.lanes >> lane & 1) && context.dpp_source[lane] >= 0)
        lanes |= LaneBits{1} << context.dpp_source[lane];
  }
  const LaneWords* words;
  if (copies) {
    const VectorRegister& vector = wave.peek_vector(operand, word);
    LaneBits written = ~LaneBits{0};
    for (int byte = 0; byte < 4; ++byte) written &= vector.written[byte];
    context.unwritten |= through_dpp && (lanes & ~written) ? ~LaneBits{0} : lanes & ~written;
    words = &vector.lanes;
  } else {
    words = &wave.read_vector(operand, word, lanes, byte_mask(range));
  }
  for (int lane = 0; lane < wave_size; ++lane) {
    const int from = through_dpp ? context.dpp_source[lane] : lane;
    out[lane] = from < 0 ? 0 : (*words)[from];
  }
  if (range.count != 4)
    for (uint32_t& value : out) value = extract(value, range, operand.sign_extend);
}

void store_words(Wave& wave, const Instruction& instruction, const VectorContext& context, const Operand& operand,
                 int word, const LaneWords& values) {
  if (!instruction.sdwa.used || instruction.sdwa.destination == SubDword::dword) {
    wave.write_vector(operand, word, values, context.lanes);
    return;
  }
  const ByteRange range = bytes_of(instruction.sdwa.destination);
  const bool preserve = instruction.sdwa.unused == UnusedBits::preserve;
  const bool sign_extend = instruction.sdwa.unused == UnusedBits::sign_extend;
  LaneWords placed;
  for (int lane = 0; lane < wave_size; ++lane)
    placed[lane] = extract(values[lane], {0, range.count}, sign_extend) << (8 * range.first);
  wave.write_vector(operand, word, placed, context.lanes, preserve ? byte_mask(range) : whole_register);
}

void store_halves(Wave& wave, const Instruction& instruction, const VectorContext& context, const Operand& operand,
                  const LaneWords& values, bool preserves_high) {
  if (instruction.sdwa.used) {
    store_words(wave, instruction, context, operand, 0, values);
  } else if (instruction.op_sel >> (instruction.operands.size() - 1) & 1) {  // its bits: the sources, the destination
    LaneWords placed;
    for (int lane = 0; lane < wave_size; ++lane) placed[lane] = values[lane] << 16;
    wave.write_vector(operand, 0, placed, context.lanes, 0b1100);
  } else {
    wave.write_vector(operand, 0, values, context.lanes, preserves_high ? 0b0011 : whole_register);
  }
}

double modify_result(const Instruction& instruction, double value) {
  // ISA guide: a scaled -0 comes out as +0.
  if (instruction.output_scale != 1) value = value == 0 ? 0.0 : value * instruction.output_scale;
  // DX10_CLAMP, which every HIP kernel sets, makes NaN zero.
  if (instruction.clamp) value = value > 0 ? std::min(value, 1.0) : 0;
  return value;
}

// Whether mul:2, mul:4 and div:2 have an effect: gfx942 ignores them in IEEE mode and if results may be denormal (ISA
// guide, output modifiers; LLVM D30209). Code that has one wants it, so that this is a fault.
template <class T>
void require_output_scale(const Wave& wave) {
  if (wave.mode.ieee() || !flushes_denormals<T>(wave))
    wave.fail(-1, "scales its result (mul or div), which gfx942 ignores in IEEE mode and with denormal results");
}

template <class T>
void load_source(Wave& wave, const Instruction& instruction, VectorContext& context, const Operand& operand, int source,
                 bool copies, LaneValues<T>& out, bool copies_upper) {
  if constexpr (std::is_same_v<T, LaneFlag>) {
    const uint64_t mask = wave.read_mask(operand, context.lanes);
    for (int lane = 0; lane < wave_size; ++lane) out[lane].set = mask >> lane & 1;
    return;
  } else if constexpr (sizeof(T) == 8) {
    LaneWords low, high;
    load_words(wave, instruction, context, operand, source, 0, false, copies, low);
    load_words(wave, instruction, context, operand, source, 1, false, copies || copies_upper, high);
    for (int lane = 0; lane < wave_size; ++lane)
      out[lane] = std::bit_cast<T>(uint64_t{low[lane]} | uint64_t{high[lane]} << 32);
  } else {
    LaneWords words;
    load_words(wave, instruction, context, operand, source, 0, sizeof(T) == 2, copies, words);
    for (int lane = 0; lane < wave_size; ++lane) {
      if constexpr (sizeof(T) == 2)
        out[lane] = std::bit_cast<T>(static_cast<uint16_t>(words[lane]));
      else
        out[lane] = std::bit_cast<T>(words[lane]);
    }
  }
  if constexpr (is_float_type<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    if (operand.absolute || operand.negate) {
      auto bits = std::bit_cast<LaneValues<Bits>>(out);
      set_signs(operand, bits);
      out = std::bit_cast<LaneValues<T>>(bits);
    }
    if (flushes_denormals<T>(wave))
      for (T& value : out) value = flush_denormal(value);
  }
}

template <class T>
void store_result(Wave& wave, const Instruction& instruction, const VectorContext& context, LaneValues<T>& values,
                  bool preserves_high, bool is_clamped) {
  const Operand& destination = instruction.operands[0];
  if constexpr (std::is_same_v<T, LaneFlag>) {
    uint64_t mask = 0;
    for (int lane = 0; lane < wave_size; ++lane) mask |= uint64_t{values[lane].set} << lane;
    wave.write_uniform_pair(destination, mask & context.lanes);
    return;
  } else {
    if constexpr (is_float_type<T>) {
      if (instruction.output_scale != 1) require_output_scale<T>(wave);
      if (instruction.clamp || instruction.output_scale != 1)
        for (T& value : values) value = static_cast<T>(modify_result(instruction, static_cast<double>(value)));
      if (flushes_denormals<T>(wave))
        for (T& value : values) value = flush_denormal(value);
    } else if (instruction.clamp && !is_clamped) {
      wave.fail(-1, "clamps an integer, which is not known to the simulator");
    }
    LaneWords words;
    if constexpr (sizeof(T) == 8) {
      for (int lane = 0; lane < wave_size; ++lane)
        words[lane] = static_cast<uint32_t>(std::bit_cast<uint64_t>(values[lane]));
      store_words(wave, instruction, context, destination, 0, words);
      for (int lane = 0; lane < wave_size; ++lane)
        words[lane] = static_cast<uint32_t>(std::bit_cast<uint64_t>(values[lane]) >> 32);
      store_words(wave, instruction, context, destination, 1, words);
    } else if constexpr (sizeof(T) == 4) {
      for (int lane = 0; lane < wave_size; ++lane) words[lane] = std::bit_cast<uint32_t>(values[lane]);
      store_words(wave, instruction, context, destination, 0, words);
    } else {
      for (int lane = 0; lane < wave_size; ++lane) words[lane] = std::bit_cast<uint16_t>(values[lane]);
      store_halves(wave, instruction, context, destination, words, preserves_high);
    }
  }
}

template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<LaneFlag>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<uint16_t>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<int16_t>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<f16>&, bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<uint32_t>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<int32_t>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<float>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<uint64_t>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<int64_t>&,
                          bool);
template void load_source(Wave&, const Instruction&, VectorContext&, const Operand&, int, bool, LaneValues<double>&,
                          bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<LaneFlag>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<uint16_t>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<int16_t>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<f16>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<uint32_t>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<int32_t>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<float>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<uint64_t>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<int64_t>&, bool, bool);
template void store_result(Wave&, const Instruction&, const VectorContext&, LaneValues<double>&, bool, bool);

void mark_results(Wave& wave, const Instruction& instruction, const VectorContext& context,
                  const VectorTraits& traits) {
  if (!context.unwritten) return;
  const LaneBits lanes = context.unwritten & context.lanes;
  if (traits.copies)
    for (int word = 0; word < instruction.operands[0].registers; ++word)
      wave.mark_unwritten(instruction.operands[0], word, lanes);
  if (traits.carries_upward) {
    wave.mark_unwritten(instruction.operands[0], 1, lanes);
    wave.mark_unwritten_pair(instruction.operands[1]);
  }
}

}  // namespace gfx942sim
